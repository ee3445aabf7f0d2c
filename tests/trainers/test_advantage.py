"""Advantages: the published conventions differ as much as a doubled learning rate, so each is pinned."""

from __future__ import annotations

import numpy as np
import pytest

from prereg.trainer import Advantage
from trainers.advantage import group_advantages, informative


def half_right(size: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array([1.0, 0.0] * (size // 2)), np.zeros(size, dtype=np.int64)


@pytest.mark.parametrize(
    ("baseline", "scale", "size", "expected"),
    [
        ("mean", "std_population", 4, 1.0),
        ("mean", "std_population", 16, 1.0),
        ("mean", "std_sample", 4, 0.8660254),
        ("mean", "std_sample", 8, 0.9354143),
        ("mean", "std_sample", 16, 0.9682458),
        ("mean", "none", 8, 0.5),
        ("leave_one_out", "none", 4, 0.6666667),
        ("leave_one_out", "none", 8, 0.5714286),
        ("leave_one_out", "none", 16, 0.5333333),
    ],
)
def test_correct_sample_of_a_half_right_group(baseline: str, scale: str, size: int, expected: float) -> None:
    rewards, groups = half_right(size)
    spec = Advantage.model_validate({"baseline": baseline, "scale": scale})
    advantages = group_advantages(rewards, groups, spec)
    assert advantages[0] == pytest.approx(expected, abs=1e-6)
    assert advantages[1] == pytest.approx(-expected, abs=1e-6)


def test_homogeneous_groups_give_exactly_zero() -> None:
    rewards = np.array([0.1] * 3 + [1.0] * 3)
    groups = np.repeat([0, 1], 3)
    assert np.array_equal(group_advantages(rewards, groups, Advantage()), np.zeros(6))


def test_groups_are_found_by_id_and_not_by_stride() -> None:
    rewards = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    groups = np.array([7, 7, 3, 3, 3, 7])
    mean_only = Advantage(baseline="mean", scale="none")
    expected = [1 / 3, -2 / 3, -2 / 3, 1 / 3, 1 / 3, 1 / 3]
    assert group_advantages(rewards, groups, mean_only) == pytest.approx(expected)
    by_stride = rewards.reshape(2, 3) - rewards.reshape(2, 3).mean(axis=1, keepdims=True)
    assert not np.allclose(by_stride.ravel(), expected)


def test_a_group_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="no baseline"):
        group_advantages(np.array([1.0]), np.array([0]), Advantage())


def test_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    rewards, groups = rng.integers(0, 2, 40).astype(float), rng.integers(0, 5, 40)
    order = rng.permutation(40)
    direct = group_advantages(rewards, groups, Advantage())
    assert np.allclose(group_advantages(rewards[order], groups[order], Advantage()), direct[order])


def test_informative_groups_are_those_whose_rewards_differ() -> None:
    rewards = np.array([0.0, 1.0, 1.0, 1.0])
    assert informative(rewards, np.array([0, 0, 1, 1])).tolist() == [True, True, False, False]
