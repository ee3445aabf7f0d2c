"""p-values of a t statistic by direction and null, and Holm's correction over a family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import stdtr

from reports.intervals import Interval

Direction = Literal["greater", "less", "two_sided"]


def p_value(interval: Interval, direction: Direction, margin: float = 0.0) -> float:
    """p of the null that the effect is no larger than `margin` in the stated direction.

    `greater`: effect <= margin; `less`: effect >= -margin; `two_sided`: |effect| <= margin, by doubling the
    smaller of the two one-sided p-values. NaN where the interval is not estimable. `margin` is at least 0,
    in the unit of the effect.
    """
    above = _upper_tail(interval, margin)
    below = _lower_tail(interval, -margin)
    if direction == "greater":
        return above
    if direction == "less":
        return below
    return float(np.minimum(1.0, 2 * np.minimum(above, below)))


def p_opposite(interval: Interval, direction: Direction, margin: float = 0.0) -> float:
    """p of the claim's complement: small if the data speak against the claim.

    `greater`: the null is effect >= margin; `less`: effect <= -margin. `two_sided` with a margin: the null
    is |effect| >= margin (two one-sided tests); without one nothing can speak against it, and p is 1.
    """
    below = _lower_tail(interval, margin)
    above = _upper_tail(interval, -margin)
    if direction == "greater":
        return below
    if direction == "less":
        return above
    return float(np.maximum(below, above)) if margin > 0 else 1.0


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


def _upper_tail(interval: Interval, null: float) -> float:
    """P(T >= t) for the null effect; NaN where there is no standard error."""
    return float(stdtr(interval.df, (null - interval.estimate) / interval.se))


def _lower_tail(interval: Interval, null: float) -> float:
    return float(stdtr(interval.df, (interval.estimate - null) / interval.se))
