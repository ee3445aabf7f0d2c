"""What dense rewards share: the size of their advantages, the placebo, and which groups are valued."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from prereg.trainer import Advantage
from trainers.advantage import group_advantages
from trainers.draws import Draws
from trainers.noise import permutation
from trainers.reward import Continued, Floats, Scored, outcomes

Rows = list[Floats]
"""One array a completion: of its tokens, or of its steps."""


def finished(
    tokens: Rows, rollouts: Draws, valued: npt.NDArray[np.bool_], spec: Advantage, *, rescaled: bool,
    starts: Sequence[Sequence[int]] | None = None, continued: Continued | None = None,
) -> Scored:  # fmt: skip
    """Token advantages as an update uses them; completions that are not `valued` have none.

    With `rescaled` the mean |A| over all tokens of the update becomes that of GRPO (by `spec`) on the same
    completions. Where GRPO has no signal, nothing has.
    """
    rows = [row if keep else np.zeros_like(row) for row, keep in zip(tokens, valued, strict=True)]
    factor = scale_to(rows, grpo_rows(rollouts, spec)) if rescaled else 1.0
    rows = [factor * row for row in rows]
    return Scored(
        advantages=np.array([row.mean() for row in rows]),
        tokens=[row.astype(np.float32) for row in rows],
        signal=np.array([bool(row.any()) for row in rows]),
        factor=factor,
        mean_steps=float(np.mean([len(begin) for begin in starts])) if starts is not None else None,
        continued=continued,
    )


def grpo_rows(rollouts: Draws, spec: Advantage) -> Rows:
    """GRPO's advantage of every token of the outcome reward; 0 in groups on which the grader failed."""
    advantages = group_advantages(outcomes(rollouts.grades), rollouts.group_ids, spec)
    advantages = np.where(rollouts.graded, advantages, 0.0)
    return [np.full(len(c.token_ids), a) for a, c in zip(advantages, rollouts.completions, strict=True)]


def scale_to(rows: Rows, wanted: Rows) -> float:
    """The factor that gives `rows` the mean absolute value of `wanted`; 1 where they are all 0."""
    size = float(np.abs(np.concatenate(rows)).mean())
    return float(np.abs(np.concatenate(wanted)).mean()) / size if size > 0 else 1.0


def outcome_rows(rollouts: Draws, spec: Advantage) -> Floats:
    """Outcome advantages (completions,) by the baseline of `spec`, not divided by a deviation."""
    plain = Advantage(baseline=spec.baseline, scale="none")
    return group_advantages(outcomes(rollouts.grades), rollouts.group_ids, plain)


def permuted(rows: Rows, rollouts: Draws, seed: int) -> Rows:
    """Each row in a random order of its own, which depends on (seed, step, prompt, group, sample) alone."""
    names = zip(rollouts.prompts, rollouts.groups, rollouts.samples, strict=True)
    return [
        row[permutation(len(row), seed, "placebo", rollouts.step, prompt.id, group, sample)]
        for row, (prompt, group, sample) in zip(rows, names, strict=True)
    ]


def spread(rows: Rows, starts: Sequence[Sequence[int]], lengths: Sequence[int]) -> Rows:
    """From one value a step to one a token."""
    return [
        np.repeat(row, np.diff([*begin, length]))
        for row, begin, length in zip(rows, starts, lengths, strict=True)
    ]


def others_mean(values: Floats, groups: npt.NDArray[np.int64]) -> Floats:
    """The mean of the other members of each value's group, shape kept."""
    result = np.empty_like(values)
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        result[members] = (values[members].sum() - values[members]) / (len(members) - 1)
    return result
