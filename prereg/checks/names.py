"""Names that must exist: each one unknown is reported with the nearest that does."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from prereg.explain import did_you_mean
from prereg.problems import Problem
from prereg.source import LoadedStudy
from prereg.testkinds import BinomialScoreboard


def _unknown(
    loaded: LoadedStudy, what: str, name: str, known: Collection[str], *path: str | int
) -> Iterator[Problem]:
    if name not in known:
        hint = did_you_mean(name, known) or f"The study declares no {what}."
        yield loaded.problem(f"there is no {what} `{name}`", *path, hint=hint)


def known_arms(loaded: LoadedStudy) -> Iterator[Problem]:
    """A hypothesis compares two arms of the study."""
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        for side, arm in (("treatment", hypothesis.treatment), ("control", hypothesis.control)):
            yield from _unknown(loaded, "arm", arm, loaded.study.arms, "hypotheses", index, side)


def known_models(loaded: LoadedStudy) -> Iterator[Problem]:
    """A hypothesis speaks of one model; it may leave its name out where there is one, or in a scoreboard."""
    models = loaded.study.models
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        if hypothesis.model is not None:
            yield from _unknown(loaded, "model", hypothesis.model, models, "hypotheses", index, "model")
        elif len(models) > 1 and not isinstance(hypothesis.test, BinomialScoreboard):
            message = (
                f"hypothesis `{hypothesis.id}` does not say which of the {len(models)} models it speaks of"
            )
            hint = f"Add `model:`, one of {', '.join(f'`{name}`' for name in models)}."
            yield loaded.problem(message, "hypotheses", index, hint=hint)


def known_benchmarks(loaded: LoadedStudy) -> Iterator[Problem]:
    """A hypothesis averages over benchmarks of the study, each named once."""
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        path = ("hypotheses", index, "benchmarks")
        if hypothesis.benchmarks == ():
            yield loaded.problem(
                "the list of benchmarks is empty", *path, hint="Leave it out for all of them."
            )
        for position, name in enumerate(hypothesis.benchmarks or ()):
            yield from _unknown(loaded, "benchmark", name, loaded.study.data.benchmarks, *path, position)
            if name in (hypothesis.benchmarks or ())[:position]:
                message = f"the benchmark `{name}` is named twice"
                yield loaded.problem(message, *path, position, hint="Weights say what counts for more.")


def known_families(loaded: LoadedStudy) -> Iterator[Problem]:
    """A hypothesis belongs to a declared family."""
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        if hypothesis.family is not None:
            yield from _unknown(
                loaded, "family", hypothesis.family, loaded.study.families, "hypotheses", index, "family"
            )


def known_gates(loaded: LoadedStudy) -> Iterator[Problem]:
    """A gate is the id of a hypothesis."""
    ids = [hypothesis.id for hypothesis in loaded.study.hypotheses]
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        if hypothesis.gate is not None:
            yield from _unknown(loaded, "hypothesis", hypothesis.gate, ids, "hypotheses", index, "gate")


def unique_hypothesis_ids(loaded: LoadedStudy) -> Iterator[Problem]:
    """Verdicts are found by the id of their hypothesis."""
    first: dict[str, int] = {}
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        before = first.setdefault(hypothesis.id, index)
        if before != index:
            place = loaded.positions.of(("hypotheses", before, "id"))
            where = f" on line {place.line}" if place else ""
            message = f"a hypothesis `{hypothesis.id}` stands already{where}"
            yield loaded.problem(
                message, "hypotheses", index, "id", hint="Give each hypothesis an id of its own."
            )
