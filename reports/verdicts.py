"""The verdict on each registered hypothesis: a pure function of the plan, the lock and the comparisons.

CONFIRMED     the adjusted p of the registered test is at most alpha
EQUIVALENT    the same, of a claim that two arms differ by less than a margin
NON_INFERIOR  the same, of a claim that an arm loses less than a margin
REFUTED       the data are significantly against the claim (see `_outcome`)
INCONCLUSIVE  neither
NOT_TESTED    the hypothesis that gates it, or comes before it in a fixed sequence, was not confirmed, or no
              part of its family's alpha reached it
INADMISSIBLE  a run, a reading or a grade that the comparison needs is missing or cannot be compared
DEVIATED      something differs from the lock, or what bears on this hypothesis was amended after runs had
              started; the statistical outcome stands beside it
UNREGISTERED  there is no lock, or the runs are exploratory; the statistical outcome stands beside it
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

from prereg.hypotheses import Family, Hypothesis
from prereg.levels import members_of, waits_for
from prereg.study import Study
from reports.comparisons import Comparison
from reports.decisions import Decision, decide
from reports.families import adjusted, unreached
from reports.inference import holm
from reports.inputs import LockFact
from reports.intervals import Interval
from reports.scoreboard import Score

Outcome = Literal[
    "CONFIRMED", "EQUIVALENT", "NON_INFERIOR", "REFUTED", "INCONCLUSIVE", "NOT_TESTED", "INADMISSIBLE"
]
Word = Outcome | Literal["DEVIATED", "UNREGISTERED"]

SHOWN: tuple[Outcome, ...] = ("CONFIRMED", "EQUIVALENT", "NON_INFERIOR")
"""The outcomes by which a claim is shown: they open gates."""

EXPLORATORY = "EXPLORATORY"
"""The mark of runs that were made apart from the lock."""

SIMULATED = "SIMULATED"
"""The mark of runs that were made up from a declared truth."""


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
    score: Score | None = None
    """Of a scoreboard."""


Found = tuple[Outcome, tuple[str, ...]]
"""An outcome with its reasons."""

_PASSED: dict[str, Outcome] = {
    "greater": "CONFIRMED",
    "less": "CONFIRMED",
    "two_sided": "CONFIRMED",
    "equivalent": "EQUIVALENT",
    "non_inferior": "NON_INFERIOR",
}


def judge(
    study: Study, lock: LockFact, marks: Sequence[str], comparisons: Mapping[str, Comparison]
) -> tuple[Verdict, ...]:
    """One verdict for each hypothesis, in the study's order.

    `comparisons` has one for the id of each that is no scoreboard; a scoreboard's is not looked at.
    """
    return verdicts_of(
        study, lock, marks, comparisons, {h.id: decide(study, h, comparisons) for h in study.hypotheses}
    )


def verdicts_of(
    study: Study,
    lock: LockFact,
    marks: Sequence[str],
    comparisons: Mapping[str, Comparison],
    decisions: Mapping[str, Decision],
) -> tuple[Verdict, ...]:
    """The same from the registered tests as they came out, by id."""
    p = {name: decision.p for name, decision in decisions.items()}
    p_adjusted = _adjusted(study, p)
    against = _against(study, {name: decision.against for name, decision in decisions.items()})
    outcomes = {
        h.id: _outcome(
            h, decisions[h.id], comparisons.get(h.id), p_adjusted[h.id], against[h.id], alpha_of(study, h)
        )
        for h in study.hypotheses
    }
    empty = _unreached(study, outcomes)
    gates = waits_for(study)
    opening = _opening(outcomes, gates)
    return tuple(
        Verdict(
            h.id,
            word,
            outcome,
            p[h.id],
            p_adjusted[h.id],
            alpha_of(study, h),
            reasons,
            decisions[h.id].score,
        )
        for h in study.hypotheses
        for word, outcome, reasons in [_word(lock, marks, h.id, *_tested(h, outcomes, gates, opening, empty))]
    )


def alpha_of(study: Study, hypothesis: Hypothesis) -> float:
    """The level of a hypothesis: its own, or its family's if that is smaller."""
    family = study.families.get(hypothesis.family) if hypothesis.family else None
    return hypothesis.alpha if family is None else min(hypothesis.alpha, family.alpha)


def _adjusted(study: Study, p: Mapping[str, float]) -> dict[str, float]:
    """By its method within each family, which counts every registered member whatever became of it."""
    result = dict(p)
    for family, members in _families(study):
        result.update(adjusted(family, members, {member: p[member] for member in members}))
    return result


