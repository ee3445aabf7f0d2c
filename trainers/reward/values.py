"""The value of every step boundary of an update's completions: how likely a right answer is from there."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Valued:
    """Values of the boundaries of completions; lists run over completions."""

    starts: list[list[int]]
    """First token of each step."""
    values: Rows
    """Of the S steps of a completion, S + 1 values: before the first step, ..., behind the last."""
    valued: npt.NDArray[np.bool_]
    """Whether its values could be had and were wanted, shape (completions,)."""
    continued: Continued | None


def value_steps(setting: Setting, spec: StepValues, rollouts: Draws, *, root: bool) -> Valued:
    """Estimate the values of all boundaries by the study's estimator.

    Behind the last step stands the completion's own outcome. Before the first stands the mean outcome of the
    group's other completions, or, if `root` and the study says so, an estimate like any other.
    """
    with setting.meter.phase("score"):
        results = outcomes(rollouts.grades)
        starts = [
            step_starts(c.token_ids.tolist(), spec.boundaries, setting.engine.texts)
            for c in rollouts.completions
        ]
        wanted = rollouts.graded
        if spec.groups == "informative":
            wanted = wanted & informative(results, rollouts.group_ids)
        first = others_mean(results, rollouts.group_ids)
        values = [
            np.array([v, *[np.nan] * (len(begin) - 1), r])
            for v, begin, r in zip(first, starts, results, strict=True)
        ]
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
        for prefix in prefixes:
            values[prefix.completion][prefix.boundary] = found[prefix]
        failed = {rollouts.groups[p.completion] for p in prefixes if np.isnan(found[p])}
        wanted = wanted & np.array([g not in failed for g in rollouts.groups])
    else:
        with setting.meter.phase("score"):
            for i, begin in enumerate(starts):
                for k, start in enumerate(begin[1:], start=1):
                    values[i][k] = tree_value(rollouts, results, i, start)
    return Valued(starts, values, wanted, continued)


def tree_value(rollouts: Draws, results: Floats, i: int, kept: int) -> float:
    """Mean outcome of the other completions of i's group that begin with its first `kept` tokens.

    Where there is none, i's own outcome: like theirs, an unbiased sample of the value of the prefix, given
    the prefix, so the differences of values leave the expected gradient as it is.
    """
    mine = rollouts.completions[i].token_ids[:kept]
    others = [
        results[j]
        for j, (group, completion) in enumerate(zip(rollouts.groups, rollouts.completions, strict=True))
        if j != i and group == rollouts.groups[i] and np.array_equal(completion.token_ids[:kept], mine)
    ]
    return float(np.mean(others)) if others else float(results[i])
