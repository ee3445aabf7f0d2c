"""The verifiable outcome: right or not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trainers.types import Grade


class OutcomeReward:
    """1 for a correct answer, 0 for any other."""

    def rewards(self, grades: Sequence[Grade]) -> npt.NDArray[np.float64]:
        """Rewards (completions,)."""
        return np.array([float(grade.state == "correct") for grade in grades])
