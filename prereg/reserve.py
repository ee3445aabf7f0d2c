"""Reserve seeds: which of them take the place of which seeds of a study.

A seed one of whose runs failed for good has no pair any more. If the plan keeps seeds in reserve, the next of
them is run in its place, in every arm and on every model. Only a failure of a run calls for one: a run that
diverged, or came out badly, has done what its arm does, and to replace it would be to choose by the outcome.

Everything here is a pure function of the plan and of what was recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from prereg.study import Study

ATTEMPTS = 2
"""Attempts that must end with an error before a run has failed for good: the first, and one more from the
last commit. A run that was interrupted or killed has not failed."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A reserve seed that was drawn."""

    seed: int
    """The seed whose place it takes: one of the study's, or a reserve seed that failed in its turn."""
    by: int
    run: str
    """The run that failed for good."""

    def __str__(self) -> str:
        return f"reserve seed {self.by} drawn in place of {self.seed}: {self.run} failed"


def every_seed(study: Study) -> tuple[int, ...]:
    """The seeds of a study, and behind them those in reserve."""
    return (*study.seeds, *study.reserve_seeds)


def standing(seeds: Iterable[int], drawn: Sequence[Replacement]) -> tuple[int, ...]:
    """The seeds that count: each of `seeds`, or the reserve seed that at last took its place.

    `drawn` is in the order in which the reserve seeds were drawn, as `valid` gives them.
    """
    by = {one.seed: one.by for one in drawn}

    def last(seed: int) -> int:
        return last(by[seed]) if seed in by else seed

    return tuple(last(seed) for seed in seeds)


def with_reserve(study: Study, drawn: Sequence[Replacement]) -> Study:
    """The study with the seeds that count, each in its place: what runs, looks and comparisons are of."""
    return study.model_copy(update={"seeds": standing(study.seeds, drawn)}) if drawn else study


def valid(study: Study, recorded: Iterable[Replacement]) -> tuple[Replacement, ...]:
    """The recorded draws that the plan allows: the next reserve seed for a seed that still stands."""
    found: list[Replacement] = []
    for one in recorded:
        left = study.reserve_seeds[len(found) :]
        if one.seed in standing(study.seeds, found) and left[:1] == (one.by,):
            found.append(one)
    return tuple(found)


def draws(
    study: Study, drawn: Sequence[Replacement], failed: Iterable[tuple[int, str]]
) -> tuple[Replacement, ...]:
    """The reserve seeds to be drawn now, in the order of the list.

    `failed` are seeds with the run that failed for good, in the order in which they are to be served. One
    that no longer stands needs nothing, and one for which no reserve seed is left stays where it is.
    """
    found, waiting = list(drawn), list(failed)
    for by in study.reserve_seeds[len(drawn) :]:
        now = standing(study.seeds, found)
        called = next(((seed, run) for seed, run in waiting if seed in now), None)
        if called is None:
            break
        found.append(Replacement(called[0], by, called[1]))
    return tuple(found[len(drawn) :])


def uncalled(study: Study, drawn: Sequence[Replacement], seeds: Collection[int]) -> tuple[int, ...]:
    """The reserve seeds among `seeds` that no failure called for."""
    called = {one.by for one in drawn}
    return tuple(seed for seed in study.reserve_seeds if seed in seeds and seed not in called)
