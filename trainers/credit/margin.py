"""MCPO's credit: more of the advantage where the policy hesitated (arXiv 2611.14015).

The hesitation of a token is read from the top-2 margin M = p1 - p2 of the law it was drawn from, in the
forward pass that the loss needs anyway. Two fixed thresholds map it to a score: 1 below `low`, `floor`
above `high`, linear between; the multiplier is the score over its mean in the completion. The abstract
fixes neither the thresholds nor the floor: they are fields of the study.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from trainers.noise import uniform
from trainers.segments import Segments
from trainers.statistics import TokenStatistics


@dataclass(frozen=True, slots=True)
class Margin:
    """Margin-guided credit; `shuffled` permutes the scores within each completion (the placebo)."""

    low: float
    high: float
    floor: float
    shuffled: bool = False

    def multipliers(
        self, statistics: TokenStatistics, segments: Segments, keys: torch.Tensor
    ) -> torch.Tensor:
        """Scores over their completion's mean, shape (tokens,)."""
        scores = self.scores(statistics.margin.detach())
        if self.shuffled:
            scores = scores[_order_within(segments, keys)]
        return scores / segments.mean(scores)[segments.index]

    def scores(self, margin: torch.Tensor) -> torch.Tensor:
        """From margins in [0, 1] to scores in [floor, 1], shape kept."""
        confidence = ((margin - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
        return 1.0 - (1.0 - self.floor) * confidence


def _order_within(segments: Segments, keys: torch.Tensor) -> torch.Tensor:
    """A random permutation of the tokens that keeps each completion's tokens together, int64 (tokens,)."""
    draws = uniform(keys[segments.index], segments.position)
    # Draws lie in (0, 1), so adding the completion's number sorts by completion first.
    return torch.argsort(draws + segments.index.to(torch.float64), stable=True)
