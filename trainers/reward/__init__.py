"""Reward: what a graded completion is worth, and the advantage of each of its tokens before credit.

`rewards` gives each completion one number, by which groups are informative and prompts are selected. `score`
turns the update's rollouts into token advantages and may spend tokens or passes on it, which it charges.
`score` changes nothing that a later update sees; what a method learns, it learns in `learn`. So a method can
be asked about a batch without training on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch

from prereg.installed import InstalledMethod
from prereg.rewards import (
    FormatOnlyReward,
    ImplicitPrmReward,
    McAdvantageReward,
    McValueHardReward,
    McValueSoftReward,
    Reward,
)
from trainers.advantage import group_advantages, informative
from trainers.draws import Draws
from trainers.installed import load_method
from trainers.setting import Setting
from trainers.types import Grade

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Continued:
    """Continuations of prefixes of rollouts, graded and charged. Lists run over continuations."""

    draws: Draws
    """`groups` and `samples` name the rollout whose prefix is continued, the first where several share it."""
    boundaries: list[int]
    """Step that begins behind the prefix, from 0."""
    kept: list[int]
    """Tokens of the rollout in the prefix."""
    repeats: list[int]
    """Which continuation of its prefix, from 0."""


@dataclass(frozen=True, slots=True)
class Scored:
    """What an update trains on."""

    advantages: Floats
    """Mean over its tokens of each completion's advantage, shape (completions,)."""
    tokens: list[npt.NDArray[np.float32]]
    """The advantage of each token of each completion, before credit."""
    signal: npt.NDArray[np.bool_]
    """Whether a completion is trained on, shape (completions,)."""
    factor: float | None = None
    """By which dense advantages were scaled; None where they are not."""
    mean_steps: float | None = None
    """Steps a completion by the reward's boundaries; None where it has none."""
    continued: Continued | None = field(default=None)
    """The continuations that were drawn for it."""


class RewardMethod:
    """The outcome reward, from which every other differs in what it overrides."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def rewards(self, grades: Sequence[Grade]) -> Floats:
        """Each completion's reward, shape (completions,): 1 for a correct answer, 0 for any other."""
        return outcomes(grades)

    def score(self, rollouts: Draws) -> Scored:
        """Token advantages. Here all tokens of a completion have its group advantage (GRPO)."""
        with self.setting.meter.phase("grade"):
            rewards = self.rewards(rollouts.grades)
            signal = informative(rewards, rollouts.group_ids) & rollouts.graded
            advantages = group_advantages(rewards, rollouts.group_ids, self.setting.spec.advantage)
            advantages = np.where(signal, advantages, 0.0)
        tokens = [
            np.full(len(c.token_ids), a, dtype=np.float32)
            for a, c in zip(advantages, rollouts.completions, strict=True)
        ]
        return Scored(advantages, tokens, signal)

    def learn(self, rollouts: Draws) -> float | None:
        """Learn from the rollouts after they were scored; returns the loss. Most methods learn nothing."""
        return None

    def tensors(self) -> dict[str, torch.Tensor]:
        """What a resumed run needs of what was learned."""
        return {}

    def load_tensors(self, tensors: dict[str, torch.Tensor]) -> None:
        """Take up what `tensors` gave. Raises KeyError where the names are not the method's own."""
        if tensors:
            raise KeyError(f"unknown reward state: {sorted(tensors)[:3]}")


def outcomes(grades: Sequence[Grade]) -> Floats:
    """1 for a correct answer, 0 for any other, shape (completions,)."""
    return np.array([float(grade.state == "correct") for grade in grades])


def build_reward(spec: Reward, setting: Setting) -> RewardMethod:
    """The method for a study file's `reward` section."""
    from trainers.reward.format_only import FormatOnly
    from trainers.reward.implicit_prm import ImplicitPrm
    from trainers.reward.mc_advantage import McAdvantage
    from trainers.reward.mc_value import McValue

    if isinstance(spec, FormatOnlyReward):
        return FormatOnly(setting)
    if isinstance(spec, McAdvantageReward):
        return McAdvantage(setting, spec)
    if isinstance(spec, McValueSoftReward | McValueHardReward):
        return McValue(setting, spec, hard=isinstance(spec, McValueHardReward))
    if isinstance(spec, ImplicitPrmReward):
        return ImplicitPrm(setting, spec)
    if isinstance(spec, InstalledMethod):
        method, settings = load_method("reward", spec)
        built: RewardMethod = method(setting, settings)
        return built
    return RewardMethod(setting)
