"""Predicting what a study costs here, from a few real updates and a few real samples of each arm."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.cells import Cell
from harness.evaluation import BenchmarkTask, evaluate
from harness.meter import Cost, Spent
from harness.plan import evaluations_at
from harness.preparing import prepare_cell
from prereg.study import Study

UPDATES = 6
"""Updates that are made and thrown away; the first warms up and is not counted."""

PROBLEMS = 8
"""Problems of each benchmark that are sampled."""

BYTES_PER_TOKEN = 4.2
"""Upper end of what the ledger was measured to take for a trained model (docs/benchmarks.md)."""


@dataclass(frozen=True, slots=True)
class MeasuredArm:
    """One run of an arm, predicted. Early answers may be longer or shorter than later ones."""

    arm: str
    model: str
    runs: int
    updates: int
    """Until the last budget is reached."""
    last_axis: str
    """The budget that is reached last."""
    generated_tokens: int
    train_device_seconds: float
    evaluations: int
    """Of the start, at the budgets, and along the grid until the last budget."""
    evaluation_seconds: float
    """Wall seconds of all evaluations of a run."""
    wall_seconds: float
    ledger_bytes: int

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def measure_arm(study: Study, study_folder: Path, arm: str, model: str) -> MeasuredArm:
    """Make a few updates and evaluate a few problems of one arm in this process, and scale up."""
    with ExitStack() as graders:
        ready = prepare_cell(study, study_folder, Cell(arm, model, study.seeds[0]), graders)
        learner, meter = ready.learner, ready.meter
        rate = ready.spec.optimizer.learning_rate
        learner.update(1, rate)
        first = _screening(meter.take())
        once, once_wall = Cost().plus(first, 0), sum(c.wall_seconds for c in first.values())
        cost, wall, screened = Cost(), 0.0, Cost()
        for step in range(2, UPDATES + 1):
            learner.update(step, rate)
            spent = meter.take()
            cost = cost.plus(spent, 1)
            screened = screened.plus(_screening(spent), 0)
            wall += sum(c.wall_seconds for c in spent.values())
        if screened.generated_tokens:  # it screens at every update, and not all prompts once
            once, once_wall = Cost(), 0.0
        evaluation, samples_tokens = 0.0, 0
        for task in ready.benchmarks:
            small = BenchmarkTask(task.name, task.spec, task.prompts[:PROBLEMS], task.grader)
            result = evaluate(small, learner.engine, meter, learner.shape, seed=study.seeds[0],
                              max_batch=study.evaluation.max_batch)  # fmt: skip
            scale = len(task.prompts) / len(small.prompts)
            evaluation += scale * sum(c.wall_seconds for c in meter.take().values())
            samples_tokens += int(scale * sum(result.generated_tokens))
    budgets = study.budget.declared()
    needed = {
        axis: max(1, math.ceil((value - once.on(axis)) / max(cost.on(axis) / cost.updates, 1e-12)))
        for axis, value in budgets.items()
    }
    last = max(needed, key=lambda axis: needed[axis])
    updates = needed[last]
    share = updates / cost.updates
    tokens = once.generated_tokens + int(cost.generated_tokens * share)
    evaluations = evaluations_at(study, updates, tokens)
    return MeasuredArm(
        arm=arm,
        model=model,
        runs=len(study.seeds),
        updates=updates,
        last_axis=last,
        generated_tokens=tokens,
        train_device_seconds=once.device_seconds + cost.device_seconds * share,
        evaluations=evaluations,
        evaluation_seconds=evaluation * evaluations,
        wall_seconds=once_wall + wall * share + evaluation * evaluations,
        ledger_bytes=int(BYTES_PER_TOKEN * (tokens + samples_tokens * evaluations)),
    )


def _screening(spent: Spent) -> Spent:
    """What was spent on samples for predictions: at the first update they may be of every training prompt."""
    return {key: cost for key, cost in spent.items() if key[1] == "screening"}
