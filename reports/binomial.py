"""k of m predictions: the exact binomial test and the interval of Clopper and Pearson (1934)."""

from __future__ import annotations

from math import comb

from scipy.special import betaincinv


def at_least(right: int, of: int) -> float:
    """P(X >= right) of `of` fair coins."""
    return float(sum(comb(of, k) for k in range(right, of + 1)) / 2**of)


def at_most(right: int, of: int) -> float:
    """P(X <= right) of `of` fair coins."""
    return at_least(of - right, of)


def clopper_pearson(right: int, of: int, level: float = 0.95) -> tuple[float, float]:
    """The exact two-sided interval of a share."""
    tail = (1 - level) / 2
    low = float(betaincinv(right, of - right + 1, tail)) if right > 0 else 0.0
    high = float(betaincinv(right + 1, of - right, 1 - tail)) if right < of else 1.0
    return low, high
