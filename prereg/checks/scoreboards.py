"""A scoreboard counts predictions that exist, have even odds by chance, and share one contrast."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.explain import did_you_mean
from prereg.hypotheses import AverageMetric, Hypothesis
from prereg.problems import Problem
from prereg.source import LoadedStudy
from prereg.testkinds import BinomialScoreboard

SCORED = ("greater", "less")
"""Directions of predictions that a method without any effect gets right half the time at most. One of
`non_inferior` it nearly always gets right."""


def known_predictions(loaded: LoadedStudy) -> Iterator[Problem]:
    """A prediction is another hypothesis, named once, that is no scoreboard itself."""
    by_id = {h.id: h for h in loaded.study.hypotheses}
    for index, board, test in _boards(loaded):
        able = [h.id for h in by_id.values() if not isinstance(h.test, BinomialScoreboard)]
        for place, name in enumerate(test.predictions):
            message = hint = None
            if name not in by_id:
                message, hint = f"there is no hypothesis `{name}`", did_you_mean(name, able)
            elif isinstance(by_id[name].test, BinomialScoreboard):
                message = (
                    f"the prediction `{name}` is {'itself' if name == board.id else 'also'} a scoreboard"
                )
                hint = "Name hypotheses that are tested on their own."
            elif name in test.predictions[:place]:
                message, hint = f"the prediction `{name}` is named twice", "Each counts once."
            if message:
                yield loaded.problem(message, *_place(index, place), hint=hint)


def predictions_have_even_odds(loaded: LoadedStudy) -> Iterator[Problem]:
    """The binomial law at one half needs predictions of a side: a difference or a sameness has other odds."""
    by_id = {h.id: h for h in loaded.study.hypotheses}
    for index, _, test in _boards(loaded):
        for place, name in enumerate(test.predictions):
            if name in by_id and by_id[name].direction not in SCORED:
                message = (
                    f"the odds of the prediction `{name}`, `{by_id[name].direction}`, are not even by chance"
                )
                hint = f"Predictions state a side: {', '.join(f'`{one}`' for one in SCORED)}."
                yield loaded.problem(message, *_place(index, place), hint=hint)


def predictions_differ(loaded: LoadedStudy) -> Iterator[Problem]:
    """Each prediction is of something else, and none waits for another claim.

    Otherwise one is counted twice, or is right without having been asked.
    """
    by_id = {h.id: h for h in loaded.study.hypotheses}
    every = tuple(loaded.study.data.benchmarks)
    for index, _, test in _boards(loaded):
        seen: dict[object, str] = {}
        for place, name in enumerate(dict.fromkeys(test.predictions)):
            if (one := by_id.get(name)) is None or isinstance(one.test, BinomialScoreboard):
                continue
            what = (one.model, one.metric, frozenset(one.benchmarks or every))
            message = hint = None
            if what in seen:
                message = f"the prediction `{name}` is of the same metric and benchmarks as `{seen[what]}`"
                hint = (
                    "Predictions of one scoreboard differ in benchmarks, metric or model: each counts once."
                )
            elif one.gate is not None:
                message = f"the prediction `{name}` waits for `{one.gate}`, and is counted all the same"
                hint = "Leave out its `gate`, or give the gate to the scoreboard."
            seen.setdefault(what, name)
            if message:
                yield loaded.problem(message, *_place(index, place), hint=hint)


def predictions_share_the_contrast(loaded: LoadedStudy) -> Iterator[Problem]:
    """A scoreboard speaks of its own treatment, control and axis; so do its predictions."""
    by_id = {h.id: h for h in loaded.study.hypotheses}
    for index, board, test in _boards(loaded):
        for place, name in enumerate(test.predictions):
            for field in ("treatment", "control", "matched_on") if name in by_id else ():
                own, others = getattr(board, field), getattr(by_id[name], field)
                if own != others:
                    message = f"the prediction `{name}` has the {field} `{others}`, its scoreboard `{own}`"
                    hint = "Predictions differ in benchmarks, metric or model; all else is the scoreboard's."
                    yield loaded.problem(message, *_place(index, place), hint=hint)


def scoreboard_measures_nothing_itself(loaded: LoadedStudy) -> Iterator[Problem]:
    """Its predictions measure what a scoreboard counts; the same fields of its own would decide nothing."""
    for index, board, _ in _boards(loaded):
        stated = {
            "benchmarks": board.benchmarks is not None,
            "model": board.model is not None,
            "metric": board.metric != AverageMetric(),
            "smallest_effect": board.smallest_effect > 0,
            "decision": board.decision != "differs_from_zero",
            "sensitivity": bool(board.sensitivity),
            "power": board.power is not None,
        }
        for field, found in stated.items():
            if found:
                message = f"`{field}` has no meaning for a scoreboard"
                hint = "Remove it, or state it in the predictions."
                yield loaded.problem(message, "hypotheses", index, field, hint=hint)


def _boards(loaded: LoadedStudy) -> Iterator[tuple[int, Hypothesis, BinomialScoreboard]]:
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        if isinstance(hypothesis.test, BinomialScoreboard):
            yield index, hypothesis, hypothesis.test


def _place(index: int, prediction: int) -> tuple[str | int, ...]:
    return ("hypotheses", index, "test", "predictions", prediction)
