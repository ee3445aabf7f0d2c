"""What simulated verdicts say of a plan, each figure with its Monte-Carlo error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prereg.hypotheses import Hypothesis
from prereg.stopping import GroupSequential
from reports.comparisons import shown_level
from reports.power.simulate import Looks, Plan, Simulated, outcomes, simulate

WANTED = 0.8
"""The power at which the smallest effect is looked for."""

_HALVINGS = 12
_FEWEST = 200
"""Simulations on which a smallest effect is looked for, at least: with many hypotheses each has fewer."""
_SEARCHED = 20.0
"""How far from the null an effect is looked for, in declared sds."""
_STEP = 0.1
"""Step of the slope of the power, in declared sds."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A share or a mean over simulations, with its Monte-Carlo standard error; NaN where there is none."""

    value: float
    error: float


@dataclass(frozen=True, slots=True)
class Performance:
    """How a hypothesis fares with one number of seeds."""

    seeds: int
    power: Figure
    """Share of all simulated studies whose verdict is CONFIRMED, EQUIVALENT or NON_INFERIOR."""
    bias: Figure
    """Mean estimate less the true effect, percentage points."""
    coverage: Figure
    """Share of printed intervals that hold the true effect."""
    type_s: Figure
    """Of the shown: share whose estimate has the wrong sign."""
    type_m: Figure
    """Of the shown: mean size of the estimate over that of the effect."""
    inadmissible: Figure
    """Share of studies in which a run that the hypothesis needs never finished."""


@dataclass(frozen=True, slots=True)
class Stops:
    """How early the looks of a plan decide a hypothesis."""

    after: tuple[int, ...]
    """Seeds, by look."""
    at: tuple[Figure, ...]
    """By look: share of studies that need no further seeds after it. The last also has those undecided."""
    shown: tuple[Figure, ...]
    """By look: share of studies in which the claim is shown there."""
    seeds: Figure
    """Mean number of seeds that it needs."""
    study_seeds: Figure
    """Mean number that all simulated hypotheses together need, so that none of them waits."""


@dataclass(frozen=True, slots=True)
class HypothesisPower:
    """The power of one hypothesis."""

    hypothesis: str
    simulations: int
    level: float | None
    """Of the printed interval, or of all looks' intervals together; None for a scoreboard, which has none."""
    planned: int
    """Seeds of the study."""
    curve: tuple[Performance, ...]
    """By number of seeds, ascending; the planned number is among them."""
    smallest_effect: Figure
    """Smallest true effect shown with a power of `WANTED` on the planned seeds; NaN where there is none."""
    stops: Stops | None = None
    """None where the number of seeds is fixed."""

    @property
    def at_plan(self) -> Performance:
        """With the seeds of the study."""
        return next(one for one in self.curve if one.seeds == self.planned)


