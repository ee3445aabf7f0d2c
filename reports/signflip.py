"""The exact sign-flip test of paired differences: all 2^S flips, counted and not sampled.

If the differences are symmetric about the null, each seed's sign is a fair coin, whatever the law of the
sizes. It needs no variance estimate, and its price is a floor: no one-sided p is below 2^-S.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reports.inference import Tails

Floats = NDArray[np.float64]

_TIE = 1e-9
"""Sums nearer to each other than this share of all sizes are equal but for rounding."""


def sign_flip_tails(differences: Sequence[float]) -> Tails:
    """The one-sided tests of `differences`, one a seed (at most 40); NaN without any."""
    values = np.asarray(differences, dtype=np.float64)
    return Tails(lambda null: _share_as_high(values - null), lambda null: _share_as_high(null - values))


def _share_as_high(values: Floats) -> float:
    """The share of all flips whose sum is at least the observed one.

    A flipped sum is a sum over the first half of the seeds plus one over the second. For each of the one, the
    others that suffice are found in order: 2^(S/2) sums are held instead of 2^S.
    """
    if len(values) == 0 or np.isnan(values).any():
        return float("nan")
    middle = len(values) // 2
    some, others = _flipped_sums(values[:middle]), np.sort(_flipped_sums(values[middle:]))
    needed = float(values.sum()) - _TIE * float(np.abs(values).sum()) - some
    enough = len(others) - np.searchsorted(others, needed, side="left")
    return float(int(enough.sum()) / 2 ** len(values))


def _flipped_sums(values: Floats) -> Floats:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums
