"""A simulated run's training: lengths, costs and rewards, update by update, until every budget is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.budget import BudgetReading
from harness.cells import Cell
from harness.simulation.world import World, draw_lengths
from prereg.fields import AXES, Axis
from prereg.problems import Problem, Refused
from prereg.study import Study
from prereg.trainer import Trainer

Floats = NDArray[np.float64]

MOST_UPDATES = 100_000
"""A run that needs more is refused: its truth gives almost no tokens or seconds to an update."""

_CHUNK = 128


@dataclass(frozen=True, slots=True)
class Training:
    """What a run did, one entry an update (index 0 is update 1)."""

    lengths: NDArray[np.int32]
    """Tokens of each completion, shape (updates, completions)."""
    rewards: NDArray[np.bool_]
    """Shape (updates, completions)."""
    cap: int
    groups: int
    learning_rate: float
    seconds: Floats
    flops: Floats
    cumulative: Mapping[Axis, Floats]
    """Cost after each update, with that of the start policy first: shape (updates + 1,)."""
    readings: tuple[BudgetReading, ...]
    crashed: bool
    diverged_at: int | None
    """First update whose loss is not finite."""

    @property
    def updates(self) -> int:
        """Updates that were made."""
        return len(self.lengths)

    def effective(self, step: int) -> int:
        """Updates that the policy after `step` has learned from: none once the run has diverged."""
        return step if self.diverged_at is None or step < self.diverged_at else 0


def train(world: World, study: Study, cell: Cell) -> Training:
    """The training of one cell. Raises Refused if the budgets would take too many updates."""
    spec = study.trainer_of(cell.arm)
    drawn = _Drawn(world, study, cell, spec)
    while not drawn.done:
        if drawn.updates >= MOST_UPDATES:
            message = f"the arm `{cell.arm}` does not reach its budgets within {MOST_UPDATES:,} updates"
            raise Refused(
                Problem(message, hint="Let an update cost more in the truth, or lower the budgets.")
            )
        drawn.more()
    return drawn.finish()


class _Drawn:
    """Updates drawn so far."""

    def __init__(self, world: World, study: Study, cell: Cell, spec: Trainer) -> None:
        self._world, self._study, self._cell, self._spec = world, study, cell, spec
        self._arm = world.truth.arms[cell.arm]
        self._random = world.random("training", cell.run_id)
        self._budgets = study.budget.declared()
        self._lengths: list[NDArray[np.int32]] = []
        self._seconds: list[Floats] = []
        self._totals = dict.fromkeys(AXES, 0.0)
        self.updates = 0

    @property
    def done(self) -> bool:
        """Whether every budget is reached."""
        return self.updates > 0 and all(self._totals[axis] >= value for axis, value in self._budgets.items())

    def more(self) -> None:
        """Draw some updates more."""
        spec, cost = self._spec, self._arm.cost
        steps = np.arange(self.updates, self.updates + _CHUNK)
        learned = 1.0 - np.exp(-self._arm.rate * steps)
        shape = (_CHUNK, spec.prompts_per_update * spec.samples_per_prompt)
        lengths = draw_lengths(self._random, self._arm.lengths, learned[:, None], spec.max_new_tokens, shape)
        tokens = lengths.sum(axis=1, dtype=np.int64)
        noise = np.exp(cost.spread * self._random.standard_normal(_CHUNK) - cost.spread**2 / 2)
        seconds = (cost.seconds + cost.seconds_per_token * tokens) * noise
        self._lengths.append(lengths)
        self._seconds.append(seconds)
        self.updates += _CHUNK
        self._totals["updates"] += _CHUNK
        self._totals["generated_tokens"] += float(tokens.sum())
        self._totals["device_seconds"] += float(seconds.sum())
        self._totals["train_flops"] += cost.flops_per_token * float(tokens.sum())

    def finish(self) -> Training:
        """Cut off what was drawn beyond the end of the run, and let it fail if it is to."""
        lengths, seconds = np.concatenate(self._lengths), np.concatenate(self._seconds)
        tokens = lengths.sum(axis=1, dtype=np.int64)
        flops = self._arm.cost.flops_per_token * tokens
        each = {"updates": np.ones(len(tokens)), "generated_tokens": tokens, "device_seconds": seconds,
                "train_flops": flops}  # fmt: skip
        cumulative = {axis: np.concatenate([[0.0], np.cumsum(each[axis])]) for axis in AXES}
        closing = [int(np.searchsorted(cumulative[axis], value)) for axis, value in self._budgets.items()]
        last, crashed, diverged = max(closing), False, None
        chances = self._world.random("failures", self._cell.run_id).random(4)
        if chances[0] < self._arm.failures.crash:
            last, crashed = int(chances[1] * last), True
        if chances[2] < self._arm.failures.divergence and last:
            diverged = 1 + int(chances[3] * last)
        readings = tuple(
            _reading(axis, value, cumulative[axis], close)
            for (axis, value), close in zip(self._budgets.items(), closing, strict=True)
            if close <= last
        )
        return Training(
            lengths[:last],
            self._rewards(lengths[:last], diverged),
            self._spec.max_new_tokens,
            self._spec.prompts_per_update,
            self._spec.optimizer.learning_rate,
            seconds[:last],
            flops[:last],
            {axis: values[: last + 1] for axis, values in cumulative.items()},
            readings,
            crashed,
            diverged,
        )

    def _rewards(self, lengths: NDArray[np.int32], diverged: int | None) -> NDArray[np.bool_]:
        """Right answers, at the mean accuracy over the benchmarks that the policy has before each update."""
        deviation = self._world.deviation(self._cell)
        weights = self._study.weights()
        points = np.unique(np.linspace(0, max(len(lengths), 1), 9))
        curve = [
            sum(
                share * float(self._world.chances(self._cell.arm, name, step, deviation).mean())
                for name, share in weights.items()
            )
            for step in points
        ]
        steps = np.arange(len(lengths))
        chance = np.interp(np.where(steps < (diverged or len(steps) + 1), steps, 0), points, curve)
        right = self._random.random(lengths.shape, dtype=np.float32) < chance[:, None]
        return np.asarray(right & (lengths < self._spec.max_new_tokens))


def _reading(axis: Axis, budget: float, cumulative: Floats, close: int) -> BudgetReading:
    """`harness.budget.readings_of_step` for the update that closed the budget."""
    if cumulative[close] == budget:
        return BudgetReading(axis, budget, close, float(cumulative[close]), None)
    return BudgetReading(axis, budget, close - 1, float(cumulative[close - 1]), float(cumulative[close]))
