"""Which tokens of a flat tensor belong to which completion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Segments:
    """Completions laid end to end: the tokens of each are contiguous and in order."""

    lengths: torch.Tensor
    """Tokens of each completion, int64 of shape (completions,); all positive."""
    index: torch.Tensor
    """The completion of each token, int64 of shape (tokens,)."""
    position: torch.Tensor
    """The place of each token in its completion, from 0, int64 of shape (tokens,)."""

    @classmethod
    def of(cls, lengths: Sequence[int], device: torch.device | str = "cpu") -> Segments:
        """Segments of the given lengths."""
        sizes = torch.tensor(lengths, dtype=torch.int64, device=device)
        index = torch.repeat_interleave(torch.arange(len(lengths), device=device), sizes)
        starts = torch.cumsum(sizes, 0) - sizes
        position = torch.arange(len(index), device=device) - starts[index]
        return cls(sizes, index, position)

    def mean(self, values: torch.Tensor) -> torch.Tensor:
        """Mean of `values` (tokens,) within each completion, shape (completions,)."""
        total = torch.zeros(len(self.lengths), dtype=values.dtype, device=values.device)
        return total.index_add(0, self.index, values) / self.lengths.to(values.dtype)
