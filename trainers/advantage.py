"""From the rewards of a group to the advantages of its completions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from prereg.trainer import Advantage

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def group_advantages(rewards: Floats, groups: Ints, spec: Advantage) -> Floats:
    """Advantages (completions,) from `rewards` (completions,) and the group id of each.

    Groups are found by id, whatever their order or size. In a group of n, `mean` subtracts the group's
    mean and `leave_one_out` the mean of the other n - 1 (which is n / (n - 1) times as large);
    `std_population` and `std_sample` divide by the group's standard deviation. No constant is added to
    the deviation: a group of equal rewards gives exactly 0, and any other has a positive one. Raises
    ValueError for a group of one.
    """
    advantages = np.zeros(len(rewards), dtype=np.float64)
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        if len(members) < 2:
            raise ValueError(f"group {group} has a single completion: it has no baseline")
        values = rewards[members]
        if np.all(values == values[0]):
            continue
        centred = values - values.mean()
        if spec.baseline == "leave_one_out":
            centred = centred * len(members) / (len(members) - 1)
        if spec.scale != "none":
            centred = centred / values.std(ddof=1 if spec.scale == "std_sample" else 0)
        advantages[members] = centred
    return advantages


def informative(rewards: Floats, groups: Ints) -> npt.NDArray[np.bool_]:
    """Whether each completion's group has rewards that differ, shape (completions,)."""
    low: dict[int, float] = {}
    high: dict[int, float] = {}
    for reward, group in zip(rewards.tolist(), groups.tolist(), strict=True):
        low[group] = min(reward, low.get(group, reward))
        high[group] = max(reward, high.get(group, reward))
    return np.array([low[g] != high[g] for g in groups.tolist()], dtype=np.bool_)
