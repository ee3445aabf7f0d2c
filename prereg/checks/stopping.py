"""The looks of a group-sequential plan: in order, up to all seeds, and each able to decide something."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import fsum

from prereg.levels import share_of_alpha, smallest_p
from prereg.problems import Problem
from prereg.source import LoadedStudy
from prereg.stopping import GroupSequential, Look
from prereg.testkinds import BinomialScoreboard

_ROUNDING = 1e-9


def looks_rise(loaded: LoadedStudy) -> Iterator[Problem]:
    """Each look has more seeds than the one before: otherwise it is no new look."""
    for place, (before, look) in enumerate(pairwise(_looks(loaded)), start=1):
        if look.seeds <= before.seeds:
            message = f"this look is after {look.seeds} seeds, the one before it after {before.seeds}"
            hint = "Order the looks by their seeds, each with more than the one before."
            yield loaded.problem(message, "stopping", "looks", place, "seeds", hint=hint)


def looks_end_with_all_seeds(loaded: LoadedStudy) -> Iterator[Problem]:
    """The last look is made on every seed of the study, and on no seed that is not there."""
    seeds = len(loaded.study.seeds)
    if (looks := _looks(loaded)) and looks[-1].seeds != seeds:
        message = f"the last look is after {looks[-1].seeds} seeds, and the study has {seeds}"
        hint = f"Write `seeds: {seeds}` here, or list {looks[-1].seeds} seeds under `seeds`."
        yield loaded.problem(message, "stopping", "looks", len(looks) - 1, "seeds", hint=hint)


def looks_have_two_seeds(loaded: LoadedStudy) -> Iterator[Problem]:
    """One seed has no spread over training, so nothing can be tested on it."""
    for place, look in enumerate(_looks(loaded)):
        if look.seeds < 2:
            message = "a look after 1 seed can test nothing: one run has no spread over training"
            hint = "Look after two seeds or more."
            yield loaded.problem(message, "stopping", "looks", place, "seeds", hint=hint)


def shares_fit(loaded: LoadedStudy) -> Iterator[Problem]:
    """The looks spend each hypothesis' alpha once: their shares sum to at most 1."""
    total = fsum(look.share for look in _looks(loaded))
    if total > 1 + _ROUNDING:
        message = f"the shares of the looks sum to {total:g}: together they would spend more than alpha"
        hint = "Lower them so that they sum to at most 1, such as 0.2 and 0.8."
        yield loaded.problem(message, "stopping", "looks", hint=hint)


def looks_can_decide(loaded: LoadedStudy) -> Iterator[Problem]:
    """At every look every exact test can give a p as small as that look's share of its alpha demands.

    A test that cannot reach its alpha with all seeds is refused for that alone. A scoreboard is not tested at
    the looks: it counts once, when its predictions are decided.
    """
    study = loaded.study
    seeds = len(set(study.seeds))
    for index, hypothesis in enumerate(study.hypotheses):
        level = hypothesis.alpha * share_of_alpha(study, hypothesis) * (1 + _ROUNDING)
        if isinstance(hypothesis.test, BinomialScoreboard) or smallest_p(hypothesis, seeds) > level:
            continue
        for place, look in enumerate(_looks(loaded)):
            floor = smallest_p(hypothesis, look.seeds)
            if floor <= level * look.share:
                continue
            message = (
                f"`{hypothesis.test.kind}` on {look.seeds} seeds cannot give a p below {floor:.3g}, and "
                f"`hypotheses.{index}` (`{hypothesis.id}`) needs {level * look.share:.3g} at this look: it "
                "would spend alpha where no data could confirm the claim"
            )
            hint = "Look after more seeds, give this look a larger share, or use `paired_t`."
            yield loaded.problem(message, "stopping", "looks", place, hint=hint)


def _looks(loaded: LoadedStudy) -> tuple[Look, ...]:
    """The declared looks; none where the number of seeds is fixed."""
    stopping = loaded.study.stopping
    return stopping.looks if isinstance(stopping, GroupSequential) else ()
