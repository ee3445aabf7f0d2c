"""The wild bootstrap of a mean over few seeds, with Webb's six weights and the null imposed.

Webb (2014), "Reworking wild bootstrap based inference for clustered errors". Each seed is a cluster of one
difference. It is a sensitivity analysis: with three seeds it hardly ever rejects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reports.inference import Tails

Floats = NDArray[np.float64]

WEIGHTS = np.array([-(1.5**0.5), -1.0, -(0.5**0.5), 0.5**0.5, 1.0, 1.5**0.5])
MOST_ENUMERATED = 50_000
"""All 6^S combinations are taken up to this number: up to six seeds."""

_TIE = 1e-9
_WORDS = 4
"""64-bit words that Philox makes of one count."""


def enumerated(seeds: int) -> bool:
    """Whether all combinations of weights are taken, so that no chance is left."""
    return int(6**seeds) <= MOST_ENUMERATED


def wild_bootstrap_tails(differences: Sequence[float], replicates: int, *key: str) -> Tails:
    """The one-sided tests of `differences`, one a seed. NaN without any, or where all equal the null.

    `key` names the analysis (study, hypothesis). Replicate r has the weights that the key and r alone give,
    whatever else is computed and however many replicates there are.
    """
    values = np.asarray(differences, dtype=np.float64)
    seeds = len(values)
    weights = _every(seeds) if enumerated(seeds) else drawn(seeds, replicates, *key)
    return Tails(
        lambda null: _share_as_high(values - null, weights),
        lambda null: _share_as_high(null - values, weights),
    )


def drawn(seeds: int, replicates: int, *key: str) -> Floats:
    """Weights of each replicate, shape (replicates, seeds), by a counter-based generator."""
    digest = hashlib.sha256("\0".join(("wild bootstrap", *key)).encode()).digest()
    generator = np.random.Philox(key=int.from_bytes(digest[:16], "big"))
    words = -(-seeds // _WORDS) * _WORDS
    raw = generator.random_raw(replicates * words).reshape(replicates, words)[:, :seeds]
    return np.asarray(WEIGHTS[(raw % np.uint64(6)).astype(np.intp)])


def _every(seeds: int) -> Floats:
    grid = np.indices((6,) * seeds).reshape(seeds, -1).T
    return np.asarray(WEIGHTS[grid])


def _share_as_high(values: Floats, weights: Floats) -> float:
    """p of the null that the mean is at most 0.

    Where weights were drawn, the data count as one replicate more: (1 + #) / (B + 1).
    """
    if len(values) == 0 or np.isnan(values).any() or not values.any():
        return float("nan")
    observed = _statistic(values[None, :])[0]
    high = int((_statistic(weights * values) >= observed - _TIE).sum())
    return high / len(weights) if enumerated(len(values)) else (1 + high) / (len(weights) + 1)


def _statistic(rows: Floats) -> Floats:
    """sum / root of the sum of squares: it rises with the t statistic, and is finite where sd is 0."""
    return np.asarray(rows.sum(axis=1) / np.sqrt((rows**2).sum(axis=1)))
