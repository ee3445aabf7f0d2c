"""Each method's update against GRPO's, in time and tokens; continuations in batches against one by one."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from benchmarks.builtin import NullMeter, learner_of, study
from benchmarks.measuring import Document, held, interleaved, one_thread, ratios, run_alone
from harness.grading.build import make_grader
from prereg.rewards import Continuations
from prereg.study import merged_trainer
from trainers.loop import Learner
from trainers.reward.continuations import Prefix, continue_prefixes
from trainers.steps import step_starts

UPDATES = 3
ROUNDS = 7
TARGET = 5.0
STEPS = {"kind": "text", "separators": [","]}
"""The built-in task writes a comma behind each worked step."""


def dense(kind: str, **fields: Any) -> dict[str, Any]:
    """A dense reward of four continuations a prefix."""
    return {"reward": {"kind": kind, "boundaries": STEPS, **fields}}


def nearest_half(predictor: dict[str, Any]) -> dict[str, Any]:
    """Selection from a pool of four candidates a prompt."""
    return {"selection": {"kind": "nearest_half", "predictor": predictor}}


METHODS: dict[str, dict[str, Any]] = {
    "grpo": {},
    "margin credit": {"credit": {"kind": "margin"}},
    "entropy credit": {"credit": {"kind": "entropy"}},
    "mc_advantage, 4 continuations": dense("mc_advantage"),
    "mc_value_soft, 4 continuations": dense("mc_value_soft"),
    "mc_advantage, prefix tree": dense("mc_advantage", estimator={"kind": "prefix_tree"}),
    "implicit_prm": {"reward": {"kind": "implicit_prm"}},
    "nearest_half, history": nearest_half({"kind": "history"}),
    "nearest_half, 4 screening samples": nearest_half({"kind": "screening"}),
    "filter_homogeneous": {"selection": {"kind": "filter_homogeneous"}},
}


class CountingMeter(NullMeter):
    """Counts generated tokens and operations."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()

    def count(
        self, phase: str, purpose: str | None, *, generated: int = 0, prompt: int = 0, flops: float = 0.0
    ) -> None:
        """Add up."""
        self.counted["tokens"] += generated
        self.counted["flops"] += int(flops)


def measure() -> Document:
    """At a learning rate of 0, so that every round does the same work on the same weights."""
    one_thread()
    plan = study().study
    with make_grader(plan.data.training.grader) as grader:
        learners = {
            name: learner_of(plan, merged_trainer(plan.trainer, difference), grader, CountingMeter())
            for name, difference in METHODS.items()
        }
        timings = interleaved({name: partial(_updates, own) for name, own in learners.items()}, ROUNDS)
        counted = {name: _counted(learner) for name, learner in learners.items()}
        speed, rates = _continuations(learners["grpo"])
    base = counted["grpo"]
    return {
        "what": f"{UPDATES} updates a round of the built-in model, process CPU time",
        "table": [
            {
                "update of": name,
                "time over GRPO's": ratios(timings[name].cpu, timings["grpo"].cpu)["median"],
                "tokens over GRPO's": counted[name]["tokens"] / base["tokens"],
                "FLOPs over GRPO's": counted[name]["flops"] / base["flops"],
            }
            for name in METHODS
        ],
        "arms": {name: timing.summary() for name, timing in timings.items()},
        "continuations": rates,
        "held": [
            held("continuations a second, full batches over one prefix at a time", speed, at_least=TARGET)
        ],
    }


def _updates(learner: Learner) -> None:
    for step in range(1, UPDATES + 1):
        learner.update(step, 0.0)


def _counted(learner: Learner) -> Counter[str]:
    meter = learner.meter
    assert isinstance(meter, CountingMeter)
    meter.counted.clear()
    _updates(learner)
    return Counter(meter.counted)


def _continuations(learner: Learner) -> tuple[float, Document]:
    """Continuations of the prefixes of one update, all in one call and prefix by prefix."""
    setting, spec = learner.setting, Continuations()
    rollouts = learner.gather(1).rollouts
    boundaries = merged_trainer(learner.spec, dense("mc_advantage")).reward.boundaries  # type: ignore[union-attr]

    def text_of(ids: tuple[int, ...]) -> str:
        return setting.engine.texts([ids])[0]

    prefixes = [
        Prefix(i, k, start)
        for i, c in enumerate(rollouts.completions)
        for k, start in enumerate(step_starts(c.token_ids.tolist(), boundaries, text_of))
        if k
    ]
    _, once = continue_prefixes(setting, spec, rollouts, prefixes)
    assert once is not None
    places = zip(once.draws.groups, once.draws.samples, once.boundaries, strict=True)
    size = setting.spec.samples_per_prompt
    kept = dict(zip(dict.fromkeys(places), once.kept[:: spec.count], strict=True))
    distinct = [Prefix(g * size + s, k, tokens) for (g, s, k), tokens in kept.items()]

    def together() -> None:
        continue_prefixes(setting, spec, rollouts, distinct)

    def apart() -> None:
        for prefix in distinct:
            continue_prefixes(setting, spec, rollouts, [prefix])

    timings = interleaved({"together": together, "apart": apart}, ROUNDS)
    count = len(distinct) * spec.count
    speed = ratios(timings["apart"].cpu, timings["together"].cpu)["median"]
    rates = {name: count / timing.summary()["cpu_seconds"]["median"] for name, timing in timings.items()}
    return speed, {"prefixes": len(distinct), "continuations": count, "a CPU second": rates}


if __name__ == "__main__":
    run_alone(measure)
