"""Verdicts at planned looks: each hypothesis is judged by what was there at the look that decides it.

With looks k = 1, 2, ... that spend the shares w_k of alpha, the p of a hypothesis is the smallest p_k / w_k
over the looks made so far, at most 1: a weighted Bonferroni correction, which holds whatever the test and
however the looks depend on each other. From look to look these p can only fall, and so does what Holm, a
sequence or a graph makes of them: what is decided at a look stays decided. Whatever comes after it is not in
the verdict.

A scoreboard is tested once, when all of its predictions are decided or the last look is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

from prereg.hypotheses import Hypothesis
from prereg.study import Study
from prereg.testkinds import BinomialScoreboard
from reports.comparisons import Comparison, compare_all
from reports.decisions import Decision, decide
from reports.inputs import LockFact
from reports.scores import Evidence
from reports.sideeffects import Checked, check_all, voided
from reports.verdicts import SHOWN, Verdict, judge, verdicts_of

Comparisons = Mapping[str, Comparison]


@dataclass(frozen=True, slots=True)
class Looked:
    """What is there at one look."""

    comparisons: Comparisons
    """By hypothesis, on the look's seeds alone."""
    checked: tuple[Checked, ...]
    """The bounds on side effects, on the same seeds."""


@dataclass(frozen=True, slots=True)
class Made:
    """The registered test of a hypothesis at one look."""

    look: int
    """From 1."""
    comparison: Comparison
    raw: float
    """Its p, before the look's share of alpha is taken into account; NaN where it is not estimable."""
    p: float
    """That over the share, at most 1."""
    against: float
    """The same of the opposite test."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the looks leave a hypothesis."""

    made: tuple[Made, ...] = ()
    """The test at every look that can be judged, also at those after the one that decided."""
    look: int | None = None
    """The look whose estimate is shown: the one that decides, or the last that was made."""
    decided: bool = False
    """Whether that look decides, so that nothing after it is in the verdict."""
    waits: bool = False
    """Whether no look decides it, and one that could has not been made."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdicts, and the comparisons that they stand on."""

    verdicts: tuple[Verdict, ...]
    """One for each hypothesis, in the study's order."""
    comparisons: dict[str, Comparison]
    """By hypothesis: at the look that decides, or else at the last that was made."""
    standings: dict[str, Standing]

    @property
    def look(self) -> int | None:
        """The look after which no hypothesis needs further seeds; None while one waits."""
        standings = self.standings.values()
        if any(one.waits for one in standings):
            return None
        return max((one.look for one in standings if one.look is not None), default=None)


def look_at(evidence: Evidence) -> tuple[Looked, ...]:
    """The comparisons of every planned look; of a study with a fixed number of seeds, one."""
    found = []
    for look in evidence.study.looks:
        part = first_seeds(evidence, look.seeds)
        checked = check_all(part)
        found.append(Looked(voided(part, compare_all(part, look.share), checked), checked))
    return tuple(found)


def first_seeds(evidence: Evidence, count: int) -> Evidence:
    """The evidence as if the study had only its first seeds."""
    seeds = evidence.study.seeds[:count]
    if len(seeds) == len(evidence.study.seeds):
        return evidence
    runs = tuple(run for run in evidence.runs if run.seed in seeds)
    return replace(evidence, study=evidence.study.model_copy(update={"seeds": seeds}), runs=runs)


def judge_looks(study: Study, lock: LockFact, marks: Sequence[str], looked: Sequence[Comparisons]) -> Judged:
    """The verdicts from the comparisons at every planned look, in their order. Pure, as `verdicts.judge`."""
    if len(study.looks) == 1 and study.looks[0].share == 1:
        (only,) = looked
        standings = {h.id: Standing(look=None if only[h.id].reasons else 1) for h in study.hypotheses}
        return Judged(judge(study, lock, marks, only), dict(only), standings)
    made = {h.id: _made(study, h, looked) for h in study.hypotheses}
    decided = _decided(study, made)
    states = {h.id: decided.get(h.id) or _undecided(study, h, looked, made[h.id]) for h in study.hypotheses}
    found = _judged(study, lock, marks, states, states)
    waiting = {one.hypothesis: one.outcome for one in found if states[one.hypothesis].waits}
    if waiting and set(waiting.values()) == {"NOT_TESTED"}:  # their gates closed for good: nothing is awaited
        states |= {
            name: _combined(made[name]) if made[name] else replace(states[name], waits=False)
            for name in waiting
        }
        found = _judged(study, lock, marks, states, states)
    standings = {
        name: Standing(made[name], state.look, name in decided, state.waits) for name, state in states.items()
    }
    then = {name: state.adjusted for name, state in decided.items()}
    found = tuple(replace(one, p_adjusted=then.get(one.hypothesis, one.p_adjusted)) for one in found)
    return Judged(found, {name: state.shown for name, state in states.items()}, standings)


