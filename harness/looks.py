"""The planned looks of a study, as cells: which belong to one, and at which look a study stands."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from harness.cells import Cell, cells_of
from prereg.problems import Problem, Refused
from prereg.stopping import GroupSequential
from prereg.study import Study


@dataclass(frozen=True, slots=True)
class LookState:
    """How far the cells of one planned look are."""

    look: int
    """From 1."""
    seeds: int
    finished: int
    """Cells of the look's seeds that are finished, those of earlier looks included."""
    cells: int

    def __str__(self) -> str:
        how = "complete" if self.finished == self.cells else f"{self.finished} of {self.cells} runs finished"
        return f"look {self.look} (after {self.seeds} seeds): {how}"

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {"complete": self.finished == self.cells}


def cells_until(study: Study, look: int) -> list[Cell]:
    """The cells of a look's seeds. Raises Refused if the study plans no such look."""
    if not isinstance(study.stopping, GroupSequential):
        hint = "Leave `--look` out, or declare `stopping: {kind: group_sequential, ...}` before the lock."
        raise Refused(Problem("--look: the study has a fixed number of seeds and no looks", hint=hint))
    if not 1 <= look <= len(study.looks):
        known = ", ".join(f"{n} (after {one.seeds} seeds)" for n, one in enumerate(study.looks, start=1))
        raise Refused(Problem(f"--look is {look}; the study plans no such look", hint=f"planned: {known}"))
    first = study.seeds[: study.looks[look - 1].seeds]
    return [cell for cell in cells_of(study) if cell.seed in first]


def cells_within(study: Study, look: int | None) -> list[Cell]:
    """All cells of the study, or those of a planned look. Raises Refused if the study plans no such look."""
    return cells_of(study) if look is None else cells_until(study, look)


def look_states(study: Study, finished: Collection[Cell]) -> tuple[LookState, ...]:
    """How far each planned look is; none in a study with a fixed number of seeds."""
    if not isinstance(study.stopping, GroupSequential):
        return ()
    found = []
    for number, look in enumerate(study.looks, start=1):
        cells = cells_until(study, number)
        found.append(LookState(number, look.seeds, len(set(cells) & set(finished)), len(cells)))
    return tuple(found)


def planned_look(study: Study, finished: Collection[Cell], begun: Collection[Cell]) -> int | None:
    """The look before the end that results are seen at: its cells are finished, and no other was begun.

    With a part of the next seeds there, a report shows what the plan did not mean to look at.
    """
    every = set(cells_of(study))
    for state in look_states(study, finished):
        cells = set(cells_until(study, state.look))
        if cells != every and cells == set(finished) and cells >= set(begun):
            return state.look
    return None
