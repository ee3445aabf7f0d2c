"""Math-Shepherd's step values through process supervision (arXiv 2312.08935, and 2402.03300 for the latter).

A step's value is that of the place behind it: the share of its continuations that are right (soft), or 1 if
any is (hard). The last step's is the outcome.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from prereg.rewards import McValueHardReward, McValueSoftReward
from trainers.draws import Draws
from trainers.reward import RewardMethod, Scored
from trainers.reward.dense import Rows, finished, outcome_rows, permuted, spread
from trainers.reward.values import value_steps
from trainers.setting import Setting


class McValue(RewardMethod):
    """A token's advantage is the outcome's, and the later steps' centred values over the number of steps."""

    def __init__(self, setting: Setting, spec: McValueSoftReward | McValueHardReward, *, hard: bool) -> None:
        super().__init__(setting)
        self._spec = spec
        self._hard = hard

    def score(self, rollouts: Draws) -> Scored:
        """Token advantages."""
        found = value_steps(self.setting, self._spec, rollouts, root=False)
        steps = found.behind
        if self._hard:
            steps = [(values > 0).astype(np.float64) for values in steps]
        if self._spec.shuffled:
            steps = permuted(steps, rollouts, self.setting.seed)
        plain = outcome_rows(rollouts, self.setting.spec.advantage)
        later = later_values(steps, rollouts.group_ids)
        total = [row + a for row, a in zip(later, plain, strict=True)]
        tokens = spread(total, found.starts, [len(c.token_ids) for c in rollouts.completions])
        return finished(
            tokens, rollouts, found.valued, self.setting.spec.advantage, rescaled=self._spec.rescaled,
            starts=found.starts, continued=found.continued,
        )  # fmt: skip


def later_values(steps: Rows, groups: npt.NDArray[np.int64]) -> Rows:
    """For each step: the values of it and all later ones, centred, summed, over the number of steps.

    A value is centred by the mean over all steps of its group.
    """
    result: Rows = list(steps)
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        centre = np.concatenate([steps[i] for i in members]).mean()
        for i in members:
            result[i] = np.cumsum((steps[i] - centre)[::-1])[::-1] / len(steps[i])
    return result
