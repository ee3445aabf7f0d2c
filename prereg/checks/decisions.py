"""Test, direction and margin must say the same about what would confirm a claim."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.problems import Problem
from prereg.source import LoadedStudy

DIRECTIONS: dict[str, tuple[str, ...]] = {
    "paired_t": ("greater", "less", "two_sided"),
    "crossed_satterthwaite": ("greater", "less", "two_sided"),
    "sign_flip": ("greater", "less", "two_sided"),
    "tost": ("equivalent",),
    "non_inferiority": ("non_inferior",),
    "binomial_scoreboard": ("greater",),
}
"""The directions that each test can decide; a scoreboard claims more right predictions than by chance."""

WITH_MARGIN = ("equivalent", "non_inferior")
"""The directions whose null is an effect of the size of a margin."""


def direction_fits_test(loaded: LoadedStudy) -> Iterator[Problem]:
    """Each test decides some directions only."""
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        fitting = DIRECTIONS[hypothesis.test.kind]
        if hypothesis.direction not in fitting:
            message = (
                f"the test `{hypothesis.test.kind}` cannot decide the direction `{hypothesis.direction}`"
            )
            tests = ", ".join(
                f"`{t}`" for t, allowed in DIRECTIONS.items() if hypothesis.direction in allowed
            )
            hint = f"It decides {_either(fitting)}; `{hypothesis.direction}` is decided by one of {tests}."
            yield loaded.problem(message, "hypotheses", index, "direction", hint=hint)


def margin_is_stated(loaded: LoadedStudy) -> Iterator[Problem]:
    """Without a margin every two arms differ by something, and none is shown equivalent or non-inferior."""
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        if hypothesis.direction in WITH_MARGIN and hypothesis.margin is None:
            message = f"the direction `{hypothesis.direction}` of `{hypothesis.id}` needs a `margin`"
            hint = "Add `margin:`, in percentage points: the largest difference that would not matter."
            yield loaded.problem(message, "hypotheses", index, "direction", hint=hint)


def margin_has_a_use(loaded: LoadedStudy) -> Iterator[Problem]:
    """A margin that no null depends on would look as if it decided something."""
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        if hypothesis.margin is not None and hypothesis.direction not in WITH_MARGIN:
            message = f"`margin` has no meaning for the direction `{hypothesis.direction}`"
            hint = (
                "Remove it, or use the direction `equivalent` or `non_inferior`. An effect to be exceeded is "
                "a `smallest_effect` with `decision: exceeds_smallest_effect`."
            )
            yield loaded.problem(message, "hypotheses", index, "margin", hint=hint)


def margin_replaces_smallest_effect(loaded: LoadedStudy) -> Iterator[Problem]:
    """Where a margin decides, a second bound beside it would leave open which is meant."""
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        if hypothesis.direction not in WITH_MARGIN:
            continue
        for field, stated in (
            ("smallest_effect", hypothesis.smallest_effect > 0),
            ("decision", hypothesis.decision != "differs_from_zero"),
        ):
            if stated:
                message = f"`{field}` has no meaning for the direction `{hypothesis.direction}`"
                hint = "Remove it: the `margin` decides."
                yield loaded.problem(message, "hypotheses", index, field, hint=hint)


def _either(names: tuple[str, ...]) -> str:
    return " or ".join(f"`{name}`" for name in names)