def _against(study: Study, p: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p-values of the opposite tests: by Holm in every family.

    They are a family of their own. An order or a graph states what is to be shown first, and says nothing of
    the order in which claims may turn out false.
    """
    result = dict(p)
    for _, members in _families(study):
        result.update(zip(members, holm([p[member] for member in members]), strict=True))
    return result


def _families(study: Study) -> Iterator[tuple[Family, tuple[str, ...]]]:
    for name in sorted({h.family for h in study.hypotheses if h.family is not None}):
        yield study.families.get(name, Family()), members_of(study, name)


def _outcome(
    hypothesis: Hypothesis,
    decision: Decision,
    comparison: Comparison | None,
    p_adjusted: float,
    against_adjusted: float,
    alpha: float,
) -> Found:
    """The statistical outcome, gates aside.

    Refuted: the opposite test, adjusted, is significant. Where the null is not 0, the printed interval must
    also lie wholly on the wrong side of it.
    """
    if decision.score is not None:
        if p_adjusted <= alpha:
            return "CONFIRMED", ()
        return ("REFUTED" if against_adjusted <= alpha else "INCONCLUSIVE"), ()
    effect = comparison.effect if comparison is not None else None
    if decision.reasons or effect is None:
        return "INADMISSIBLE", decision.reasons
    if isnan(effect.se):
        return "INCONCLUSIVE", (
            "the error cannot be estimated: fewer than two seeds, or seeds that did not differ at all",
        )
    if p_adjusted <= alpha:
        return _PASSED[hypothesis.direction], ()
    if against_adjusted <= alpha and (hypothesis.bound == 0 or _excludes(hypothesis, effect)):
        return "REFUTED", ()
    return "INCONCLUSIVE", ()


def _excludes(hypothesis: Hypothesis, effect: Interval) -> bool:
    """Whether an interval lies wholly where the claim is false."""
    bound = hypothesis.bound
    return {
        "greater": effect.high < bound,
        "less": effect.low > -bound,
        "two_sided": -bound < effect.low and effect.high < bound,
        "equivalent": effect.high < -bound or effect.low > bound,
        "non_inferior": effect.high < -bound,
    }[hypothesis.direction]


def _unreached(study: Study, outcomes: Mapping[str, Found]) -> tuple[str, ...]:
    """Members of graphs that hold no part of alpha when the procedure stops."""
    found: list[str] = []
    for family, members in _families(study):
        if family.method == "graph":
            found.extend(unreached(family, members, [m for m in members if outcomes[m][0] in SHOWN]))
    return tuple(found)


def _tested(
    hypothesis: Hypothesis,
    outcomes: Mapping[str, Found],
    gates: Mapping[str, tuple[str, ...]],
    opening: Collection[str],
    empty: Collection[str],
) -> Found:
    """The outcome, or NOT_TESTED where nothing let the hypothesis be tested."""
    outcome, reasons = outcomes[hypothesis.id]
    closed = next((gate for gate in gates[hypothesis.id] if gate not in opening), None)
    if closed is not None:
        reason = f"{closed}, which comes before it, was not confirmed"
        if closed == hypothesis.gate:
            reason = f"its gate, {closed}, was not confirmed"
        return "NOT_TESTED", (reason, *reasons)
    if hypothesis.id in empty:
        return "NOT_TESTED", ("no part of its family's alpha was handed to it", *reasons)
    return outcome, reasons


def _opening(outcomes: Mapping[str, Found], gates: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """The hypotheses that open a gate: shown, and themselves behind none that is closed.

    One whose gates lead back to itself never comes in.
    """
    shown = [name for name, (outcome, _) in outcomes.items() if outcome in SHOWN]
    opening: set[str] = set()
    while more := [name for name in shown if name not in opening and opening.issuperset(gates[name])]:
        opening.update(more)
    return frozenset(opening)


def _word(
    lock: LockFact, marks: Sequence[str], hypothesis: str, outcome: Outcome, reasons: tuple[str, ...]
) -> tuple[Word, Outcome, tuple[str, ...]]:
    """The verdict that the lock allows, the outcome and the reasons."""
    if any(mark.upper().startswith(SIMULATED) for mark in marks):
        return "UNREGISTERED", outcome, ("the runs were simulated: no model was trained", *reasons)
    if lock.digest is None:
        return "UNREGISTERED", outcome, ("nothing was locked before the runs", *reasons)
    if any(mark.upper().startswith(EXPLORATORY) for mark in marks):
        return "UNREGISTERED", outcome, ("the runs were made outside the lock, as exploratory", *reasons)
    if lock.differences:
        count = len(lock.differences)
        differs = "1 thing differs" if count == 1 else f"{count} things differ"
        return "DEVIATED", outcome, (f"{differs} from the lock", *reasons)
    if late := [one for one in lock.amendments if hypothesis in one.affected]:
        changed = tuple(f"its plan was changed by amendment {one.number}, with {one.known}" for one in late)
        return "DEVIATED", outcome, (*changed, *reasons)
    return outcome, outcome, reasons
