"""Selection: which training prompts an update uses.

A method gathers the rollouts of an update, and whatever it samples to choose them. `gather` changes nothing
that a later update sees; what a method learns from the outcome, it learns in `observe`. What it samples is
charged by purpose, by whoever called it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from prereg.installed import InstalledMethod
from prereg.selections import FilterHomogeneousSelection, NearestHalfSelection, Selection
from trainers.draws import Draws, draw
from trainers.installed import load_method
from trainers.noise import permutation
from trainers.setting import Setting
from trainers.types import Grade

RewardsOf = Callable[[Sequence[Grade]], npt.NDArray[np.float64]]
"""The reward of each graded completion."""

Outcome = Literal["nearest", "explored", "passed"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was predicted of a candidate before it was sampled."""

    prompt_id: str
    predicted: float
    """Mean reward, in [0, 1]."""
    evidence: float
    """Samples of this prompt that the prediction rests on, discounted."""
    outcome: Outcome
    """Chosen by the rule, chosen at random, or not chosen."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The rollouts of an update, and what else was sampled for them."""

    rollouts: Draws
    others: tuple[Draws, ...] = ()
    """Screened and discarded sequences: charged, never trained on."""
    predictions: tuple[Prediction, ...] = ()


class SelectionMethod:
    """Uniform: every prompt once an epoch. The others differ in what they override.

    The choice depends on the seed and the step alone, so arms with equal seeds see the same prompts.
    """

    def __init__(self, setting: Setting) -> None:
        if not setting.prompts:
            raise ValueError("there are no training prompts")
        self.setting = setting
        self._epoch: tuple[int, list[int]] = (-1, [])

    def gather(self, step: int) -> Gathered:
        """The rollouts of update `step` (from 1), sampled and graded."""
        chosen = self.in_turn(step, self.setting.spec.prompts_per_update)
        return Gathered(draw(self.setting, step, "rollout", chosen, samples=self._group_size))

    def observe(self, gathered: Gathered) -> None:
        """Learn from an update's outcome."""

    def state(self) -> dict[str, object]:
        """What a resumed run needs, as plain JSON."""
        return {}

    def load_state(self, state: dict[str, object]) -> None:
        """Take up a state. Raises KeyError where its keys are not the method's own."""
        if state:
            raise KeyError(f"unknown selection state: {sorted(state)}")

    def in_turn(self, step: int, count: int) -> list[int]:
        """The `count` prompts (indices) of update `step` in the order of the epochs; may straddle two."""
        first = (step - 1) * count
        return [self._at(position) for position in range(first, first + count)]

    @property
    def _group_size(self) -> int:
        return self.setting.spec.samples_per_prompt

    def _at(self, position: int) -> int:
        prompts = len(self.setting.prompts)
        epoch, place = divmod(position, prompts)
        if self._epoch[0] != epoch:
            self._epoch = (epoch, permutation(prompts, self.setting.seed, "prompts", epoch).tolist())
        return self._epoch[1][place]


def build_selection(spec: Selection, setting: Setting, rewards_of: RewardsOf) -> SelectionMethod:
    """The method for a study file's `selection` section; rewards are those of the study's reward."""
    from trainers.selection.filter_homogeneous import FilterHomogeneous
    from trainers.selection.nearest_half import NearestHalf

    if isinstance(spec, NearestHalfSelection):
        return NearestHalf(setting, spec, rewards_of)
    if isinstance(spec, FilterHomogeneousSelection):
        return FilterHomogeneous(setting, spec, rewards_of)
    if isinstance(spec, InstalledMethod):
        method, settings = load_method("selection", spec)
        built: SelectionMethod = method(setting, settings, rewards_of)
        return built
    return SelectionMethod(setting)