def power_of(
    plan: Plan, simulations: int, seed_counts: Sequence[int], threads: int = 1, *, search: bool = True
) -> tuple[HypothesisPower, ...]:
    """The power of every hypothesis of a plan that has one; `search` looks for the smallest effects too.

    A plan with looks has them on its own number of seeds alone: `seed_counts` is not asked for then.
    """
    planned = len(set(plan.study.seeds))
    others = () if isinstance(plan.study.stopping, GroupSequential) else seed_counts
    found = simulate(plan, simulations, (*others, planned), threads)
    curves = {count: outcomes(plan, comparisons) for count, comparisons in found.items()}
    nothing = Figure(float("nan"), float("nan"))
    ends = [curves[planned][name].look for name in plan.models]
    searched = found[planned][: max(_FEWEST, simulations // max(1, len(plan.hypotheses)))]
    return tuple(
        HypothesisPower(
            h.id,
            simulations,
            shown_level(h) if h.id in plan.models else None,
            planned,
            tuple(_performance(h, curves[count][h.id], count) for count in sorted(curves)),
            _smallest_effect(plan, h, searched) if search else nothing,
            _stops(plan, curves[planned][h.id], ends),
        )
        for h in plan.hypotheses
    )


def share(found: NDArray[np.bool_]) -> Figure:
    """A share and its binomial error."""
    if len(found) == 0:
        return Figure(float("nan"), float("nan"))
    value = float(found.mean())
    return Figure(value, (value * (1 - value) / len(found)) ** 0.5)


def mean(values: NDArray[np.float64]) -> Figure:
    """A mean and its standard error."""
    if len(values) == 0:
        return Figure(float("nan"), float("nan"))
    error = float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else float("nan")
    return Figure(float(values.mean()), error)


def _performance(hypothesis: Hypothesis, found: Simulated, seeds: int) -> Performance:
    nothing = Figure(float("nan"), float("nan"))
    inadmissible = share(~found.admissible)
    if hypothesis.power is None:
        return Performance(seeds, share(found.shown), nothing, nothing, nothing, nothing, inadmissible)
    true = hypothesis.power.effect
    known = ~np.isnan(found.low)
    shown = found.estimate[found.shown]
    return Performance(
        seeds,
        share(found.shown),
        mean(found.estimate[found.admissible] - true),
        share((found.low[known] <= true) & (true <= found.high[known])),
        share(shown * true < 0) if true else nothing,
        mean(np.abs(shown) / abs(true)) if true else nothing,
        inadmissible,
    )


def _stops(plan: Plan, found: Simulated, ends: Sequence[NDArray[np.int64]]) -> Stops | None:
    if not isinstance(plan.study.stopping, GroupSequential):
        return None
    seeds = np.array([look.seeds for look in plan.study.looks], dtype=np.float64)
    numbers = range(1, len(seeds) + 1)
    return Stops(
        tuple(look.seeds for look in plan.study.looks),
        tuple(share(found.look == number) for number in numbers),
        tuple(share(found.shown & (found.look == number)) for number in numbers),
        mean(seeds[found.look - 1]),
        mean(seeds[np.max(ends, axis=0) - 1]),
    )


def _smallest_effect(plan: Plan, hypothesis: Hypothesis, found: Sequence[Looks]) -> Figure:
    """By halving, on the same simulations moved by a constant: sampling noise is that at the declared effect.

    A claim of equivalence has none: it is best shown at an effect of 0.
    """
    given = hypothesis.power
    if given is None or hypothesis.direction == "equivalent":
        return Figure(float("nan"), float("nan"))
    sign = -1.0 if hypothesis.direction == "less" else 1.0
    null = -hypothesis.bound if hypothesis.direction == "non_inferior" else hypothesis.bound
    start = sign * null

    def power(distance: float) -> float:
        effect = start + sign * distance
        moved = outcomes(plan, found, {hypothesis.id: effect - given.effect})
        return float(moved[hypothesis.id].shown.mean())

    return _halved(power, given.sd, len(found), start, sign)


def _halved(
    power: Callable[[float], float], sd: float, simulations: int, start: float, sign: float
) -> Figure:
    low, high = 0.0, _SEARCHED * sd
    if power(high) < WANTED:
        return Figure(float("nan"), float("nan"))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if power(middle) >= WANTED:
            high = middle
        else:
            low = middle
    slope = (power(high + _STEP * sd) - power(high - _STEP * sd)) / (2 * _STEP * sd)
    error = (WANTED * (1 - WANTED) / simulations) ** 0.5 / slope if slope > 0 else float("nan")
    return Figure(start + sign * high, error)


def to_json(figures: Mapping[str, Figure]) -> dict[str, dict[str, float | None]]:
    """Figures as plain data; what could not be estimated is null."""
    return {
        name: {
            "value": None if np.isnan(one.value) else one.value,
            "monte_carlo_error": None if np.isnan(one.error) else one.error,
        }
        for name, one in figures.items()
    }
