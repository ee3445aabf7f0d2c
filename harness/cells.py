"""The cells of a study: arm x model x seed, each one training run with a folder of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.folders import RunFolder
from prereg.problems import Problem, Refused
from prereg.reserve import every_seed
from prereg.study import Study


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One training run."""

    arm: str
    model: str
    seed: int

    @property
    def run_id(self) -> str:
        """Its name in the ledger and on disk."""
        return f"{self.arm}.{self.model}.s{self.seed}"


def cells_of(study: Study, seeds: Sequence[int] | None = None) -> list[Cell]:
    """All cells of the study's seeds, or of `seeds`.

    They come seed by seed, so that a study that is cut short has every arm of its first seeds.
    """
    chosen = study.seeds if seeds is None else seeds
    return [Cell(arm, model, seed) for seed in chosen for model in study.models for arm in study.arms]


def every_cell(study: Study) -> list[Cell]:
    """The cells of the study's seeds, and behind them those of its reserve."""
    return cells_of(study, every_seed(study))


def selected(cells: Sequence[Cell], only: Sequence[str]) -> list[Cell]:
    """The cells that match every filter of `only`, e.g. `arm=mcpo,seed=11`; repeated keys are alternatives.

    Raises Refused for a malformed filter, or one that matches nothing.
    """
    wanted: dict[str, set[str]] = {}
    for part in (piece.strip() for text in only for piece in text.split(",")):
        key, equals, value = part.partition("=")
        if not equals or key not in ("arm", "model", "seed"):
            raise Refused(Problem(f"--only {part!r} is not of the form arm=NAME, model=NAME or seed=NUMBER"))
        known = {str(getattr(cell, key)) for cell in cells}
        if value not in known:
            raise Refused(
                Problem(f"--only {part!r}: there is no such {key}", hint=f"known: {', '.join(sorted(known))}")
            )
        wanted.setdefault(key, set()).add(value)
    return [c for c in cells if all(str(getattr(c, key)) in values for key, values in wanted.items())]


def finished_in(runs: Path, study: Study) -> list[str]:
    """Ids of the cells, those of the reserve included, whose runs are complete under the folder `runs`."""
    return [cell.run_id for cell in every_cell(study) if RunFolder(runs / cell.run_id).finished]
