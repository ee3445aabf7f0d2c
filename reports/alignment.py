"""The numbers of a gradient test: pure functions of token signals, alignments and prompts.

`c` and `a` hold one float64 array a completion, of its tokens; `prompt` numbers each completion's prompt
from 0. The gain of a signal is the mean of c x a over all tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = Sequence[Floats]

REPLICATES = 9_999
PLACEBOS = 200


@dataclass(frozen=True, slots=True)
class Bootstrapped:
    """A difference with its interval under resampling of prompts."""

    estimate: float
    low: float
    high: float
    p: float
    """Two-sided, (1 + #) / (B + 1)."""
    monte_carlo: float
    """Standard error of the interval's ends, from the number of replicates; in units of the estimate."""


@dataclass(frozen=True, slots=True)
class Placebo:
    """The gain of the same signal permuted within each completion, less that of a reference."""

    mean: float
    low: float
    high: float
    """`low` and `high` hold 95 % of the permutations."""


def gain(c: Rows, a: Rows) -> float:
    """Mean of c x a over tokens: the inner product of the candidate's gradient with the direction."""
    return float(np.concatenate([x * y for x, y in zip(c, a, strict=True)]).mean())


def within_correlation(c: Rows, a: Rows) -> float:
    """Correlation of c and a over tokens, each less its completion's mean; NaN where one does not vary."""
    one = np.concatenate([x - x.mean() for x in c])
    other = np.concatenate([y - y.mean() for y in a])
    return _correlation(one, other)


def between_correlation(c: Rows, a: Rows) -> float:
    """Correlation of the completions' means."""
    return _correlation(np.array([x.mean() for x in c]), np.array([y.mean() for y in a]))


def prompt_bootstrap(
    c: Rows, reference: Rows, a: Rows, prompt: Sequence[int], key: int, replicates: int = REPLICATES
) -> Bootstrapped:
    """Gain of `c` less that of `reference`, prompts resampled whole: one draw for both signals.

    Draws come from a counter-based generator under `key`, so every candidate sees the same resamples.
    """
    prompts = int(max(prompt)) + 1
    product, tokens = np.zeros(prompts), np.zeros(prompts)
    for x, r, y, p in zip(c, reference, a, prompt, strict=True):
        product[p] += float(((x - r) * y).sum())
        tokens[p] += len(y)
    generator = np.random.Generator(np.random.Philox(key=key))
    counts = generator.multinomial(prompts, np.full(prompts, 1 / prompts), size=replicates)
    drawn = (counts @ product) / (counts @ tokens)
    low, high = np.quantile(drawn, [0.025, 0.975])
    estimate = float(product.sum() / tokens.sum())
    beyond = int(min((drawn <= 0).sum(), (drawn >= 0).sum()))
    spread = float(drawn.std())
    return Bootstrapped(
        estimate,
        float(low),
        float(high),
        min(1.0, 2 * (1 + beyond) / (replicates + 1)),
        _quantile_error(spread, replicates),
    )


def placebo(c: Rows, reference: Rows, a: Rows, key: int, permutations: int = PLACEBOS) -> Placebo:
    """What each completion's signal gains over `reference` once its values have lost their places.

    Over uniform credit, a credit that only moves a completion's advantage between its tokens gains nothing
    here: 0 lies within `low` and `high`. What is left of another signal lies between completions.
    """
    generator = np.random.Generator(np.random.Philox(key=key))
    base = gain(reference, a)
    gains = [gain([generator.permutation(x) for x in c], a) - base for _ in range(permutations)]
    low, high = np.quantile(gains, [0.025, 0.975])
    return Placebo(float(np.mean(gains)), float(low), float(high))


def _correlation(one: Floats, other: Floats) -> float:
    size = float(
        np.sqrt((one - one.mean()) @ (one - one.mean()) * ((other - other.mean()) @ (other - other.mean())))
    )
    return float((one - one.mean()) @ (other - other.mean())) / size if size > 0 else float("nan")


def _quantile_error(spread: float, replicates: int) -> float:
    """Standard error of a 2.5 % quantile of a normal sample: sqrt(q (1 - q) / B) / density."""
    density = np.exp(-(1.959964**2) / 2) / np.sqrt(2 * np.pi)
    return float(spread * np.sqrt(0.025 * 0.975 / replicates) / density)
