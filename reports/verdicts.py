"""The verdict on each registered hypothesis: a pure function of the plan, the lock and the comparisons.

CONFIRMED     the adjusted p of the registered test is at most alpha
REFUTED       the data are significantly against the claim (see `_outcome`)
INCONCLUSIVE  neither
NOT_TESTED    the hypothesis that gates it was not confirmed
INADMISSIBLE  a run, a reading or a grade that the comparison needs is missing or cannot be compared
DEVIATED      something differs from the lock; the statistical outcome stands beside it
UNREGISTERED  there is no lock, or the runs are exploratory; the statistical outcome stands beside it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from prereg.hypotheses import Hypothesis
from prereg.study import Study
from reports.comparisons import Comparison
from reports.inference import holm, p_opposite, p_value
from reports.inputs import LockFact

Outcome = Literal["CONFIRMED", "REFUTED", "INCONCLUSIVE", "NOT_TESTED", "INADMISSIBLE"]
Word = Literal[
    "CONFIRMED", "REFUTED", "INCONCLUSIVE", "NOT_TESTED", "INADMISSIBLE", "DEVIATED", "UNREGISTERED"
]

EXPLORATORY = "EXPLORATORY"
"""The mark of runs that were made apart from the lock."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be said of one hypothesis, and why."""

    hypothesis: str
    word: Word
    outcome: Outcome
    """What the statistics alone say; equals `word` under an intact lock."""
    p: float
    """Of the registered test; NaN if it could not be computed."""
    p_adjusted: float
    """Within its family; equals `p` without one."""
    alpha: float
    reasons: tuple[str, ...]
    """Why the verdict is not a plain statistical one."""


def judge(
    study: Study, lock: LockFact, marks: Sequence[str], comparisons: Mapping[str, Comparison]
) -> tuple[Verdict, ...]:
    """One verdict for each hypothesis, in the study's order. `comparisons` has one for each id."""
    margins = {
        h.id: h.smallest_effect if h.decision == "exceeds_smallest_effect" else 0.0 for h in study.hypotheses
    }
    nan = float("nan")
    p, against = {}, {}
    for h in study.hypotheses:
        effect = comparisons[h.id].effect
        p[h.id] = nan if effect is None else p_value(effect, h.direction, margins[h.id])
        against[h.id] = nan if effect is None else p_opposite(effect, h.direction, margins[h.id])
    p_adjusted, against_adjusted = _adjusted(study, p), _adjusted(study, against)
    outcomes = {
        h.id: _outcome(
            h, comparisons[h.id], p_adjusted[h.id], against_adjusted[h.id], alpha_of(study, h), margins[h.id]
        )
        for h in study.hypotheses
    }
    return tuple(
        _verdict(study, lock, marks, h, comparisons[h.id], outcomes, p, p_adjusted) for h in study.hypotheses
    )


def alpha_of(study: Study, hypothesis: Hypothesis) -> float:
    """The level of a hypothesis: its own, or its family's if that is smaller."""
    family = study.families.get(hypothesis.family) if hypothesis.family else None
    return hypothesis.alpha if family is None else min(hypothesis.alpha, family.alpha)


def _adjusted(study: Study, p: Mapping[str, float]) -> dict[str, float]:
    """Holm within each family, whose size counts every registered member whatever became of it."""
    adjusted = dict(p)
    for family in sorted({h.family for h in study.hypotheses if h.family is not None}):
        members = [h.id for h in study.hypotheses if h.family == family]
        adjusted.update(zip(members, holm([p[member] for member in members]), strict=True))
    return adjusted


def _outcome(
    hypothesis: Hypothesis,
    comparison: Comparison,
    p_adjusted: float,
    against_adjusted: float,
    alpha: float,
    margin: float,
) -> tuple[Outcome, tuple[str, ...]]:
    """The statistical outcome, gates aside.

    Refuted: the opposite one-sided test, adjusted in the same way, is significant. Where the claim is to
    exceed a smallest effect, the printed interval must also lie wholly on the wrong side of it.
    """
    effect = comparison.effect
    if comparison.reasons or effect is None:
        return "INADMISSIBLE", comparison.reasons
    if effect.se != effect.se:
        return "INCONCLUSIVE", (
            "the error cannot be estimated: fewer than two seeds, or seeds that did not differ at all",
        )
    if p_adjusted <= alpha:
        return "CONFIRMED", ()
    excluded = {
        "greater": effect.high < margin,
        "less": effect.low > -margin,
        "two_sided": -margin < effect.low and effect.high < margin,
    }[hypothesis.direction]
    if against_adjusted <= alpha and (margin == 0 or excluded):
        return "REFUTED", ()
    return "INCONCLUSIVE", ()


def _verdict(
    study: Study,
    lock: LockFact,
    marks: Sequence[str],
    hypothesis: Hypothesis,
    comparison: Comparison,
    outcomes: Mapping[str, tuple[Outcome, tuple[str, ...]]],
    p: Mapping[str, float],
    p_adjusted: Mapping[str, float],
) -> Verdict:
    outcome, reasons = outcomes[hypothesis.id]
    if closed := _closed_gate(study, hypothesis, outcomes):
        outcome, reasons = "NOT_TESTED", (f"its gate, {closed}, was not confirmed", *reasons)
    word: Word = outcome
    if lock.digest is None:
        word, reasons = "UNREGISTERED", ("nothing was locked before the runs", *reasons)
    elif any(mark.upper().startswith(EXPLORATORY) for mark in marks):
        word, reasons = "UNREGISTERED", ("the runs were made outside the lock, as exploratory", *reasons)
    elif lock.differences:
        count = len(lock.differences)
        differs = "1 thing differs" if count == 1 else f"{count} things differ"
        word, reasons = "DEVIATED", (f"{differs} from the lock", *reasons)
    return Verdict(
        hypothesis.id,
        word,
        outcome,
        p[hypothesis.id],
        p_adjusted[hypothesis.id],
        alpha_of(study, hypothesis),
        reasons,
    )


def _closed_gate(
    study: Study, hypothesis: Hypothesis, outcomes: Mapping[str, tuple[Outcome, tuple[str, ...]]]
) -> str | None:
    """The nearest gate on the way up that is not confirmed; a gate that leads back to itself is closed."""
    gates = {h.id: h.gate for h in study.hypotheses}
    seen: set[str] = set()
    gate = hypothesis.gate
    while gate is not None:
        if gate in seen or gate not in outcomes or outcomes[gate][0] != "CONFIRMED":
            return gate
        seen.add(gate)
        gate = gates[gate]
    return None
