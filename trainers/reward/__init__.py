"""Reward: what a graded completion is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from prereg.trainer import Reward
from trainers.types import Grade


class RewardMethod(Protocol):
    """Turns grades into rewards."""

    def rewards(self, grades: Sequence[Grade]) -> npt.NDArray[np.float64]:
        """Rewards (completions,)."""


def build_reward(spec: Reward) -> RewardMethod:
    """The method for a study file's `reward` section."""
    from trainers.reward.outcome import OutcomeReward

    return OutcomeReward()
