"""The plan as it came to be run: reserve seeds in the places of others, and runs left out by its rules.

Nothing of this is a deviation: the plan said beforehand what calls for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prereg.exclusions import Exclusion
from prereg.reserve import Replacement
from prereg.study import Study
from reports.inputs import RunFact
from reports.ledger import Ledger


@dataclass(frozen=True, slots=True)
class AsRun:
    """What became of the plan by its own rules."""

    drawn: tuple[Replacement, ...] = ()
    """Reserve seeds, in the order in which they were drawn."""
    given_up: tuple[RunFact, ...] = ()
    """Runs of the seeds whose places they took."""
    excluded: Mapping[str, str] = field(default_factory=dict)
    """By run id: the rule that leaves the run out, and what it found, in words."""


def as_run(study: Study, drawn: Sequence[Replacement], runs: Sequence[RunFact], ledger: Ledger) -> AsRun:
    """What the plan's rules make of the runs. `study` is the plan before any reserve seed was drawn."""
    gone = [one.seed for one in drawn]
    arms, models = list(study.arms), list(study.models)
    given_up = [run for run in runs if run.seed in gone and run.arm in arms and run.model in models]
    given_up.sort(key=lambda r: (gone.index(r.seed), models.index(r.model), arms.index(r.arm)))
    excluded = {
        run.run_id: found[0] for run in runs if (found := list(_exclusions(study.exclusions, run, ledger)))
    }
    return AsRun(tuple(drawn), tuple(given_up), excluded)


def drawn_words(one: Replacement, given_up: Sequence[RunFact]) -> str:
    """`the reserve seed 16 took the place of 13, of which grpo.small.s13 failed for good (out of memory)`."""
    why = next((run.why for run in given_up if run.run_id == one.run), "")
    return f"the reserve seed {one.by} took the place of {one.seed}, of which {one.run} failed for good{why}"


def _exclusions(rules: Sequence[Exclusion], run: RunFact, ledger: Ledger) -> Iterator[str]:
    """The rules that leave a run out, each with what it found. A fact that is not recorded breaks no rule."""
    if run.state == "planned":
        return
    for rule in rules:
        if rule.above is not None:
            count = _count(rule.field, run, ledger)
            if count > rule.above:
                noun = rule.field.replace("_", " ")
                yield f"{rule.id} ({count:,} {noun}, where at most {rule.above:,} were declared)"
        elif rule.differs_from is not None:
            others = sorted(_values(rule.field, run, ledger) - {rule.differs_from})
            if others:
                noun = rule.field.replace("_", " ")
                yield f"{rule.id} ({noun} {', '.join(others)}, where {rule.differs_from} was declared)"


def _count(name: str, run: RunFact, ledger: Ledger) -> int:
    if name == "resumptions":
        return run.interruptions
    lost = ledger.lost.get(run.run_id)
    return lost.steps if lost is not None else 0


def _values(name: str, run: RunFact, ledger: Ledger) -> set[str]:
    """Every value that a run records of a fact: it may have been resumed on another device."""
    if name == "device_kind":
        return {*ledger.device_kinds.get(run.run_id, ()), *([run.device_kind] if run.device_kind else [])}
    packages = dict(run.setup.packages) if run.setup is not None else {}
    found = packages.get(name.removesuffix("_version"))
    return set() if found is None else {found}
