"""Readings at a budget: never past it, exact where it is met, and the step that crossed it stands beside."""

from __future__ import annotations

from harness.budget import BudgetReading, fraction_spent, readings_of_step
from harness.meter import Cost

BEFORE, AFTER = Cost(4, 950, 9.0, 1e6), Cost(5, 1100, 10.0, 2e6)


def test_a_crossed_budget_reads_the_policy_before_the_step() -> None:
    assert readings_of_step({"generated_tokens": 1000}, BEFORE, AFTER) == [
        BudgetReading("generated_tokens", 1000, 4, 950, 1100)
    ]


def test_a_budget_that_is_met_exactly_reads_the_policy_after_the_step() -> None:
    assert readings_of_step({"updates": 5, "device_seconds": 10.0}, BEFORE, AFTER) == [
        BudgetReading("updates", 5, 5, 5, None),
        BudgetReading("device_seconds", 10.0, 5, 10.0, None),
    ]


def test_an_open_budget_is_not_read() -> None:
    assert readings_of_step({"updates": 6, "train_flops": 3e6}, BEFORE, AFTER) == []


def test_a_budget_smaller_than_the_first_step_reads_the_start() -> None:
    reading = readings_of_step({"generated_tokens": 10}, Cost(), Cost(1, 100, 1.0, 1.0))[0]
    assert (reading.step, reading.cost, reading.crossing_cost) == (0, 0, 100)


def test_no_reading_is_ever_past_its_budget() -> None:
    cost = Cost()
    open_budgets = {"generated_tokens": 777.0, "device_seconds": 3.3}
    readings = []
    for step in range(1, 40):
        after = Cost(step, cost.generated_tokens + 37 + step % 5, cost.device_seconds + 0.17, 0.0)
        for reading in readings_of_step(open_budgets, cost, after):
            readings.append(reading)
            del open_budgets[reading.axis]
        cost = after
    assert not open_budgets
    assert all(r.cost <= r.budget < (r.crossing_cost or float("inf")) for r in readings)


def test_fraction_of_a_budget() -> None:
    assert fraction_spent({"updates": 10.0}, "updates", AFTER) == 0.5
    assert fraction_spent({"updates": 10.0}, "generated_tokens", AFTER) == 0.0
