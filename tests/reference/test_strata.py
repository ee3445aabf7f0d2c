"""Strata of difficulty: the effect that a wrong choice makes of nothing, and that a right one does not."""

from __future__ import annotations

import numpy as np
import pytest

from reports.strata import other_seeds, stratified, stratum_of

PROBLEMS = 200_000
N = 8


@pytest.fixture(scope="module")
def nothing() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Success probabilities, and right answers of 8 of two identical arms: seeds x problems."""
    rng = np.random.Generator(np.random.Philox(7))
    p = rng.beta(0.5, 0.5, size=PROBLEMS)
    return p, rng.binomial(N, p, size=(2, PROBLEMS)), rng.binomial(N, p, size=(2, PROBLEMS))


def uniform() -> np.ndarray:
    return np.full(PROBLEMS, 1 / PROBLEMS)


def test_strata_of_the_compared_samples_show_a_gain_of_two_identical_arms(nothing) -> None:
    """By Beta(.5, .5) and n = 8: 100 * .5 / 9 = 5.556 points where none was right, -5.556 where all."""
    _, treated, control = nothing
    rate = control / N
    cuts = (0.5 / N, 1 - 0.5 / N)
    wrong = stratified([100 * (treated - control) / N], [stratum_of(rate, cuts)], uniform(), cuts)
    assert wrong.strata[0].effect is not None
    assert wrong.strata[2].effect is not None
    assert wrong.strata[0].effect.estimate == pytest.approx(5.556, abs=0.1)
    assert wrong.strata[2].effect.estimate == pytest.approx(-5.556, abs=0.1)


@pytest.mark.parametrize("source", ["base_model", "other_seeds", "cross_fit"])
def test_strata_of_other_samples_show_nothing(nothing, source: str) -> None:
    p, treated, control = nothing
    cuts = (0.25, 0.75)
    rng = np.random.Generator(np.random.Philox(8))
    if source == "cross_fit":
        half_t, half_c = (
            rng.hypergeometric(treated, N - treated, 4),
            rng.hypergeometric(control, N - control, 4),
        )
        rest_t, rest_c = treated - half_t, control - half_c
        found = stratified(
            [25.0 * (rest_t - rest_c), 25.0 * (half_t - half_c)],
            [stratum_of(half_c / 4, cuts), stratum_of(rest_c / 4, cuts)],
            uniform(),
            cuts,
        )
    else:
        drawn = control if source == "other_seeds" else rng.binomial(N, p, size=(2, PROBLEMS))
        rate = other_seeds(drawn, np.full_like(drawn, N))
        found = stratified([100 * (treated - control) / N], [stratum_of(rate, cuts)], uniform(), cuts)
    assert all(one.effect is not None and abs(one.effect.estimate) < 0.25 for one in found.strata)
    assert found.interaction is not None
    assert abs(found.interaction.estimate) < 0.35


def test_effects_and_interaction_by_hand() -> None:
    """Two seeds, four problems: the hard two gain 10 and 20, the easy two 0 and 4."""
    difference = np.array([[10.0, 20.0, 0.0, 4.0], [14.0, 20.0, 2.0, 4.0]])
    strata = np.array([[0, 0, 1, 1], [0, 0, 1, 1]])
    found = stratified([difference], [strata], np.array([0.3, 0.1, 0.3, 0.3]), (0.5,))
    hard, easy = found.strata
    assert hard.effect is not None
    assert easy.effect is not None
    assert hard.effect.estimate == pytest.approx(((30 * 10 + 10 * 20) / 40 + (30 * 14 + 10 * 20) / 40) / 2)
    assert easy.effect.estimate == pytest.approx((2 + 3) / 2)
    assert (hard.problems, easy.problems) == (2, 2)
    assert found.interaction is not None
    assert found.interaction.estimate == pytest.approx((12.5 - 2 + 15.5 - 3) / 2)
    assert found.interaction.df == 1


def test_a_stratum_that_a_seed_leaves_empty_has_no_effect() -> None:
    found = stratified([np.ones((2, 2))], [np.array([[0, 1], [1, 1]])], np.array([0.5, 0.5]), (0.5,))
    assert found.strata[0].effect is None
    assert found.interaction is None


def test_a_rate_at_a_cut_point_is_of_the_easier_side() -> None:
    assert stratum_of(np.array([0.0, 0.25, 0.5, 0.75, 1.0]), (0.25, 0.75)).tolist() == [0, 1, 1, 2, 2]


def test_other_seeds_leave_out_their_own() -> None:
    correct, samples = np.array([[4, 0], [2, 1], [0, 2]]), np.full((3, 2), 4)
    assert other_seeds(correct, samples).tolist() == [[0.25, 0.375], [0.5, 0.25], [0.75, 0.125]]
