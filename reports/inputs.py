"""What the analysis is given: the plan, the ledger as DuckDB views, and what happened around the runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import duckdb

from prereg.reserve import Replacement
from prereg.study import Study

MOST_OF_A_NOTE = 160
"""Characters of a run's note that a sentence takes up; the table of runs has all of it."""

RunState = Literal["planned", "started", "finished", "failed"]


@dataclass(frozen=True, slots=True)
class Setup:
    """What a run was made with, as it recorded itself."""

    engine: str
    device: str
    """cpu or cuda."""
    deterministic: bool
    """Whether torch was asked for deterministic kernels."""
    threads: int
    packages: tuple[tuple[str, str], ...]
    """Names and versions, in order of name."""


@dataclass(frozen=True, slots=True)
class RunFact:
    """A planned run and how far it came."""

    run_id: str
    arm: str
    model: str
    seed: int
    state: RunState
    device_kind: str | None = None
    interruptions: int = 0
    """Times the run was resumed after it had been cut off."""
    diverged: bool = False
    note: str | None = None
    setup: Setup | None = None
    for_good: bool = False
    """Whether a failed run is not tried again."""

    @property
    def why(self) -> str:
        """The first line of its note in brackets, for the end of a sentence; empty without one."""
        first = next(iter((self.note or "").splitlines()), "")
        cut = first if len(first) <= MOST_OF_A_NOTE else f"{first[:MOST_OF_A_NOTE]}..."
        return f" ({cut})" if cut else ""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A hypothesis that was registered, and taken out of the plan after runs had started."""

    id: str
    statement: str


@dataclass(frozen=True, slots=True)
class AmendmentFact:
    """A change of the plan after it was locked."""

    number: int
    at: str
    reason: str
    known: str
    """What was there to be known then, counted, in words."""
    changes: tuple[str, ...]
    """Each field with what stood there and what stands there now."""
    affected: tuple[str, ...]
    """Hypotheses whose verdict is no longer a registered one."""
    runs_set_aside: bool
    after_runs: bool
    """Whether any run had started."""
    withdrawn: tuple[Withdrawn, ...] = ()
    """Hypotheses that it removed after that."""
    registered: int = 0
    """Hypotheses of the plan before it."""
    runs: tuple[int, int] = (0, 0)
    """Runs under the lock that had started by then, and those that were finished."""


@dataclass(frozen=True, slots=True)
class LockFact:
    """What is known of the lock, in words that the report prints."""

    digest: str | None
    """SHA-256 of the lock; None where nothing was locked."""
    locked_at: str | None = None
    """When the present lock was made."""
    proves: tuple[str, ...] = ()
    """What the lock proves, a sentence each."""
    differences: tuple[str, ...] = ()
    """What differs from the lock now, a sentence each; empty when everything was re-derived equal."""
    environment: dict[str, str] = field(default_factory=dict)
    """Names and versions of what the analysis depends on."""
    event_head: str | None = None
    """Head of the hash-chained event log."""
    changed: tuple[str, ...] = ()
    """What changed without breaking the lock: environment, git commit, comments; a sentence each."""
    receipts: tuple[str, ...] = ()
    """What each receipt shows and what it does not."""
    receipt_faults: tuple[str, ...] = ()
    """Receipts that do not hold."""
    receipts_open: tuple[str, ...] = ()
    """Receipts that are owed, or that could not be looked at."""
    amendments: tuple[AmendmentFact, ...] = ()
    overlaps: tuple[str, ...] = ()
    """Benchmarks of which problems stand among the training prompts, as the plan allows; a sentence each."""
    owed: tuple[str, ...] = ()
    """Sources whose content could not be had when the study was locked, and what is known now; a sentence
    each."""
    left_behind: tuple[str, ...] = ()
    """Runs that ended under a plan of before, and that the present plan does not name."""
    first_locked_at: str | None = None
    """When the first lock of the study was made; None if it is the present one."""


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """What a second grader says of a sample of an arm's graded answers; counts of samples."""

    model: str
    arm: str
    looked_at: int
    no_opinion: int
    only_first: int
    """Right by the study's grader, and wrong by the second."""
    only_second: int
    """Wrong by the study's grader, and right by the second."""


@dataclass(frozen=True, slots=True)
class RegradedFact:
    """A regrading of an arm's stored texts; counts of samples."""

    model: str
    arm: str
    number: int
    """From 1, in the order in which they were made."""
    grader: str
    """`study` or `second`."""
    version: str
    samples: int
    changed: int
    usable: int
    """Samples whose grader had failed, and that have a verdict now."""


@dataclass(frozen=True, slots=True)
class GradedAgain:
    """What was graded a second time."""

    version: str = ""
    """Of the second grader."""
    per_run: int = 0
    """Samples of a run that it looks at, at most."""
    opinions: tuple[SecondOpinion, ...] = ()
    regraded: tuple[RegradedFact, ...] = ()
    why_not: str | None = None
    """Why the second grader could not look, a sentence; None if it could, or had nothing to look at."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the event log."""

    at: str
    kind: str
    summary: str
    runs: tuple[int, int] | None = None
    """For a report or a look: runs finished, and runs planned."""
    planned_look: int | None = None
    """For a look that the plan declares: which."""


@dataclass(frozen=True, slots=True)
class CandidateGain:
    """What a gradient test found of one arm's signal; docs/methods.md explains each number."""

    arm: str
    gain: float
    cosine: float | None
    versus_uniform: float
    low: float
    high: float
    placebo: float
    """Gain of the signal permuted within completions less that of uniform credit: mean of permutations."""
    placebo_low: float
    placebo_high: float
    within: float | None
    between: float | None
    per_1000_tokens: float
    per_second: float | None


@dataclass(frozen=True, slots=True)
class GradientTest:
    """A stored gradient test."""

    what: str
    """Policy, seed and checkpoint, in words."""
    arm: str
    """Whose policy and sampling it used, and to which the others are compared."""
    model: str
    made_at: str
    runs_begun: int
    """Runs of the study that had begun by then."""
    prompts: int
    noise_floor: float
    candidates: tuple[CandidateGain, ...]
    left_out: tuple[tuple[str, str], ...]
    """Arms that were not tested, and why."""
    warnings: tuple[str, ...] = ()
    """What its own guards say against its gains, in sentences."""


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """Everything a report is a function of.

    `connection` holds one view for each table of the ledger (docs/ledger.md) over all runs of the study.
    """

    study: Study
    connection: duckdb.DuckDBPyConnection
    runs: tuple[RunFact, ...]
    lock: LockFact
    events: tuple[Event, ...] = ()
    marks: tuple[str, ...] = ()
    """Words that every page carries, e.g. `EXPLORATORY`; empty for a locked study."""
    generated_at: str = ""
    """Timestamp printed on the report; passed in so that a report can be reproduced byte for byte."""
    gradient_tests: tuple[GradientTest, ...] = ()
    """Stored gradient tests, oldest first."""
    again: GradedAgain = GradedAgain()
    """What was graded a second time."""
    drawn: tuple[Replacement, ...] = ()
    """Reserve seeds that took the places of others, in the order in which they were drawn."""
