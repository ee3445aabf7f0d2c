"""The negative control: a reward for an answer that can be read, whatever its value.

An arm that gains from it as much as from the outcome has learned the form and not the task.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trainers.reward import Floats, RewardMethod
from trainers.types import Grade

READ = ("correct", "incorrect")
"""Grader states of an answer that was read."""


class FormatOnly(RewardMethod):
    """1 where the grader read an answer, 0 where it found none or gave it up."""

    def rewards(self, grades: Sequence[Grade]) -> Floats:
        """Rewards (completions,)."""
        return np.array([float(grade.state in READ) for grade in grades])
