"""80/20 credit: only the tokens at which the policy was least sure are trained on (arXiv 2506.01939).

The paper ranks the tokens of a batch; here each completion's own are ranked, so that its credit depends on
no other.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from trainers.segments import Segments
from trainers.statistics import TokenStatistics


@dataclass(frozen=True, slots=True)
class Entropy:
    """The `share` of each completion's tokens with the highest entropy; the others get nothing.

    With `over_kept` the kept ones get n / kept, so that the completion's mean is unchanged; else 1, so that
    it shrinks to the share.
    """

    share: float
    over_kept: bool

    def multipliers(
        self, statistics: TokenStatistics, segments: Segments, keys: torch.Tensor
    ) -> torch.Tensor:
        """0, and one other value a completion, shape (tokens,). Of equal entropies the earlier token wins."""
        entropy = statistics.entropy.detach()
        order = torch.argsort(entropy, descending=True, stable=True)
        order = order[torch.argsort(segments.index[order], stable=True)]
        # `order` holds each completion's tokens together, the most uncertain first.
        rank = torch.empty_like(order)
        rank[order] = segments.position
        count = torch.ceil(self.share * segments.lengths - 1e-9).clamp(min=1)
        kept = (rank < count[segments.index]).to(torch.float32)
        return kept / segments.mean(kept)[segments.index] if self.over_kept else kept
