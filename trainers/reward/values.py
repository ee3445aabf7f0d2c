"""The value of every step boundary of an update's completions: how likely a right answer is from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from prereg.rewards import Continuations, StepValues
from trainers.advantage import informative
from trainers.draws import Draws
from trainers.reward import Continued, Floats, outcomes
from trainers.reward.continuations import Prefix, continue_prefixes
from trainers.reward.dense import Rows, others_mean
from trainers.setting import Setting
from trainers.steps import step_starts

CACHED_TEXTS = 1 << 16
"""Texts of neighbouring tokens that are remembered within an update."""


@dataclass(frozen=True, slots=True)
class Valued:
    """Values of the boundaries of completions; lists run over completions."""

    starts: list[list[int]]
    """First token of each step."""
    before: Rows
    """The value of the place before each step."""
    behind: Rows
    """The value of the place behind each step; behind the last stands the completion's own outcome."""
    valued: npt.NDArray[np.bool_]
    """Whether its values could be had and were wanted, shape (completions,)."""
    continued: Continued | None


def value_steps(setting: Setting, spec: StepValues, rollouts: Draws, *, root: bool) -> Valued:
    """Estimate the values of all boundaries by the study's estimator.

    Before the first step stands the mean outcome of the group's other completions, or, if `root` and the
    study says so, an estimate like any other.
    """
    with setting.meter.phase("score"):
        results = outcomes(rollouts.grades)
        text_of = lru_cache(CACHED_TEXTS)(lambda ids: setting.engine.texts([ids])[0])
        starts = [step_starts(c.token_ids.tolist(), spec.boundaries, text_of) for c in rollouts.completions]
        wanted = rollouts.graded
        if spec.groups == "informative":
            wanted = wanted & informative(results, rollouts.group_ids)
        first = others_mean(results, rollouts.group_ids)
        values = [
            np.array([v, *[np.nan] * (len(begin) - 1), r])
            for v, begin, r in zip(first, starts, results, strict=True)
        ]
    before = [row[:-1] for row in values]
    behind = [row[1:] for row in values]
    continued = None
    if isinstance(spec.estimator, Continuations):
        sampled_root = root and spec.estimator.root == "continuations"
        prefixes = [
            Prefix(i, k, start)
            for i in np.flatnonzero(wanted).tolist()
            for k, start in enumerate(starts[i])
            if k or sampled_root
        ]
        found, continued = continue_prefixes(setting, spec.estimator, rollouts, prefixes)
        for prefix in prefixes:  # `before` and `behind` are views
            values[prefix.completion][prefix.boundary] = found[prefix]
        failed = {rollouts.groups[p.completion] for p in prefixes if np.isnan(found[p])}
        wanted = wanted & np.array([g not in failed for g in rollouts.groups])
    else:
        with setting.meter.phase("score"):
            tree = [tree_values(rollouts, results, i, begin[1:]) for i, begin in enumerate(starts)]
            before = [np.array([v, *b]) for v, (b, _) in zip(first, tree, strict=True)]
            behind = [np.array([*b, r]) for r, (_, b) in zip(results, tree, strict=True)]
    return Valued(starts, before, behind, wanted, continued)


def tree_values(
    rollouts: Draws, results: Floats, i: int, kept: Sequence[int]
) -> tuple[list[float], list[float]]:
    """Values of i's prefixes of `kept` tokens each, ascending: as a baseline, and as a target.

    Both are the mean outcome of the group's other completions that begin with the prefix. Where there is
    none, the target is i's own outcome, which is an unbiased sample of the value. As a baseline of what i did
    next it would not do, since it depends on that; the baseline is then that of the longest shared prefix.
    """
    mine = rollouts.completions[i].token_ids
    others = [j for j, g in enumerate(rollouts.groups) if g == rollouts.groups[i] and j != i]
    baselines, targets = [], []
    baseline = float(results[others].mean())
    for length in kept:
        others = [j for j in others if _begins(rollouts.completions[j].token_ids, mine[:length])]
        if others:
            baseline = float(results[others].mean())
        baselines.append(baseline)
        targets.append(baseline if others else float(results[i]))
    return baselines, targets


def _begins(tokens: npt.NDArray[np.int32], prefix: npt.NDArray[np.int32]) -> bool:
    return np.array_equal(tokens[: len(prefix)], prefix)
