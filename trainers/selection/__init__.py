"""Selection: which training prompts an update uses."""

from __future__ import annotations

from typing import Protocol

from prereg.trainer import Selection


class SelectionMethod(Protocol):
    """Chooses prompts by index into the training set, as a function of seed, step and its own state."""

    def choose(self, step: int, count: int) -> list[int]:
        """`count` indices for update `step` (from 1)."""

    def state(self) -> dict[str, object]:
        """What a resumed run needs, as plain JSON."""

    def load_state(self, state: dict[str, object]) -> None:
        """Take up a state; raises KeyError where its keys are not the method's own."""


def build_selection(spec: Selection, *, prompts: int, seed: int) -> SelectionMethod:
    """The method for a study file's `selection` section, over a training set of `prompts`."""
    from trainers.selection.uniform import UniformSelection

    return UniformSelection(prompts, seed)
