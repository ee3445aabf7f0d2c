"""MCPO's update over GRPO's, on the same completions: the training half, and the whole update."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.builtin import NullMeter, learner_of, study
from benchmarks.measuring import Document, held, interleaved, one_thread, ratios, run_alone
from harness.grading.build import make_grader
from prereg.study import Study
from prereg.trainer import Trainer
from trainers.engines import Sampling
from trainers.loop import Learner
from trainers.types import Completion, Grader, Request

BATCHES = 3
ROUNDS = 15
TARGET = 1.02
ARMS = ("grpo", "mcpo")


class ReplayEngine:
    """Returns the completions that were recorded for the same requests."""

    def __init__(self) -> None:
        self.recorded: dict[int, Completion] = {}

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """By the keys of the requests' noise."""
        return [self.recorded[request.key] for request in requests]

    def texts(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Nobody asks."""
        raise NotImplementedError

    def sync(self) -> None:
        """Nothing."""

    def rest(self) -> None:
        """Nothing."""


class RecordingEngine(ReplayEngine):
    """Asks another engine and keeps what it said."""

    def __init__(self, learner: Learner) -> None:
        super().__init__()
        self._source = learner.engine

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """From the other engine."""
        completions = self._source.generate(requests, sampling)
        self.recorded.update((r.key, c) for r, c in zip(requests, completions, strict=True))
        return completions


def measure() -> Document:
    """At a learning rate of 0, so that every round does the same work on the same weights."""
    one_thread()
    plan = study().study
    with make_grader(plan.data.training.grader) as grader:
        whole = {arm: learner_of(plan, plan.trainer_of(arm), grader, NullMeter()) for arm in ARMS}
        half = _replaying(plan, whole["grpo"], grader)
        timings = {
            "training half": interleaved({arm: partial(_updates, half[arm]) for arm in ARMS}, ROUNDS),
            "whole update": interleaved({arm: partial(_updates, whole[arm]) for arm in ARMS}, ROUNDS),
        }
    found = {
        part: {
            **{arm: timing[arm].summary() for arm in ARMS},
            "cpu_ratio": ratios(timing["mcpo"].cpu, timing["grpo"].cpu),
            "fastest_rounds_ratio": min(timing["mcpo"].cpu) / min(timing["grpo"].cpu),
        }
        for part, timing in timings.items()
    }
    return {
        "what": f"{BATCHES} updates a round of the built-in model, process CPU time",
        **found,
        "held": [
            held(f"MCPO over GRPO, {part}", values["cpu_ratio"]["median"], at_most=TARGET)
            for part, values in found.items()
        ],
    }


def _replaying(plan: Study, source: Learner, grader: Grader) -> dict[str, Learner]:
    recorder = RecordingEngine(source)
    source.setting.engine, original = recorder, source.engine
    _updates(source)
    source.setting.engine = original
    engine = ReplayEngine()
    engine.recorded = recorder.recorded

    def learner(spec: Trainer) -> Learner:
        return learner_of(plan, spec, grader, NullMeter(), engine=engine)

    return {arm: learner(plan.trainer_of(arm)) for arm in ARMS}


def _updates(learner: Learner) -> None:
    for step in range(1, BATCHES + 1):
        learner.update(step, 0.0)


if __name__ == "__main__":
    run_alone(measure)
