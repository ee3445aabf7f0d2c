"""The exploratory regression against formulas written out apart from it, and where it misleads."""

from __future__ import annotations

import numpy as np
import pytest

from reports.details import Sampled
from reports.regression import clustered_regression, two_way_demeaned
from reports.sections.regression import fit


def test_adjusting_for_length_inverts_the_truth() -> None:
    """L = 2T + U + e, Y = .5L - U + v: direct effect 0, total 1; adjusted, T 1.00 and L 0.00."""
    rng = np.random.Generator(np.random.Philox(3))
    seeds, problems, each = 10, 200, 20
    problem = np.repeat(np.arange(problems), seeds * each)
    seed = np.tile(np.repeat(np.arange(seeds), each), problems)
    rows = len(seed)
    treated = np.tile(np.repeat([0.0, 1.0], each // 2), problems * seeds)
    unseen = rng.normal(size=rows)
    length = 2 * treated + unseen + rng.normal(size=rows)
    y = 0.5 * length - unseen + rng.normal(size=rows)
    adjusted = clustered_regression(y, {"T": treated, "L": length}, problem, seed)
    assert adjusted["T"].estimate == pytest.approx(1.00, abs=0.05)
    assert adjusted["L"].estimate == pytest.approx(0.00, abs=0.02)
    total = clustered_regression(y, {"T": treated}, problem, seed)
    assert total["T"].estimate == pytest.approx(1.00, abs=0.05)


def unadjusted_sandwich(x: np.ndarray, residual: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The middle of the cluster sandwich, by a loop over clusters."""
    meat = np.zeros((x.shape[1], x.shape[1]))
    for group in np.unique(groups):
        score = x[groups == group].T @ residual[groups == group]
        meat += np.outer(score, score)
    return meat


def test_slopes_and_errors_against_dummies_and_a_sandwich_by_hand() -> None:
    """Cameron, Gelbach and Miller (2011): V = V_problem + V_seed - V_both, each with its own correction."""
    rng = np.random.Generator(np.random.Philox(4))
    problem = np.repeat(np.arange(12), 4 * 6)
    seed = np.tile(np.repeat(np.arange(4), 6), 12)
    x = rng.normal(size=(len(seed), 2)) + 0.3 * problem[:, None] / 12
    y = x @ [1.5, -0.5] + rng.normal(size=12)[problem] + rng.normal(size=4)[seed] + rng.normal(size=len(seed))
    found = clustered_regression(y, {"a": x[:, 0], "b": x[:, 1]}, problem, seed)

    dummies = np.column_stack([x, *(problem == i for i in range(12)), *(seed == s for s in range(1, 4))])
    slopes = np.linalg.lstsq(dummies, y, rcond=None)[0]
    assert [found["a"].estimate, found["b"].estimate] == pytest.approx(slopes[:2].tolist(), rel=1e-9)

    residual = y - dummies @ slopes
    design = two_way_demeaned(x, problem, seed)
    bread = np.linalg.inv(design.T @ design)
    rows, slopes_count = design.shape
    variance = np.zeros((2, 2))
    both = problem * 4 + seed
    for sign, groups in ((1, problem), (1, seed), (-1, both)):
        clusters = len(np.unique(groups))
        correction = clusters / (clusters - 1) * (rows - 1) / (rows - slopes_count)
        variance += sign * correction * bread @ unadjusted_sandwich(design, residual, groups) @ bread
    expected = np.sqrt(np.diag(variance))
    assert [found["a"].se, found["b"].se] == pytest.approx(expected.tolist(), rel=1e-6)
    assert found["a"].high - found["a"].estimate == pytest.approx(3.182446 * found["a"].se, rel=1e-6)


def test_rows_that_are_not_balanced_are_refused() -> None:
    with pytest.raises(ValueError, match="not balanced"):
        clustered_regression(
            np.zeros(3), {"a": np.array([0.0, 1.0, 2.0])}, np.array([0, 0, 1]), np.array([0, 1, 1])
        )


def test_an_arm_that_alone_writes_long_cannot_be_told_from_length() -> None:
    problem, seed = np.repeat([0, 1], 8), np.tile(np.repeat([0, 1], 4), 2)
    treated = np.tile([0, 0, 1, 1], 4)
    sampled = Sampled(treated, treated, np.zeros(16, dtype=np.int64), 8 + 8 * treated, problem, seed, 2)
    assert fit(sampled) == "in these samples arm and length cannot be told apart"


def test_a_gain_at_every_length_is_the_arm_and_not_the_spline() -> None:
    """Both arms write alike; the treatment is right more often by 0.3 at every length."""
    rng = np.random.Generator(np.random.Philox(5))
    problem = np.repeat(np.arange(40), 5 * 40)
    seed = np.tile(np.repeat(np.arange(5), 40), 40)
    treated = np.tile(np.repeat([0, 1], 20), 200)
    tokens = rng.integers(8, 64, size=len(seed))
    cut = (tokens > 60).astype(np.int64)
    chance = np.where(cut == 1, 0.0, 0.2 + 0.3 * treated + 0.1 * np.log2(tokens / 8) / 3)
    correct = (rng.random(len(seed)) < chance).astype(np.int64)
    found = fit(Sampled(correct, treated, cut, tokens, problem, seed, 20))
    assert not isinstance(found, str)
    assert found["arm"].estimate == pytest.approx(0.3 * (1 - cut.mean()), abs=0.05)
    assert abs(found["interaction"].estimate) < 0.06
    assert found["truncated"].estimate < -0.3
