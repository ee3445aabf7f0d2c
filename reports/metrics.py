"""avg@n, pass@k and maj@k of sampled answers, computed from integer counts.

Every function speaks of one benchmark: `correct[i]` of `samples[i]` graded samples of problem i are
right. Values are shares in [0, 1]; what cannot be estimated is NaN, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Average:
    """avg@n of one benchmark, with the standard errors of its two readings."""

    mean: float
    """Mean over samples, then problems."""
    se_problems: float
    """Standard error if the problems are a sample of many: sd of the problem means / sqrt(N)."""
    se_fixed: float
    """Standard error of the sampling alone, the problems held fixed; NaN with one sample a problem."""


def average(correct: Counts, samples: Counts) -> Average:
    """avg@n from `correct` and `samples`, both of shape (problems,).

    NaN where a problem has no graded sample. Raises ValueError for counts that cannot be.
    """
    _check(correct, samples)
    problems = len(correct)
    if problems == 0 or (samples == 0).any():
        return Average(float("nan"), float("nan"), float("nan"))
    share = correct / samples
    between = share.std(ddof=1) / np.sqrt(problems) if problems > 1 else float("nan")
    if (samples > 1).all():
        within = np.sqrt((share * (1 - share) / (samples - 1)).sum()) / problems
    else:
        within = float("nan")
    return Average(float(share.mean()), float(between), float(within))


@cache
def pass_at_k(samples: int, correct: int, k: int) -> float:
    """1 - C(n-c, k) / C(n, k): the unbiased estimator of Chen et al. (2021), exact to the last bit.

    NaN (not estimable) if fewer than k samples were graded.
    """
    if k < 1 or not 0 <= correct <= samples:
        raise ValueError(f"pass@{k} of {correct} correct in {samples} samples has no meaning")
    if k > samples:
        return float("nan")
    return float(1 - Fraction(comb(samples - correct, k), comb(samples, k)))


@cache
def pass_at_k_variance(samples: int, correct: int, k: int) -> float:
    """Unbiased variance of `pass_at_k` within a problem, q^2 - C(n-c, 2k) / C(n, 2k); NaN unless 2k <= n."""
    if 2 * k > samples:
        return float("nan")
    q = Fraction(comb(samples - correct, k), comb(samples, k))
    return float(q * q - Fraction(comb(samples - correct, 2 * k), comb(samples, 2 * k)))


def pass_at_k_each(correct: Counts, samples: Counts, k: int) -> Floats:
    """pass@k of each problem, shape (problems,)."""
    _check(correct, samples)
    values = np.empty(len(samples), dtype=np.float64)
    for n in np.unique(samples).tolist():
        here = samples == n
        values[here] = _pass_table(n, k)[correct[here]]
    return values


@cache
def _pass_table(samples: int, k: int) -> Floats:
    """`pass_at_k` by the number of correct samples."""
    return np.array([pass_at_k(samples, correct, k) for correct in range(samples + 1)], dtype=np.float64)


def maj_at_k(votes: Mapping[str, int], gold: str | None, k: int, unanswered: int = 0) -> float:
    """Probability that the majority of k samples, drawn without replacement, is the gold answer.

    `votes` counts samples by the grader's equivalence class, `gold` names the right class, and
    `unanswered` counts samples without an answer: they are drawn, and never win. A tie is shared equally.
    NaN if there are fewer than k samples.
    """
    total = sum(votes.values()) + unanswered
    if k < 1 or min([unanswered, *votes.values()], default=0) < 0:
        raise ValueError("k must be at least 1 and votes cannot be negative")
    if k > total:
        return float("nan")
    right = votes.get(gold, 0) if gold is not None else 0
    rivals = [count for answer, count in sorted(votes.items()) if answer != gold]
    won = sum(
        (
            comb(right, lead) * _shared_wins(rivals, unanswered, lead, k - lead)
            for lead in range(1, min(right, k) + 1)
        ),
        Fraction(0),
    )
    return float(won / comb(total, k))


def _shared_wins(rivals: Sequence[int], unanswered: int, lead: int, rest: int) -> Fraction:
    """Ways to draw `rest` other samples with no rival above `lead`, each worth 1 / (1 + rivals at `lead`)."""
    ways = {(0, 0): 1}
    for count in rivals:
        grown: dict[tuple[int, int], int] = {}
        for (drawn, ties), number in ways.items():
            for take in range(min(count, lead, rest - drawn) + 1):
                key = (drawn + take, ties + (take == lead))
                grown[key] = grown.get(key, 0) + number * comb(count, take)
        ways = grown
    return sum(
        (
            Fraction(number * comb(unanswered, rest - drawn), 1 + ties)
            for (drawn, ties), number in ways.items()
        ),
        Fraction(0),
    )


def _check(correct: Counts, samples: Counts) -> None:
    if correct.shape != samples.shape or correct.ndim != 1:
        raise ValueError("correct and samples must be vectors of one length")
    if (correct < 0).any() or (correct > samples).any():
        raise ValueError("correct samples must lie between 0 and the number of samples")
