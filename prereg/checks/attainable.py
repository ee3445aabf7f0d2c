"""A test must be able to give a p as small as its family can demand, or no data could confirm the claim."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.levels import share_of_alpha, smallest_p
from prereg.problems import Problem
from prereg.source import LoadedStudy
from prereg.testkinds import BinomialScoreboard, SignFlip

MOST_SEEDS_TO_FLIP = 40
"""2^40 flips are counted from two halves of a million sums each."""


def alpha_is_attainable(loaded: LoadedStudy) -> Iterator[Problem]:
    """The smallest p of an exact test is at most its alpha, after the correction of its family."""
    study = loaded.study
    seeds = len(set(study.seeds))
    for index, hypothesis in enumerate(study.hypotheses):
        share = share_of_alpha(study, hypothesis)
        level, floor = hypothesis.alpha * share, smallest_p(hypothesis, seeds)
        if share > 0 and floor <= level * (1 + 1e-12):
            continue
        if share == 0:
            message = f"no part of the alpha of family `{hypothesis.family}` can ever reach `{hypothesis.id}`"
            hint = "Give it a weight, or a transition that leads to it."
            yield loaded.problem(message, "hypotheses", index, "family", hint=hint)
            continue
        corrected = f" (alpha {hypothesis.alpha:g}, corrected for its family)" if share < 1 else ""
        on = (
            f"{len(set(hypothesis.test.predictions))} predictions"
            if isinstance(hypothesis.test, BinomialScoreboard)
            else f"{seeds} seeds"
        )
        message = (
            f"`{hypothesis.test.kind}` on {on} cannot give a p below {floor:.3g}, and `{hypothesis.id}` "
            f"needs {level:.3g}{corrected}: no data could confirm it"
        )
        yield loaded.problem(message, "hypotheses", index, "test", hint=_mend(hypothesis.test.kind, level))


def flips_can_be_counted(loaded: LoadedStudy) -> Iterator[Problem]:
    """All flips of the signs are counted, which is possible up to a number of seeds."""
    seeds = len(loaded.study.seeds)
    if seeds <= MOST_SEEDS_TO_FLIP:
        return
    message = f"`sign_flip` counts all 2^S flips, up to {MOST_SEEDS_TO_FLIP} seeds; found {seeds}"
    hint = "With so many seeds `paired_t` needs no normal law either."
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        if isinstance(hypothesis.test, SignFlip):
            yield loaded.problem(message, "hypotheses", index, "test", hint=hint)
        for place, other in enumerate(hypothesis.sensitivity):
            if isinstance(other, SignFlip):
                yield loaded.problem(message, "hypotheses", index, "sensitivity", place, hint=hint)


def _mend(kind: str, level: float) -> str:
    least = 1
    while 2.0**-least > level * (1 + 1e-12):
        least += 1
    if kind == "binomial_scoreboard":
        return f"Name at least {least} predictions."
    return f"Plan {least} seeds one-sided or {least + 1} two-sided, or use `paired_t`."
