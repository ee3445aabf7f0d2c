"""An amendment: why a locked plan was changed, what was known of the data then, and what that does to it.

The rule, in one sentence: once a run has started, be it an exploratory one on a seed of the plan, a verdict
on a hypothesis that a change touches is no longer a registered one, and is DEVIATED with its statistical
outcome beside it. A hypothesis that comes or goes touches all, since which claims are made could then
follow from the results. Runs that were made otherwise than the new plan says are set aside and kept; the
others stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prereg.fields import Count, Section, Sha256, Text
from prereg.hypotheses import Hypothesis
from prereg.levels import waits_for
from prereg.study import Study
from prereg.testkinds import BinomialScoreboard


class Known(Section):
    """What was there to be known when a plan was changed, counted from the event log and the ledgers."""

    runs_started: int = 0
    runs_finished: int = 0
    runs_failed: int = 0
    exploratory_runs: int = 0
    evaluations: int = 0
    """Checkpoint evaluations, a benchmark each, that the ledgers hold."""
    looks: int = 0
    """Reports before all runs were complete."""
    reports: int = 0
    """Reports on complete studies."""

    @property
    def anything(self) -> bool:
        """Whether any run under the lock had started: from then on results can be seen."""
        return bool(self.runs_started or self.evaluations or self.looks or self.reports)

    def __str__(self) -> str:
        counts = [f"{_plural(self.runs_started, 'run')} started", f"{self.runs_finished} finished"]
        counts += [f"{self.runs_failed} failed"] if self.runs_failed else []
        counts += [_plural(self.evaluations, "evaluation"), _plural(self.looks, "look")]
        counts += [_plural(self.reports, "report")]
        counts += [_plural(self.exploratory_runs, "exploratory run")] if self.exploratory_runs else []
        return ", ".join(counts)


class FieldChange(Section):
    """One field that an amendment changed."""

    field: Text
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.field}: {self.before} became {self.after}"


class Amendment(Section):
    """The part of a lock that points at the lock before it."""

    number: Count
    """1 for the first amendment of a study."""
    previous: Sha256
    """SHA-256 of the lock before."""
    event_head: Sha256
    """Head of the event log when the plan was changed."""
    reason: Text
    known: Known
    changes: tuple[FieldChange, ...]
    affected: tuple[Text, ...]
    """Hypotheses whose verdict is DEVIATED by this."""
    runs_set_aside: bool
    """Whether the runs of before were made otherwise than the new plan says, and are kept apart."""


def affected(
    old: Study, new: Study, fields: Iterable[str], known: Known, tried: bool = False
) -> tuple[str, ...]:
    """Hypotheses of the new plan that changed fields touch, if anything was known; in the plan's order.

    `fields` are dotted, as in `prereg.difference.Difference`. `tried` says that exploratory runs used seeds
    of the plan: they show what its own runs will.
    """
    if not (known.anything or tried):
        return ()
    touched: set[str] = set()
    if {h.id for h in old.hypotheses} != {h.id for h in new.hypotheses}:
        touched.update(h.id for h in new.hypotheses)
    for field in fields:
        touched.update(_touched(old, new, field))
    return _with_dependents(old, new, touched)


def withdrawn(old: Study, new: Study, made: Amendment) -> tuple[Hypothesis, ...]:
    """Hypotheses that an amendment from `old` to `new` removed when anything was known; as they stood.

    Where no hypothesis is left that could be affected, exploratory runs count as known, whatever their seeds.
    """
    left = {h.id for h in new.hypotheses}
    tried = bool(made.affected) or (not left and made.known.exploratory_runs > 0)
    if not (made.known.anything or tried):
        return ()
    return tuple(h for h in old.hypotheses if h.id not in left)


def sets_runs_aside(fields: Iterable[str]) -> bool:
    """Whether runs of the old plan were made otherwise than the new plan says."""
    return any(_makes_runs(field) for field in fields)


_TEXT = (
    "study.title", "study.authors", "study.description", "study.exploratory", "study.receipts",
    "study.data_status", "study.environment.slots", "study.environment.commit_seconds",
    "study.environment.acknowledge_dirty_code", "study.evaluation.pass_k", "study.evaluation.token_caps",
)  # fmt: skip
"""Changes of these touch no hypothesis: what is told, and how runs are placed, not what they are."""

_RUNS = (
    "study.models", "study.data", "study.trainer", "study.budget", "study.evaluation", "study.environment",
    "sources", "code",
)  # fmt: skip
"""Changes of these change how a run is made, but for those in `_TEXT` and weights of benchmarks."""


def _within(field: str, names: Sequence[str]) -> bool:
    return any(field == name or field.startswith(f"{name}.") for name in names)


def _makes_runs(field: str) -> bool:
    steps = field.split(".")
    if steps[:2] == ["study", "arms"]:
        return len(steps) > 3 and steps[3] == "trainer"
    if steps[:3] == ["study", "data", "benchmarks"] and steps[-1] == "weight":
        return False
    if field == "study.data.contamination_limit":
        return False
    return _within(field, _RUNS) and not _within(field, _TEXT)


def _touched(old: Study, new: Study, field: str) -> Iterator[str]:
    """The hypotheses that one changed field speaks of; all of them, if it names none."""
    if _within(field, _TEXT):
        return
    steps = field.split(".")
    part, name = ".".join(steps[:2]), steps[2] if len(steps) > 2 else None
    if part == "study.arms" and name is not None and steps[3:] != ["description"]:
        yield from (h.id for h in new.hypotheses if name in (h.treatment, h.control))
    elif part == "study.arms":
        return
    elif part == "study.families" and name is not None:
        yield from (h.id for h in (*old.hypotheses, *new.hypotheses) if h.family == name)
    elif part == "study.hypotheses" and name is not None:
        yield name
    else:
        yield from (h.id for h in new.hypotheses)


def _with_dependents(old: Study, new: Study, touched: set[str]) -> tuple[str, ...]:
    """Also those that share a family's error rate with one, wait for one, or count one as a prediction."""
    families = [(h.id, h.family) for h in (*old.hypotheses, *new.hypotheses) if h.family is not None]
    before = waits_for(new)
    while True:
        shared = {family for name, family in families if name in touched}
        more = {
            h.id
            for h in new.hypotheses
            if h.family in shared or touched.intersection((*before[h.id], *_predictions(h)))
        }
        if more <= touched:
            return tuple(h.id for h in new.hypotheses if h.id in touched)
        touched = touched | more


def _predictions(hypothesis: Hypothesis) -> tuple[str, ...]:
    test = hypothesis.test
    return test.predictions if isinstance(test, BinomialScoreboard) else ()


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
