"""DAPO's dynamic sampling: only groups whose rewards differ are trained on (Yu et al., 2025, 2503.14476).

The first round uses the prompts that uniform selection would use, so that arms with equal seeds share them;
each further round draws as many others as groups are missing. What is thrown away was generated for
training, and is charged as `discarded`.
"""

from __future__ import annotations

import numpy as np

from prereg.selections import FilterHomogeneousSelection
from trainers.advantage import informative
from trainers.draws import Draws, draw, joined
from trainers.noise import permutation
from trainers.selection import Gathered, RewardsOf, SelectionMethod
from trainers.setting import Setting


class FilterHomogeneous(SelectionMethod):
    """Rounds of sampling until there are enough informative groups, or `max_rounds` are done."""

    def __init__(self, setting: Setting, spec: FilterHomogeneousSelection, rewards_of: RewardsOf) -> None:
        super().__init__(setting)
        self._spec = spec
        self._rewards_of = rewards_of

    def gather(self, step: int) -> Gathered:
        """The first informative groups; where the rounds end before, the first others fill the update."""
        wanted = self.setting.spec.prompts_per_update
        chosen = self.in_turn(step, wanted)
        spare = self._spare(step, chosen)
        parts: list[Draws] = []
        begun = found = 0
        for _ in range(self._spec.max_rounds):
            part = draw(self.setting, step, "rollout", chosen, samples=self._group_size, first_group=begun)
            parts.append(part)
            begun += len(chosen)
            found += self._informative_groups(part)
            chosen = [spare.pop() for _ in range(min(wanted - found, len(spare)))]
            if not chosen:
                break
        return self._parted(joined(parts), wanted)

    def _spare(self, step: int, used: list[int]) -> list[int]:
        """All other prompts in an order of the step's own, the first to be used last."""
        order = permutation(len(self.setting.prompts), self.setting.seed, "further prompts", step).tolist()
        return [i for i in reversed(order) if i not in set(used)]

    def _useful(self, draws: Draws) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        rewards = self._rewards_of(draws.grades)
        useful: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
            informative(rewards, draws.group_ids) & draws.graded
        )
        return useful

    def _informative_groups(self, draws: Draws) -> int:
        return len(set(draws.group_ids[self._useful(draws)].tolist()))

    def _parted(self, draws: Draws, wanted: int) -> Gathered:
        useful = self._useful(draws)
        groups = list(dict.fromkeys(draws.groups))
        has_signal = dict(zip(draws.groups, useful.tolist(), strict=True))
        kept = set(sorted(groups, key=lambda g: (not has_signal[g], g))[:wanted])
        inside = [i for i, g in enumerate(draws.groups) if g in kept]
        outside = [i for i, g in enumerate(draws.groups) if g not in kept]
        discarded = (draws.where(outside, "discarded"),) if outside else ()
        return Gathered(draws.where(inside, "rollout"), discarded)
