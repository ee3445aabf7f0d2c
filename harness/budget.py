"""Where a run is read, and when it ends.

What a step costs is known when it is over. If it crosses a budget, the policy as it stood before the step
is what is read there, so that no reading is ever past its budget; the run goes on while another budget is
open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.meter import Cost


@dataclass(frozen=True, slots=True)
class BudgetReading:
    """The policy to be read at one budget."""

    axis: str
    budget: float
    step: int
    """Updates that the policy had had."""
    cost: float
    """Its cost on the axis; never more than the budget."""
    crossing_cost: float | None
    """Cost after the step that crossed the budget; None if it was met exactly."""


def readings_of_step(open_budgets: Mapping[str, float], before: Cost, after: Cost) -> list[BudgetReading]:
    """The budgets that the step from `before` to `after` closed, in the order given."""
    closed: list[BudgetReading] = []
    for axis, budget in open_budgets.items():
        if after.on(axis) == budget:
            closed.append(BudgetReading(axis, budget, after.updates, after.on(axis), None))
        elif after.on(axis) > budget:
            closed.append(BudgetReading(axis, budget, before.updates, before.on(axis), after.on(axis)))
    return closed


def fraction_spent(budgets: Mapping[str, float], axis: str, cost: Cost) -> float:
    """How much of an axis's budget is spent, for learning-rate schedules; 0 where it has none."""
    return cost.on(axis) / budgets[axis] if axis in budgets else 0.0
