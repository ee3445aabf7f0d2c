"""Credit: how advantages are spread over the tokens of a completion.

A token's advantage is what the reward gives it, times its multiplier. A reward that gives all tokens of a
completion the same is spread, with its mean kept; one that gives each its own is weighed.

A method turns one completion's token statistics into multipliers whose mean over the completion is 1. It
never sees another completion's reward or tokens; a method of one's own is one file here, its parameters in
`prereg.trainer`, and one test.
"""

from __future__ import annotations

from typing import Protocol

import torch

from prereg.installed import InstalledMethod
from prereg.trainer import Credit, EntropyCredit, MarginCredit, ShuffledCredit
from trainers.installed import load_method
from trainers.segments import Segments
from trainers.statistics import TokenStatistics


class CreditMethod(Protocol):
    """Multipliers of the advantage, one a token."""

    def multipliers(
        self, statistics: TokenStatistics, segments: Segments, keys: torch.Tensor
    ) -> torch.Tensor:
        """Float32 of shape (tokens,), without gradient, of mean 1 within each completion.

        A method whose study asks for another denominator (`entropy` over all tokens) has another mean.

        `keys` holds each completion's noise key, int64 of shape (completions,), for methods that draw.
        """


def build_credit(spec: Credit) -> CreditMethod:
    """The method for a study file's `credit` section."""
    from trainers.credit.entropy import Entropy
    from trainers.credit.installed import Installed
    from trainers.credit.margin import Margin
    from trainers.credit.uniform import Uniform

    if isinstance(spec, MarginCredit):
        return Margin(spec.low, spec.high, spec.floor, shuffled=False)
    if isinstance(spec, ShuffledCredit):
        return Margin(spec.low, spec.high, spec.floor, shuffled=True)
    if isinstance(spec, InstalledMethod):
        method, settings = load_method("credit", spec)
        return Installed(spec.name, method(settings))
    if isinstance(spec, EntropyCredit):
        return Entropy(spec.share, over_kept=spec.denominator == "kept")
    return Uniform()
