"""Simulated studies, judged as a report judges: what the verdicts would be if the assumptions were true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import isnan

import numpy as np
from numpy.typing import NDArray

from prereg.hypotheses import Hypothesis
from prereg.stopping import GroupSequential
from prereg.study import Study
from prereg.testkinds import BinomialScoreboard
from reports.comparisons import Comparison, interval_of
from reports.inputs import LockFact
from reports.intervals import Interval, seed_means
from reports.looks import Judged, judge_looks
from reports.power.model import Draw, Model
from reports.verdicts import SHOWN

Floats = NDArray[np.float64]

LOCKED = LockFact("simulated")
"""A lock from which nothing differs, so that a verdict is its statistical outcome."""

UNDECLARED = "its power assumptions are not declared"


@dataclass(frozen=True, slots=True)
class Simulated:
    """What became of one hypothesis in every simulation of one number of seeds; shape (simulations,)."""

    shown: NDArray[np.bool_]
    """Whether the verdict was CONFIRMED, EQUIVALENT or NON_INFERIOR."""
    admissible: NDArray[np.bool_]
    """Whether its test could be made."""
    estimate: Floats
    low: Floats
    high: Floats
    look: NDArray[np.int64]
    """The look after which the study needs no further seeds for it, from 1; the last if none decides."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The part of a study that can be simulated: hypotheses with assumptions, and what depends on them."""

    study: Study
    """As the report would judge it, but that nothing waits for a hypothesis without assumptions."""
    models: Mapping[str, Model]

    @classmethod
    def of(cls, study: Study, models: Mapping[str, Model]) -> Plan:
        """`models` has one for each hypothesis that declares assumptions.

        A hypothesis without any counts in its Holm family or graph as one that is never confirmed. As a gate,
        and in a fixed sequence, it is taken as confirmed: those behind it have their power once it is open.
        """
        known = set(models)
        sequences = {name for name, family in study.families.items() if family.method == "fixed_sequence"}
        kept = tuple(
            h.model_copy(
                update={
                    "gate": h.gate if h.gate in known else None,
                    "family": None if h.family in sequences and h.id not in known else h.family,
                }
            )
            for h in study.hypotheses
        )
        families = {
            name: family.model_copy(update={"order": tuple(m for m in family.order if m in known)})
            if name in sequences
            else family
            for name, family in study.families.items()
        }
        return cls(study.model_copy(update={"hypotheses": kept, "families": families}), models)

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Those that have a power: with assumptions, or a scoreboard of none but such."""
        return tuple(
            h
            for h in self.study.hypotheses
            if h.id in self.models
            or (isinstance(h.test, BinomialScoreboard) and set(h.test.predictions) <= set(self.models))
        )


Comparisons = dict[str, Comparison]
Looks = tuple[Comparisons, ...]
"""The comparisons of one simulated study at each of its looks; without looks, one."""


def simulate(
    plan: Plan, simulations: int, seed_counts: Sequence[int], threads: int = 1
) -> dict[int, list[Looks]]:
    """The comparisons of every simulated study, by number of seeds.

    A study of fewer seeds is the first seeds of one of more. Neither threads nor which numbers of seeds are
    asked for can change a number. A plan with looks can be simulated on its own number of seeds alone.
    """
    counts = sorted(set(seed_counts))
    with ThreadPoolExecutor(threads) as pool:
        drawn = list(pool.map(lambda number: _one(plan, number, counts), range(simulations)))
    return {count: [one[place] for one in drawn] for place, count in enumerate(counts)}


def outcomes(
    plan: Plan, comparisons: Sequence[Looks], shifts: Mapping[str, float] | None = None
) -> dict[str, Simulated]:
    """The verdicts on simulated comparisons, by hypothesis.

    `shifts` moves a hypothesis's differences by a constant, which moves its interval and nothing else.
    """
    judged = [
        judge_looks(plan.study, LOCKED, (), [_moved(found, shifts) if shifts else found for found in looks])
        for looks in comparisons
    ]
    return {h.id: _simulated(h.id, judged, len(plan.study.looks)) for h in plan.hypotheses}


def _one(plan: Plan, number: int, counts: Sequence[int]) -> list[Looks]:
    """One simulated study with each number of seeds."""
    draws = {name: model.draw(number, max(counts)) for name, model in plan.models.items()}
    if isinstance(plan.study.stopping, GroupSequential):
        assert counts == [len(plan.study.seeds)], "the looks are those of the plan's own seeds"
        return [tuple(_at(plan, draws, look.seeds, look.share) for look in plan.study.looks)]
    return [(_at(plan, draws, count, 1.0),) for count in counts]


def _at(plan: Plan, draws: Mapping[str, Draw], count: int, share: float) -> Comparisons:
    """The comparisons on the first seeds of a simulated study."""
    comparisons: Comparisons = {}
    for hypothesis in plan.study.hypotheses:
        draw = draws.get(hypothesis.id)
        if draw is None:
            comparisons[hypothesis.id] = Comparison(hypothesis.id, (UNDECLARED,))
        elif draw.failed[:count].any():
            comparisons[hypothesis.id] = Comparison(hypothesis.id, ("a run did not finish",))
        else:
            blocks = [block[:count] for block in draw.blocks]
            comparisons[hypothesis.id] = compared(hypothesis, blocks, plan.models[hypothesis.id], share)
    return comparisons


def compared(
    hypothesis: Hypothesis, blocks: Sequence[Floats], model: Model, share: float = 1.0
) -> Comparison:
    """The comparison of simulated differences, by the function that the report calls."""
    shares = [bench.share for bench in model.benches]
    return Comparison(
        hypothesis.id,
        (),
        effect=interval_of(hypothesis, blocks, shares, over_problems=hypothesis.over_problems, share=share),
        seeds=tuple(range(len(blocks[0]))),
        per_seed=tuple(seed_means(blocks, shares).tolist()),
    )


def _moved(comparisons: Comparisons, shifts: Mapping[str, float]) -> Comparisons:
    return {name: _shifted(one, shifts.get(name, 0.0)) for name, one in comparisons.items()}


def _shifted(comparison: Comparison, by: float) -> Comparison:
    effect = comparison.effect
    if effect is None or by == 0:
        return comparison
    moved: Interval = replace(
        effect, estimate=effect.estimate + by, low=effect.low + by, high=effect.high + by
    )
    return replace(comparison, effect=moved, per_seed=tuple(value + by for value in comparison.per_seed))


def _simulated(name: str, judged: Sequence[Judged], looks: int) -> Simulated:
    verdicts = [next(one for one in found.verdicts if one.hypothesis == name) for found in judged]
    effects = [found.comparisons[name].effect for found in judged]
    ends = [found.standings[name] for found in judged]
    nan = float("nan")
    return Simulated(
        np.array([verdict.outcome in SHOWN for verdict in verdicts]),
        np.array([not isnan(verdict.p) for verdict in verdicts]),
        np.array([nan if one is None else one.estimate for one in effects]),
        np.array([nan if one is None else one.low for one in effects]),
        np.array([nan if one is None else one.high for one in effects]),
        np.array([one.look if one.decided and one.look is not None else looks for one in ends]),
    )
