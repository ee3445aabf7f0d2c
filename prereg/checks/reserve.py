"""Reserve seeds must be such as nobody has seen and no other run uses."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.problems import Problem
from prereg.source import LoadedStudy


def reserve_is_fresh(loaded: LoadedStudy) -> Iterator[Problem]:
    """A reserve seed stands once, is none of the study's own, and was not used by a pilot."""
    study = loaded.study
    for position, seed in enumerate(study.reserve_seeds):
        path = ("reserve_seeds", position)
        if seed in study.reserve_seeds[:position]:
            hint = "Name each seed once: it can take one place."
            yield loaded.problem(f"the reserve seed {seed} stands twice", *path, hint=hint)
        elif seed in study.seeds:
            message = f"the reserve seed {seed} is a seed of the study already"
            yield loaded.problem(message, *path, hint="Choose one that is not among `seeds`.")
        elif seed in study.data_status.pilot_seeds:
            message = f"the reserve seed {seed} was used by a pilot"
            yield loaded.problem(message, *path, hint="Choose seeds whose results nobody has seen.")
