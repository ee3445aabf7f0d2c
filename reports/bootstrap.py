"""The crossed bootstrap: seeds and problems drawn anew, for curves and for what has no closed form.

Seeds are drawn once for all benchmarks and both arms, since one run yields them all; problems within each
benchmark; samples never, since their noise is in the scores already. Owen (2007), "The pigeonhole bootstrap".
A replicate is a product: counts of seeds x differences x counts of problems.

All products are of whole numbers below 2^53, hence exact in any order: neither threads nor the way of
blocking can change a bit of a result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import frexp

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

REPLICATES = 9_999
"""The least number that is taken: with it the limits of a 95 % interval are the 250th value from each end."""
FEW_SEEDS = 20
"""Below so many seeds a percentile interval is too narrow; docs/statistics.md has its coverage."""

_AT_ONCE = 500
_WORDS = 4
"""64-bit words that Philox makes of one count."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A linear statistic and its replicates; both in the unit of the differences."""

    estimate: Floats
    """Shape (columns,)."""
    replicates: Floats
    """Shape (B, columns)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """A percentile interval."""

    low: float
    high: float
    error: float
    """Monte-Carlo standard error of a limit, the larger of the two: how far other draws would move it."""


def bootstrap(
    differences: Mapping[str, Floats],
    weights: Mapping[str, float],
    *key: str,
    replicates: int = REPLICATES,
) -> Bootstrap:
    """The weighted mean difference in every column, and its crossed bootstrap.

    `differences[b]` has shape (seeds, problems of b, columns), the columns being points of a curve or other
    linear readings of a run; they are rounded to whole multiples of a power of two (for 5 seeds x 1,500
    problems in percentage points, 2^-33). `weights` sum to 1. `key` names the analysis (study, contrast):
    replicate r is what key and r give, whatever else is computed. Raises ValueError below 9,999 replicates.
    """
    if replicates < REPLICATES:
        raise ValueError(f"a bootstrap takes {REPLICATES:,} replicates or more")
    names = sorted(differences)
    seeds, _, columns = differences[names[0]].shape
    made = np.zeros((replicates, columns))
    estimate = np.zeros(columns)
    for name in names:
        block = differences[name]
        problems = block.shape[1]
        unit = _unit(block)
        whole = np.rint(block / unit)
        share = weights[name] * unit / (seeds * problems)
        estimate += share * whole.sum(axis=(0, 1))
        # Problems first: (replicates x problems) @ (problems x seeds and columns).
        flat = np.ascontiguousarray(whole.transpose(1, 0, 2)).reshape(problems, seeds * columns)
        for start in range(0, replicates, _AT_ONCE):
            some = range(start, min(start + _AT_ONCE, replicates))
            by_seed = (drawn(problems, some, *key, "problems", name) @ flat).reshape(-1, seeds, columns)
            of_seeds = drawn(seeds, some, *key, "seeds")
            made[some.start : some.stop] += share * np.einsum("rs,rsc->rc", of_seeds, by_seed)
    return Bootstrap(estimate, made)


def drawn(count: int, replicates: range, *key: str) -> Floats:
    """How often each of `count` units comes among `count` draws with replacement.

    Shape (replicates, count), of whole numbers. Replicate r owns the r-th stretch of the key's counter.
    """
    digest = hashlib.sha256("\0".join(("crossed bootstrap", *key)).encode()).digest()
    generator = np.random.Philox(key=int.from_bytes(digest[:16], "big"))
    blocks = -(-count // _WORDS)
    generator.advance(replicates.start * blocks)
    rows = len(replicates)
    raw = generator.random_raw(rows * blocks * _WORDS).reshape(rows, blocks * _WORDS)[:, :count]
    unit = (raw % np.uint64(count)).astype(np.int64) + np.arange(rows)[:, None] * count
    return np.bincount(unit.ravel(), minlength=rows * count).reshape(rows, count).astype(np.float64)


def percentile(replicates: Floats, level: float = 0.95) -> Limits:
    """The percentile interval of one statistic, shape (B,): the values of rank (B + 1) (1 -+ level) / 2.

    Replicates may be infinite. The Monte-Carlo error of a limit of rank B q is half the distance between the
    values sqrt(B q (1 - q)) ranks above and below it.
    """
    ordered = np.sort(replicates)
    count = len(ordered)
    tail = (1 - level) / 2
    rank = max(1, round((count + 1) * tail))
    spread = (count * tail * (1 - tail)) ** 0.5
    low, high = rank - 1, count - rank
    errors = [_half_distance(ordered, place, spread) for place in (low, high)]
    return Limits(float(ordered[low]), float(ordered[high]), max(errors))


def p_two_sided(estimate: float, replicates: Floats) -> float:
    """p of the null that the true value is 0: (1 + #) / (B + 1).

    # counts the replicates at least as far from the estimate as the estimate is from 0.
    """
    far = int((np.abs(replicates - estimate) >= abs(estimate)).sum())
    return (1 + far) / (len(replicates) + 1)


def error_of_p(p: float, replicates: int) -> float:
    """Monte-Carlo standard error of a p from so many replicates: sqrt(p (1 - p) / B)."""
    return float((p * (1 - p) / replicates) ** 0.5)


def lead_from(costs: Floats, curves: Floats) -> Floats:
    """The first cost from which each curve of differences stays above 0 up to the last cost.

    `curves` has shape (rows, points), at rising `costs`. Infinite where the last point is not above 0.
    """
    behind = curves <= 0
    points = len(costs)
    last_behind = points - 1 - np.argmax(behind[:, ::-1], axis=1)
    first = np.where(behind.any(axis=1), last_behind + 1, 0)
    return np.asarray(np.append(costs, np.inf)[first])


def _unit(block: Floats) -> float:
    """The power of two in whose multiples sums of so many seeds and problems are exact."""
    largest = float(np.abs(block).max()) * block.shape[0] * block.shape[1]
    return float(2.0 ** (frexp(largest)[1] - 52)) if largest > 0 else 1.0


def _half_distance(ordered: Floats, place: int, ranks: float) -> float:
    reach = max(1, round(ranks))
    below = ordered[max(0, place - reach)]
    above = ordered[min(len(ordered) - 1, place + reach)]
    return 0.0 if below == above else float((above - below) / 2)
