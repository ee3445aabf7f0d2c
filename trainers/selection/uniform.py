"""Every prompt once an epoch, in an order of each epoch's own."""

from __future__ import annotations

from trainers.noise import permutation


class UniformSelection:
    """Prompts in seeded random order, without replacement within an epoch.

    The choice depends on the seed and the step alone, so arms with equal seeds see the same prompts.
    """

    def __init__(self, prompts: int, seed: int) -> None:
        if prompts < 1:
            raise ValueError("there are no training prompts")
        self._prompts = prompts
        self._seed = seed
        self._epoch: tuple[int, list[int]] = (-1, [])

    def choose(self, step: int, count: int) -> list[int]:
        """The `count` prompts of update `step` (from 1); an update may straddle two epochs."""
        first = (step - 1) * count
        return [self._at(position) for position in range(first, first + count)]

    def state(self) -> dict[str, object]:
        """Empty: the choice has no memory."""
        return {}

    def load_state(self, state: dict[str, object]) -> None:
        """Accepts only the empty state."""
        if state:
            raise KeyError(f"unknown selection state: {sorted(state)}")

    def _at(self, position: int) -> int:
        epoch, place = divmod(position, self._prompts)
        if self._epoch[0] != epoch:
            self._epoch = (epoch, permutation(self._prompts, self._seed, "prompts", epoch).tolist())
        return self._epoch[1][place]
