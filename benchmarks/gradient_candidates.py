"""Scoring eight candidate credits by alignment, against a backward pass for each."""

from __future__ import annotations

from benchmarks.builtin import NullMeter, learner_of, study
from benchmarks.measuring import Document, held, interleaved, one_thread, ratios, run_alone
from harness.grading.build import make_grader
from reports import alignment
from trainers.credit.margin import Margin
from trainers.draws import draw
from trainers.gradient_test import (
    Candidate,
    alignments,
    inner,
    rollout_direction,
    signal_gradient,
    token_signals,
)
from trainers.reward import RewardMethod

FLOORS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)
"""Eight credits: MCPO's, with another floor each."""
PROMPTS, APART, ROUNDS = 64, 64, 7


def measure() -> Document:
    """Both give the gains of all eight; their signals are made beforehand."""
    one_thread()
    plan = study().study
    with make_grader(plan.data.training.grader) as grader:
        setting = learner_of(plan, plan.trainer_of("grpo"), grader, NullMeter()).setting
        batch = draw(setting, 0, "rollout", range(PROMPTS), samples=8)
        apart = draw(setting, 0, "rollout", range(PROMPTS, PROMPTS + APART), samples=8, first_group=PROMPTS)
    along = rollout_direction(setting, apart).unit
    signals = [
        token_signals(
            setting, batch, Candidate(RewardMethod(setting), Margin(0.2, 0.8, floor, shuffled=False)),
            setting.spec,
        )
        for floor in FLOORS
    ]  # fmt: skip

    def aligned() -> list[float]:
        found = alignments(setting, batch, along, 1e-4)
        return [alignment.gain(signal, found) for signal in signals]

    def backward() -> list[float]:
        return [inner(signal_gradient(setting, batch, signal), along) for signal in signals]

    worst = max(abs(a / b - 1) for a, b in zip(aligned(), backward(), strict=True))
    timings = interleaved({"aligned": aligned, "backward": backward}, ROUNDS)
    ratio = ratios(timings["backward"].cpu, timings["aligned"].cpu)
    return {
        "what": f"gains of {len(FLOORS)} credits on {len(batch.completions)} completions, built-in model",
        "aligned": timings["aligned"].summary(),
        "backward": timings["backward"].summary(),
        "largest_relative_difference_of_a_gain": worst,
        "backward_over_aligned": ratio,
        "held": [held("eight backward passes over one alignment", ratio["median"], at_least=4.0)],
    }


if __name__ == "__main__":
    run_alone(measure)
