"""The registered test of a hypothesis as its two tails."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from prereg.hypotheses import Hypothesis
from prereg.testkinds import SignFlip
from reports.inference import Tails, t_tails
from reports.intervals import Interval
from reports.signflip import sign_flip_tails


def registered_tails(hypothesis: Hypothesis, effect: Interval, per_seed: Sequence[float]) -> Tails:
    """The tails of the test that a hypothesis registers; `per_seed` are its paired differences.

    Seeds that gave one and the same difference did not act: that is no evidence by any test, and p is NaN.
    """
    if isinstance(hypothesis.test, SignFlip) and not isnan(effect.se):
        return sign_flip_tails(per_seed)
    return t_tails(effect)
