"""GRPO's credit: every token gets the completion's advantage (Shao et al., 2024, arXiv 2402.03300)."""

from __future__ import annotations

import torch

from trainers.segments import Segments
from trainers.statistics import TokenStatistics


class Uniform:
    """A multiplier of 1 for every token."""

    def multipliers(
        self, statistics: TokenStatistics, segments: Segments, keys: torch.Tensor
    ) -> torch.Tensor:
        """Ones of shape (tokens,)."""
        return torch.ones_like(statistics.logprob)
