"""VinePPO's advantage: what a step adds to the chance of a right answer (arXiv 2410.01679)."""

from __future__ import annotations

from prereg.rewards import McAdvantageReward
from trainers.draws import Draws
from trainers.reward import RewardMethod, Scored
from trainers.reward.dense import finished, permuted, spread
from trainers.reward.values import value_steps
from trainers.setting import Setting


class McAdvantage(RewardMethod):
    """A token's advantage is the value behind its step less the value before it."""

    def __init__(self, setting: Setting, spec: McAdvantageReward) -> None:
        super().__init__(setting)
        self._spec = spec

    def score(self, rollouts: Draws) -> Scored:
        """Token advantages. By continuations, the steps of a completion sum to its outcome less the value of
        its prompt."""
        found = value_steps(self.setting, self._spec, rollouts, root=True)
        steps = [behind - before for before, behind in zip(found.before, found.behind, strict=True)]
        if self._spec.shuffled:
            steps = permuted(steps, rollouts, self.setting.seed)
        tokens = spread(steps, found.starts, [len(c.token_ids) for c in rollouts.completions])
        return finished(
            tokens, rollouts, found.valued, self.setting.spec.advantage, rescaled=self._spec.rescaled,
            starts=found.starts, continued=found.continued,
        )  # fmt: skip
