"""Reading an accuracy curve at a budget, without ever going beyond what was measured.

`cost` and `value` have shape (checkpoints,): cumulative cost on one axis, strictly increasing, and the
accuracy of the policy that had cost so much.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def step_reading(cost: Floats, value: Floats, budget: float, *, reached: float | None = None) -> float:
    """Value of the last checkpoint with cost <= budget; NaN if the budget was not reached.

    `reached` is the furthest cost of the run, where it is known to have gone on after its last checkpoint.
    """
    _check(cost, value)
    end = cost[-1] if reached is None else max(reached, float(cost[-1]))
    if budget > end or budget < cost[0]:
        return float("nan")
    return float(value[np.searchsorted(cost, budget, side="right") - 1])


def linear_reading(cost: Floats, value: Floats, budget: float) -> float:
    """Value on the straight line between the checkpoints around the budget; NaN outside them."""
    _check(cost, value)
    return float(np.interp(budget, cost, value, left=np.nan, right=np.nan))


def step_area(cost: Floats, value: Floats, budget: float, *, reached: float | None = None) -> float:
    """Mean height of the step curve over [first cost, budget]; NaN if the budget was not reached."""
    if np.isnan(step_reading(cost, value, budget, reached=reached)):
        return float("nan")
    inside = cost <= budget
    ends = np.append(cost[inside][1:], budget)
    widths = ends - cost[inside]
    return _normalised(float((widths * value[inside]).sum()), float(cost[0]), budget)


def linear_area(cost: Floats, value: Floats, budget: float) -> float:
    """Mean height of the piecewise linear curve over [first cost, budget]; NaN if it was not reached."""
    at_end = linear_reading(cost, value, budget)
    if np.isnan(at_end):
        return float("nan")
    inside = cost < budget
    x, y = np.append(cost[inside], budget), np.append(value[inside], at_end)
    return _normalised(float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum()), float(cost[0]), budget)


def mean_step_curve(runs: list[tuple[Floats, Floats]], upto: float) -> tuple[Floats, Floats]:
    """Step readings of several runs at every cost at which one of them changes, up to `upto`.

    Returns the costs, shape (points,), and the readings, shape (runs, points). `upto` must be a cost that
    every run reached; a point before a run's first checkpoint is NaN.
    """
    for cost, value in runs:
        _check(cost, value)
    grid = np.unique(np.concatenate([cost[cost <= upto] for cost, _ in runs] + [np.array([upto])]))
    readings = np.full((len(runs), len(grid)), np.nan)
    for row, (cost, value) in enumerate(runs):
        place = np.searchsorted(cost, grid, side="right") - 1
        readings[row] = np.where(place >= 0, value[np.maximum(place, 0)], np.nan)
    return grid, readings


def lead_changes(
    first: tuple[Floats, Floats], second: tuple[Floats, Floats]
) -> tuple[tuple[float, int], ...]:
    """Where the lead between two step curves begins or changes: costs, and the sign of first less second.

    Each curve is costs and values, both of shape (points,), as steps. Compared are the costs at which one of
    the two changes, from where both have a value. A tie changes nothing: the lead passes at the cost at
    which the other curve is first strictly above. So two entries or more mean that the curves cross, at
    the second and each later one.
    """
    grid = np.union1d(first[0], second[0])
    grid = grid[grid >= max(first[0][0], second[0][0])]
    heights = [value[np.searchsorted(cost, grid, side="right") - 1] for cost, value in (first, second)]
    found: list[tuple[float, int]] = []
    for cost, difference in zip(grid.tolist(), (heights[0] - heights[1]).tolist(), strict=True):
        sign = int(np.sign(difference))
        if sign and (not found or found[-1][1] != sign):
            found.append((cost, sign))
    return tuple(found)


def _normalised(area: float, start: float, budget: float) -> float:
    return area / (budget - start) if budget > start else float("nan")


def _check(cost: Floats, value: Floats) -> None:
    if cost.ndim != 1 or cost.shape != value.shape or len(cost) == 0:
        raise ValueError("a curve needs one value for each cost, and at least one of them")
    if not np.isfinite(cost).all() or (np.diff(cost) <= 0).any():
        raise ValueError("cumulative cost must be finite and strictly increasing: it decreases or repeats")
