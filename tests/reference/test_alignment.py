"""The numbers of a gradient test, by hand and against brute force."""

from __future__ import annotations

import itertools

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


def test_the_placebo_against_all_permutations() -> None:
    """The mean over every permutation of every completion; a credit of mean 1 gains nothing over uniform."""
    advantage = [2.0, -1.0, 0.5]
    multipliers = [np.array([0.5, 1.5]), np.array([1.0]), np.array([0.3, 0.6, 2.1])]
    c = [x * m for x, m in zip(advantage, multipliers, strict=True)]
    uniform = [x * np.ones_like(m) for x, m in zip(advantage, multipliers, strict=True)]
    every = [
        alignment.gain([np.array(row) for row in rows], A) - alignment.gain(uniform, A)
        for rows in itertools.product(*(itertools.permutations(row) for row in c))
    ]
    assert np.mean(every) == pytest.approx(0, abs=1e-12)
    found = alignment.placebo(c, uniform, A, key=3, permutations=4_000)
    assert found.mean == pytest.approx(0, abs=4 * np.std(every) / np.sqrt(4_000))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(every, [0.025, 0.975])))
    # A signal of another mean keeps what lies between completions: 2 x uniform gains uniform's gain.
    doubled = alignment.placebo([2 * row for row in uniform], uniform, A, key=3)
    assert doubled.mean == doubled.low == doubled.high == alignment.gain(uniform, A)
