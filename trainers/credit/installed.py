"""Credit of one's own, with what it gives checked: nobody reviewed its code before it trains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from prereg.problems import Problem, Refused
from trainers.segments import Segments
from trainers.statistics import TokenStatistics

if TYPE_CHECKING:
    from trainers.credit import CreditMethod

TOLERANCE = 1e-3
"""By how much a completion's mean may differ from 1: above the rounding of float32, below any effect."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A method from an installed package, by the name that the study gives it."""

    name: str
    method: CreditMethod

    def multipliers(
        self, statistics: TokenStatistics, segments: Segments, keys: torch.Tensor
    ) -> torch.Tensor:
        """The method's multipliers, float32 of shape (tokens,), taken without gradient.

        Raises Refused where they are no tensor of that shape, not finite, or not of mean 1 in a completion.
        """
        found = self.method.multipliers(statistics, segments, keys)
        wanted = statistics.logprob.shape
        if not isinstance(found, torch.Tensor):
            raise self._refused(f"gave a {type(found).__name__}", "a tensor")
        if found.shape != wanted:
            raise self._refused(
                f"gave multipliers of shape {tuple(found.shape)} for {len(segments.lengths)} completions",
                f"one multiplier a token, shape {tuple(wanted)}",
            )
        found = found.detach().to(statistics.logprob)
        if not bool(torch.isfinite(found).all()):
            bad = int((~torch.isfinite(found)).sum())
            raise self._refused(
                f"gave {bad} of {len(found)} multipliers that are not finite", "finite numbers"
            )
        means = segments.mean(found)
        worst = int((means - 1).abs().argmax())
        if abs(float(means[worst]) - 1) > TOLERANCE:
            raise self._refused(
                f"gave the {int(segments.lengths[worst])} tokens of a completion multipliers of mean "
                f"{float(means[worst]):.6g}",
                "a mean of 1 within each completion",
                hint="Divide the scores by `segments.mean(scores)[segments.index]`.",
            )
        return found

    def _refused(self, found: str, expected: str, hint: str | None = None) -> Refused:
        message = f"the credit method `{self.name}` {found}; expected: {expected}"
        return Refused(Problem(message, hint=hint or "docs/methods/your-own.md says what a credit gives."))
