"""From one-sided p-values to the p of a claim: by direction, null and margin. Holm's correction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from prereg.hypotheses import Direction
from reports.intervals import Interval


@dataclass(frozen=True, slots=True)
class Tails:
    """A test as its two one-sided p-values, each a function of the effect at the null."""

    above: Callable[[float], float]
    """p of the null that the effect is at most this: small where the data lie above."""
    below: Callable[[float], float]
    """p of the null that the effect is at least this."""


def t_tails(interval: Interval) -> Tails:
    """The t test of an interval's estimate, with its standard error and df; NaN where it has none."""

    def above(null: float) -> float:
        return float(stdtr(interval.df, (null - interval.estimate) / interval.se))

    def below(null: float) -> float:
        return float(stdtr(interval.df, (interval.estimate - null) / interval.se))

    return Tails(above, below)


def p_of_claim(tails: Tails, direction: Direction, margin: float = 0.0) -> float:
    """p of the null that the claim is false. `margin` is at least 0, in the unit of the effect.

    `greater`: effect <= margin; `less`: effect >= -margin; `two_sided`: |effect| <= margin, by doubling the
    smaller of the two one-sided p-values; `equivalent`: |effect| >= margin, the larger of the two (TOST);
    `non_inferior`: effect <= -margin.
    """
    if direction == "greater":
        return tails.above(margin)
    if direction == "less":
        return tails.below(-margin)
    if direction == "equivalent":
        return _inside(tails, margin)
    if direction == "non_inferior":
        return tails.above(-margin)
    return _outside(tails, margin)


def p_against(tails: Tails, direction: Direction, margin: float = 0.0) -> float:
    """p of the null that the claim is true: small if the data speak against it.

    `greater`: effect >= margin; `less`: effect <= -margin; `two_sided` with a margin: |effect| >= margin,
    without one nothing can speak against it, and p is 1; `equivalent`: |effect| <= margin;
    `non_inferior`: effect >= -margin.
    """
    if direction == "greater":
        return tails.below(margin)
    if direction == "less":
        return tails.above(-margin)
    if direction == "equivalent":
        return _outside(tails, margin)
    if direction == "non_inferior":
        return tails.below(-margin)
    return _inside(tails, margin) if margin > 0 else 1.0


def p_value(interval: Interval, direction: Direction, margin: float = 0.0) -> float:
    """`p_of_claim` by the t test of an interval; NaN where the interval is not estimable."""
    return p_of_claim(t_tails(interval), direction, margin)


def p_opposite(interval: Interval, direction: Direction, margin: float = 0.0) -> float:
    """`p_against` by the t test of an interval."""
    return p_against(t_tails(interval), direction, margin)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given.

    A NaN is a member that could not be tested: it counts in the family's size, as if its p were 1, and
    stays NaN.
    """
    p = np.asarray(p_values, dtype=np.float64)
    counted = np.where(np.isnan(p), 1.0, p)
    order = np.argsort(counted, kind="stable")
    steps = counted[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return [float(value) for value in np.where(np.isnan(p), np.nan, adjusted)]


def _inside(tails: Tails, margin: float) -> float:
    """p of |effect| >= margin: both one-sided tests must reject. NaN if either is."""
    return float(np.maximum(tails.above(-margin), tails.below(margin)))


def _outside(tails: Tails, margin: float) -> float:
    """p of |effect| <= margin: either may reject, and the smaller is doubled."""
    return float(np.minimum(1.0, 2 * np.minimum(tails.above(margin), tails.below(-margin))))
