"""The numbers of a gradient test, by hand and against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from reports import alignment

C = [np.array([1.0, 3.0]), np.array([-2.0]), np.array([0.0, 2.0, 4.0])]
A = [np.array([2.0, 0.0]), np.array([1.0]), np.array([1.0, 1.0, 4.0])]


def test_gain_and_correlations_by_hand() -> None:
    assert alignment.gain(C, A) == pytest.approx((2 + 0 - 2 + 0 + 2 + 16) / 6)
    # Within: c - mean = (-1, 1), (0), (-2, 0, 2); a - mean = (1, -1), (0), (-1, -1, 2).
    assert alignment.within_correlation(C, A) == pytest.approx((-2 + 6) / np.sqrt(10 * 8))
    means = np.corrcoef([2, -2, 2], [1, 1, 2])[0, 1]
    assert alignment.between_correlation(C, A) == pytest.approx(means)


def test_the_bootstrap_resamples_prompts_and_not_completions() -> None:
    """Against a loop over resamples; completions taken for independent would give a narrower interval."""
    rng = np.random.Generator(np.random.Philox(1))
    prompt = np.repeat(np.arange(30), 8).tolist()
    shift = rng.normal(size=30)
    c = [rng.normal(size=4) + shift[p] for p in prompt]
    a = [np.ones(4) for _ in prompt]
    zero = [np.zeros(4) for _ in prompt]
    found = alignment.prompt_bootstrap(c, zero, a, prompt, key=9)
    products = np.array([row.sum() for row in c]).reshape(30, 8).sum(axis=1)
    drawn = [products[rng.integers(30, size=30)].sum() / (30 * 32) for _ in range(9_999)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert found.estimate == pytest.approx(alignment.gain(c, a))
    assert (found.low, found.high) == pytest.approx((low, high), abs=6 * found.monte_carlo)
    wrong = alignment.prompt_bootstrap(c, zero, a, list(range(len(c))), key=9)
    assert wrong.high - wrong.low < 0.6 * (found.high - found.low)


def test_a_signal_against_itself_differs_by_nothing() -> None:
    found = alignment.prompt_bootstrap(C, C, A, [0, 1, 2], key=1)
    assert (found.estimate, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_prompts_of_different_lengths_weigh_by_their_tokens() -> None:
    """One prompt with 1 token of gain 4, one with 3 tokens of gain 0: the mean over tokens is 1, not 2."""
    found = alignment.prompt_bootstrap(
        [np.array([4.0]), np.zeros(3)], [np.zeros(1), np.zeros(3)], [np.ones(1), np.ones(3)], [0, 1], key=1
    )
    assert found.estimate == 1
