"""One run: train, read at every budget, evaluate, commit; resume exactly where the last commit stood."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch

from harness.budget import BudgetReading, fraction_spent, readings_of_step
from harness.cells import Cell
from harness.evaluation import BenchmarkResult, BenchmarkTask, Noise, evaluate
from harness.ledger.writer import LedgerWriter
from harness.meter import Cost, RunMeter
from harness.recording import record_costs, record_evaluation, record_reevaluation, record_update
from prereg.study import Study
from prereg.trainer import VllmEngine
from trainers.checkpoint import DamagedCheckpoint, load_checkpoint, load_reward, save_checkpoint, save_weights
from trainers.engines import EngineDied
from trainers.loop import Learner
from trainers.schedule import rate_factor

Weights = dict[str, torch.Tensor]
Result = TypeVar("Result")


class Interrupted(Exception):
    """The run was asked to stop, and has committed what it did."""


@dataclass(slots=True)
class RunState:
    """What a run carries from step to step, besides weights and optimizer."""

    cost: Cost = field(default_factory=Cost)
    """All that was spent so far."""
    policy: Cost = field(default_factory=Cost)
    """What the present policy cost: all that was spent when its last update ended. Moments between then and
    the next update, around an evaluation or a commit, are in `cost` already and belong to the next policy."""
    open_budgets: dict[str, float] = field(default_factory=dict)
    evaluated: set[int] = field(default_factory=set)
    """Steps whose policy has been evaluated."""
    reevaluated: set[int] = field(default_factory=set)
    """Steps whose policy has been evaluated a second time."""
    next_grid: float = 0.0
    """Coordinate of the next evaluation of the grid."""

    def to_json(self, selection: dict[str, object]) -> dict[str, Any]:
        """As plain JSON, with the selection's own state."""
        return {
            "cost": list(astuple(self.cost)),
            "policy": list(astuple(self.policy)),
            "open_budgets": self.open_budgets,
            "evaluated": sorted(self.evaluated),
            "reevaluated": sorted(self.reevaluated),
            "next_grid": self.next_grid,
            "selection": selection,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RunState:
        """The inverse of `to_json`."""
        return cls(
            Cost(*data["cost"]), Cost(*data["policy"]), data["open_budgets"], set(data["evaluated"]),
            set(data["reevaluated"]), data["next_grid"],
        )  # fmt: skip


class Run:
    """Drives one cell to the end of its last budget."""

    def __init__(
        self, study: Study, cell: Cell, learner: Learner, benchmarks: list[BenchmarkTask],
        ledger: LedgerWriter, meter: RunMeter, *, should_stop: Callable[[], bool],
        on_progress: Callable[[RunState], None],
    ) -> None:  # fmt: skip
        self.study = study
        self.cell = cell
        self.learner = learner
        self.benchmarks = benchmarks
        self.ledger = ledger
        self.meter = meter
        self.should_stop = should_stop
        self.on_progress = on_progress
        self.budgets = {str(axis): value for axis, value in study.budget.declared().items()}
        self.state = RunState(open_budgets=dict(self.budgets))
        self._committed_at = time.monotonic()
        self._spent_since_commit = [0, 0.0, 0.0]
        self._kept: dict[str, Weights] = {}

    def resume(self, checkpoint: Path) -> None:
        """Take up the state of the last commit."""
        data = load_checkpoint(checkpoint, self.learner.policy.trainable, self.learner.optimizer)
        self.state = RunState.from_json(data)
        self.learner.selection.load_state(data["selection"])
        try:
            self.learner.reward.load_tensors(load_reward(checkpoint))
        except KeyError as error:
            raise DamagedCheckpoint(f"the checkpoint {checkpoint} lacks what the reward learned") from error
        self.learner.engine.sync()

    def to_the_end(self) -> None:
        """Train until every budget is reached. Raises Interrupted after a clean stop."""
        self.meter.take()  # loading the model is nobody's training time
        if 0 not in self.state.evaluated:
            self._evaluate(self.state.policy, step=0, occasion=("start",))
            self._advance_grid()
            self._commit()
        while self.state.open_budgets:
            self._step()
            due = time.monotonic() - self._committed_at >= self.study.environment.commit_seconds
            stopping = self.should_stop()  # asked once: a stop between two answers would skip the commit
            if due or stopping or not self.state.open_budgets:
                self._commit()
            if stopping and self.state.open_budgets:
                raise Interrupted(self.cell.run_id)

    def _with_engine(self, work: Callable[[], Result]) -> Result:
        """Do what samples; where the engine dies under it, start the engine anew and do it again.

        Nothing but sampling has happened by then, so the work can be repeated whole. What the failed attempt
        cost is recorded as lost, and charged to no budget. Raises EngineDied after too many deaths.
        """
        spec = self.learner.spec.engine
        restarts = spec.restarts if isinstance(spec, VllmEngine) else 0
        for attempt in range(restarts + 1):
            try:
                return work()
            except EngineDied:
                if attempt == restarts:
                    raise
                self.learner.engine.restart()
                self._record_loss()
        raise AssertionError("the loop returns or raises")

    def _record_loss(self) -> None:
        """Everything since the last account, as a row of `lost`: no step of it counts."""
        spent = self.meter.take().values()
        self.ledger.record_lost(
            steps=0,
            generated_tokens=sum(cost.generated_tokens for cost in spent),
            device_seconds=sum(cost.device_seconds for cost in spent),
            wall_seconds=sum(cost.wall_seconds for cost in spent),
        )

    def _step(self) -> None:
        """One update, its readings, and the evaluations that fall due with it."""
        state, before = self.state, self.state.policy
        step = before.updates + 1
        weights_before = self.learner.policy.weights()
        optimizer = self.learner.spec.optimizer
        spent = fraction_spent(self.budgets, optimizer.schedule.axis, state.cost)
        rate = optimizer.learning_rate * rate_factor(optimizer.schedule, spent)
        result = self._with_engine(lambda: self.learner.update(step, rate))
        after = self._take(step, updates=1)
        state.policy = after
        record_update(self.ledger, result, after)
        closed = readings_of_step(state.open_budgets, before, after)
        crossed = tuple(r.axis for r in closed if r.step == before.updates)
        met = tuple(r.axis for r in closed if r.step == after.updates)
        if crossed:
            self._evaluate_earlier(weights_before, before, step + 1, crossed)
        if self._grid_is_due(after):
            met = ("grid", *met)
            self._advance_grid()
        if met:
            self._evaluate(after, step + 1, met)
        for reading in closed:
            self._record_reading(reading, weights_before if reading.step == before.updates else None)
        self.on_progress(state)

    def _take(self, step: int, updates: int) -> Cost:
        """Close the account of `step`: write its costs and move the run's position on every axis."""
        spent = self.meter.take()
        record_costs(self.ledger, step, spent, self.meter.clock)
        before = self.state.cost
        self.state.cost = before.plus(spent, updates)
        since = self._spent_since_commit
        since[0] += self.state.cost.generated_tokens - before.generated_tokens
        since[1] += self.state.cost.device_seconds - before.device_seconds
        since[2] += sum(cost.wall_seconds for cost in spent.values())
        self.ledger.heartbeat.beat(self.state.cost.updates + 1, int(since[0]), since[1], since[2])
        return self.state.cost

    def _evaluate_earlier(self, weights: Weights, cost: Cost, step: int, occasion: tuple[str, ...]) -> None:
        """Evaluate the policy as it stood before the update that crossed a budget."""
        current = self.learner.policy.weights()
        self._set_weights(weights)
        self._evaluate(cost, step, occasion)
        self._set_weights(current)

    def _set_weights(self, weights: Weights) -> None:
        self.learner.policy.set_weights(weights)
        self.learner.engine.sync()

    def _evaluate(self, cost: Cost, step: int, occasion: tuple[str, ...]) -> None:
        """Evaluate the present policy, whose cost is `cost`, unless that is done; `step` bears the time."""
        due = cost.updates not in self.state.evaluated
        # A point of the curves is measured once; what is read is measured twice if the study asks.
        again = (
            self.study.evaluation.reevaluate
            and set(occasion) != {"grid"}
            and cost.updates not in self.state.reevaluated
        )
        if not due and not again:
            return
        if due:
            results = self._measure("evaluation")
            with self.meter.phase("evaluate", "evaluation"):
                digest = self.learner.policy.digest()
                record_evaluation(self.ledger, results, cost, digest, " ".join(occasion))
            self.state.evaluated.add(cost.updates)
            self._take(step, updates=0)  # an engine that dies later loses only what is not yet written
        if again:
            results = self._measure("re-evaluation")
            read = " ".join(name for name in occasion if name != "grid")
            with self.meter.phase("evaluate", "evaluation"):
                record_reevaluation(self.ledger, results, cost, read)
            self.state.reevaluated.add(cost.updates)
            self._take(step, updates=0)

    def _measure(self, noise: Noise) -> list[BenchmarkResult]:
        """The present policy's samples of every benchmark, graded."""
        most = self.study.evaluation.max_batch
        return self._with_engine(
            lambda: [
                evaluate(
                    task, self.learner.engine, self.meter, self.learner.shape, seed=self.cell.seed,
                    max_batch=most, noise=noise,
                )
                for task in self.benchmarks
            ]
        )  # fmt: skip

    def _record_reading(self, reading: BudgetReading, weights: Weights | None) -> None:
        del self.state.open_budgets[reading.axis]
        self.ledger.append(
            "readings",
            {
                "axis": reading.axis,
                "budget": reading.budget,
                "step": reading.step,
                "cost": reading.cost,
                "crossing_cost": reading.crossing_cost,
            },
        )
        self._kept[f"budget-{reading.axis}.safetensors"] = weights or self.learner.policy.weights()

    def _grid_is_due(self, cost: Cost) -> bool:
        grid = self.study.evaluation.grid
        return grid is not None and cost.on(grid.axis) >= self.state.next_grid

    def _advance_grid(self) -> None:
        grid = self.study.evaluation.grid
        if grid is not None:
            while self.state.next_grid <= self.state.cost.on(grid.axis):
                self.state.next_grid += grid.every

    def _commit(self) -> None:
        """Make everything so far durable: the rows, and the checkpoint that goes with them."""
        with self.meter.phase("checkpoint"):
            weights, kept = self.learner.policy.weights(), self._kept
            state = self.state.to_json(self.learner.selection.state())
            reward = self.learner.reward.tensors()

            def write(folder: Path) -> None:
                save_checkpoint(folder, weights, self.learner.optimizer, state, reward)
                for name, budget_weights in kept.items():
                    save_weights(budget_weights, folder / name)

            self.ledger.commit(self.state.cost.updates, write, keep=tuple(kept))
        self._kept = {}
        self._committed_at = time.monotonic()
        self._spent_since_commit = [0, 0.0, 0.0]