@dataclass(frozen=True, slots=True)
class _State:
    """A hypothesis as it is judged after some look."""

    decision: Decision
    judged: Comparison
    """For the judge: the look that speaks most against the claim, whose interval can refute it."""
    shown: Comparison
    """For the reader."""
    look: int | None = None
    """Of the shown."""
    waits: bool = False
    adjusted: float = float("nan")
    """Of a decided hypothesis: its p within its family as that stood then."""


_LOCKED = LockFact("intact")
"""Which look decides follows from the statistics alone, whatever became of the lock."""


def _decided(study: Study, made: Mapping[str, tuple[Made, ...]]) -> dict[str, _State]:
    """The hypotheses that some look shows or refutes, as they stood at the first that does."""
    decided: dict[str, _State] = {}
    for number in range(1, len(study.looks) + 1):
        until = {name: tuple(one for one in tests if one.look <= number) for name, tests in made.items()}
        new = True
        while new:  # a scoreboard is decided after its predictions, and what it gates after the scoreboard
            states = {h.id: decided.get(h.id) or _so_far(h, until[h.id]) for h in study.hypotheses}
            found = _judged(study, _LOCKED, (), states, decided)
            decisive = {one.hypothesis: one for one in found if one.outcome in (*SHOWN, "REFUTED")}
            new = bool(decisive.keys() - decided.keys())
            for name in decisive.keys() - decided.keys():
                against = decisive[name].outcome == "REFUTED"
                state = _frozen(states[name], until[name], number, against=against)
                decided[name] = replace(state, adjusted=decisive[name].p_adjusted)
    return decided


def _judged(
    study: Study,
    lock: LockFact,
    marks: Sequence[str],
    states: Mapping[str, _State],
    counted: Mapping[str, _State],
) -> tuple[Verdict, ...]:
    """The verdicts on states; a scoreboard has its own if all of its predictions are in `counted`."""
    comparisons = {name: state.judged for name, state in states.items()}
    decisions = {name: state.decision for name, state in states.items()}
    shown = {name: state.shown for name, state in counted.items()}
    for h in study.hypotheses:
        if isinstance(h.test, BinomialScoreboard):
            decisions[h.id] = decide(study, h, shown)
    return verdicts_of(study, lock, marks, comparisons, decisions)


def _made(study: Study, hypothesis: Hypothesis, looked: Sequence[Comparisons]) -> tuple[Made, ...]:
    """The registered test at every look that can be judged; none of a scoreboard."""
    if isinstance(hypothesis.test, BinomialScoreboard):
        return ()
    found = []
    for number, (look, comparisons) in enumerate(zip(study.looks, looked, strict=True), start=1):
        one = comparisons[hypothesis.id]
        if not one.reasons:
            test = decide(study, hypothesis, comparisons)
            p, against = _over(test.p, look.share), _over(test.against, look.share)
            found.append(Made(number, one, test.p, p, against))
    return tuple(found)


def _over(p: float, share: float) -> float:
    return p if isnan(p) else min(1.0, p / share)


def _best(made: Sequence[Made], *, against: bool) -> Made:
    """The look with the smallest p of the claim, or against it; the latest where none is estimable."""
    known = [one for one in made if not isnan(one.p)]
    return min(known, key=lambda one: one.against if against else one.p) if known else made[-1]


def _so_far(hypothesis: Hypothesis, made: tuple[Made, ...]) -> _State:
    """A hypothesis that nothing has decided yet, by all looks that were made."""
    if made:
        return _combined(made)
    nothing = Comparison(hypothesis.id, ())
    return _State(Decision(float("nan"), float("nan")), nothing, nothing)


def _combined(made: tuple[Made, ...]) -> _State:
    against, last = _best(made, against=True), made[-1]
    decision = Decision(_best(made, against=False).p, against.against)
    return _State(decision, against.comparison, last.comparison, last.look)


def _frozen(state: _State, made: tuple[Made, ...], number: int, *, against: bool) -> _State:
    """A decided hypothesis, with the look that speaks most for its outcome."""
    if not made:
        return replace(state, look=number)
    best = _best(made, against=against)
    return replace(state, judged=best.comparison, shown=best.comparison, look=best.look)


def _undecided(
    study: Study, hypothesis: Hypothesis, looked: Sequence[Comparisons], made: tuple[Made, ...]
) -> _State:
    """A hypothesis that no look decides: open after the last, or waiting for one that was not made."""
    if isinstance(hypothesis.test, BinomialScoreboard):
        return _so_far(hypothesis, ())
    if made and made[-1].look == len(study.looks):
        return _combined(made)
    number = made[-1].look + 1 if made else 1
    missing = looked[number - 1][hypothesis.id]
    before = "no look before decides it, and " if made else ""
    of = f"look {number} of {len(study.looks)}, after {study.looks[number - 1].seeds} seeds,"
    reasons = (f"{before}{of} cannot be judged", *missing.reasons)
    waiting = Comparison(hypothesis.id, reasons, excluded=missing.excluded)
    nan = float("nan")
    return _State(Decision(nan, nan, reasons), waiting, waiting, waits=True)
