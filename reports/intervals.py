"""Intervals over training seeds, and over training seeds and problems together.

A training run yields all benchmarks at once, so the seed is the unit of replication and is never
resampled per benchmark. Differences are paired by seed before they come here. Any unit; the reports use
percentage points. Formulas: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]

SEEDS_ONLY = "new training seeds on these problems"
SEEDS_AND_PROBLEMS = "new training seeds and new problems like these"

_NO_SPREAD = 1e-12
"""Spread below this share of the values' size is rounding, not variation."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its two-sided interval. `low`, `high` and `se` are NaN where not estimable."""

    estimate: float
    low: float
    high: float
    se: float
    df: float
    level: float
    method: str
    generalises_to: str


@dataclass(frozen=True, slots=True)
class Variance:
    """Components of the variance of a crossed design, and the Satterthwaite degrees of freedom."""

    seeds: float
    problems: float
    cells: float
    total: float
    df: float


def paired_t(differences: Floats, level: float = 0.95) -> Interval:
    """mean +- t(S-1) sd / sqrt(S) of `differences`, shape (seeds,).

    Not estimable with fewer than two seeds, or where all seeds gave the same difference: no spread means
    that the seeds did not act, not that the estimate is without error.
    """
    seeds = len(differences)
    estimate = float(np.mean(differences)) if seeds else float("nan")
    se = float(np.std(differences, ddof=1) / np.sqrt(seeds)) if seeds > 1 else float("nan")
    if seeds > 1 and se <= _NO_SPREAD * max(1.0, float(np.abs(differences).max())):
        se = float("nan")
    return _around(estimate, se, seeds - 1, level, "paired t over seeds", SEEDS_ONLY)


def t_over_seeds(values: Floats, level: float = 0.95) -> Interval:
    """The same interval for one arm's `values`, shape (seeds,): of the arm's mean, not of a difference."""
    interval = paired_t(values, level)
    return Interval(
        interval.estimate,
        interval.low,
        interval.high,
        interval.se,
        interval.df,
        level,
        "t over seeds",
        SEEDS_ONLY,
    )


def crossed(differences: Sequence[Floats], weights: Sequence[float], level: float = 0.95) -> Interval:
    """Seeds crossed with problems, problems nested in benchmarks, with Satterthwaite's df.

    `differences[b]` has shape (seeds, problems of b); `weights` sum to 1. Not estimable with fewer than
    two seeds or two problems in a benchmark.
    """
    per_seed = seed_means(differences, weights)
    estimate = float(per_seed.mean())
    variance = crossed_variance(differences, weights)
    return _around(
        estimate,
        float(np.sqrt(variance.total)) if variance.total > 0 else float("nan"),
        variance.df,
        level,
        "seeds × problems, Satterthwaite",
        SEEDS_AND_PROBLEMS,
    )


def seed_means(differences: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """d_s: per seed, the mean over problems, then over benchmarks by weight. Shape (seeds,)."""
    means = [w * block.mean(axis=1) for w, block in zip(weights, differences, strict=True)]
    return np.asarray(np.sum(means, axis=0), dtype=np.float64)


def crossed_variance(differences: Sequence[Floats], weights: Sequence[float]) -> Variance:
    """The variance components of the weighted mean difference; see `crossed`."""
    nan = float("nan")
    seeds = differences[0].shape[0]
    if seeds < 2 or any(block.shape[1] < 2 for block in differences):
        return Variance(nan, nan, nan, nan, nan)
    of_seeds = float(seed_means(differences, weights).var(ddof=1)) / seeds
    of_problems = of_cells = 0.0
    for weight, block in zip(weights, differences, strict=True):
        problems = block.shape[1]
        of_problems += weight**2 * float(block.mean(axis=0).var(ddof=1)) / problems
        residual = block - block.mean(axis=1, keepdims=True) - block.mean(axis=0) + block.mean()
        mean_square = float((residual**2).sum()) / ((seeds - 1) * (problems - 1))
        of_cells += weight**2 * mean_square / (seeds * problems)
    free = sum(block.shape[1] - 1 for block in differences)
    return satterthwaite(of_seeds, of_problems, of_cells, seeds, free)


def satterthwaite(of_seeds: float, of_problems: float, of_cells: float, seeds: int, free: int) -> Variance:
    """V = max(V_s + V_p - V_c, V_s) and its df. `free` is the number of problems less that of benchmarks."""
    total = max(of_seeds + of_problems - of_cells, of_seeds)
    below = of_seeds**2 / (seeds - 1) + of_problems**2 / free + of_cells**2 / ((seeds - 1) * free)
    df = total**2 / below if below > 0 else float("nan")
    return Variance(of_seeds, of_problems, of_cells, total, df)


def _around(estimate: float, se: float, df: float, level: float, method: str, to: str) -> Interval:
    half = float(stdtrit(df, (1 + level) / 2)) * se if se == se else float("nan")
    return Interval(estimate, estimate - half, estimate + half, se, float(df), level, method, to)
