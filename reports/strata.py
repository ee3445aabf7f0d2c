"""Where a method helps: the paired difference within strata of difficulty that do not fake a gain.

If a problem is called hard because the control failed on it in the very samples that are compared, its
next score is higher for any method, the control included: with p ~ Beta(.5, .5), the stratum `0 of 8 right`
shows two identical methods 5.6 points apart. Here difficulty always comes from samples that do not enter
the difference. Percentage points where the scores are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reports.intervals import Interval, paired_t

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stratum:
    """One range of success rates."""

    low: float
    high: float
    problems: float
    """Mean over seeds of the number of problems in it."""
    effect: Interval | None
    """Paired t over seeds; None where a seed has no problem here."""


@dataclass(frozen=True, slots=True)
class Stratified:
    """Effects by stratum, from hard to easy, and the one test that they allow."""

    strata: tuple[Stratum, ...]
    interaction: Interval | None
    """Effect in the hardest stratum less that in the easiest, paired t over seeds."""


def stratum_of(rate: Floats, cuts: Sequence[float]) -> Ints:
    """The stratum of each success rate, 0 the hardest; a rate at a cut point is of the easier side."""
    return np.asarray(np.searchsorted(np.asarray(cuts), rate, side="right"), dtype=np.int64)


def other_seeds(correct: Ints, samples: Ints) -> Floats:
    """For each seed the success rate in the samples of all other seeds; both (seeds, problems), two seeds at
    least."""
    right, drawn = correct.sum(axis=0) - correct, samples.sum(axis=0) - samples
    return np.asarray(right / drawn, dtype=np.float64)


def stratified(
    differences: Sequence[Floats], strata: Sequence[Ints], weights: Floats, cuts: Sequence[float]
) -> Stratified:
    """The effect within each stratum.

    `differences` holds one array (seeds, problems) for each direction (two under cross-fitting, else one),
    and `strata` one array of the same shape beside each, whose samples are not in that difference. `weights`
    (problems,) sum to 1. A direction's effect in a seed is the weighted mean over the stratum's problems;
    directions are averaged within the seed, and seeds are the units of the interval.
    """
    edges = (0.0, *cuts, 1.0)
    directions = list(zip(differences, strata, strict=True))
    per_seed = np.array(
        [
            np.mean([_means(d, s, weights, index) for d, s in directions], axis=0)
            for index in range(len(cuts) + 1)
        ]
    )
    found = tuple(
        Stratum(
            edges[index],
            edges[index + 1],
            float(np.mean([(s == index).sum(axis=1).mean() for _, s in directions])),
            None if np.isnan(effects).any() else paired_t(effects),
        )
        for index, effects in enumerate(per_seed)
    )
    contrast = per_seed[0] - per_seed[-1]
    return Stratified(found, None if np.isnan(contrast).any() else paired_t(contrast))


def _means(difference: Floats, strata: Ints, weights: Floats, index: int) -> Floats:
    """Weighted mean difference of each seed within a stratum, shape (seeds,); NaN where it is empty."""
    inside = strata == index
    mass = (inside * weights).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((difference * inside * weights).sum(axis=1) / mass, dtype=np.float64)
