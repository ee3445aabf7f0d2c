"""Evaluating a policy on a benchmark: n samples of every problem, graded.

Noise depends on (seed, benchmark, problem, sample) and on nothing else, so arms with equal seeds share it,
and when an evaluation happens changes nothing in training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.meter import RunMeter
from prereg.sources import Benchmark
from trainers.engines import Engine, Sampling
from trainers.flops import ModelShape, attended_causally, attended_decoding
from trainers.noise import sequence_key
from trainers.types import Completion, Grade, Grader, Prompt, Request

Noise = Literal["evaluation", "re-evaluation"]
"""Which noise samples are drawn with: that of every reading, or another one."""

PROBLEMS_AT_ONCE = 256
"""Problems whose samples are held in memory together; sampling is batched within."""


@dataclass(frozen=True, slots=True)
class BenchmarkTask:
    """A benchmark ready to run."""

    name: str
    spec: Benchmark
    prompts: Sequence[Prompt]
    grader: Grader


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """Every sample of one benchmark, problem by problem; lists have problems x samples entries."""

    benchmark: str
    problems: int
    samples_per_problem: int
    problem_ids: list[str]
    samples: list[int]
    grades: list[Grade]
    finish_reasons: list[str]
    generated_tokens: list[int]
    texts: list[str]


def evaluate(
    task: BenchmarkTask,
    engine: Engine,
    meter: RunMeter,
    shape: ModelShape,
    *,
    seed: int,
    max_batch: int,
    noise: Noise = "evaluation",
) -> BenchmarkResult:
    """Sample and grade the benchmark under the engine's present policy, on the account of `evaluation`."""
    count = task.spec.samples
    sampling = Sampling(
        task.spec.max_new_tokens, task.spec.temperature, top_p=task.spec.top_p, max_batch=max_batch
    )
    result = BenchmarkResult(task.name, len(task.prompts), count, [], [], [], [], [], [])
    for start in range(0, len(task.prompts), PROBLEMS_AT_ONCE):
        prompts = [p for p in task.prompts[start : start + PROBLEMS_AT_ONCE] for _ in range(count)]
        samples = list(range(count)) * (len(prompts) // count)
        with meter.phase("evaluate", "evaluation"):
            completions = engine.generate(
                [
                    Request(p.token_ids, sequence_key(seed, noise, task.name, p.id, sample))
                    for p, sample in zip(prompts, samples, strict=True)
                ],
                sampling,
            )
            finished = [c.finish_reason == "stop" for c in completions]
            grades = task.grader([p.gold for p in prompts], [c.text for c in completions], finished)
        _count(meter, shape, prompts, completions)
        result.problem_ids.extend(p.id for p in prompts)
        result.samples.extend(samples)
        result.grades.extend(grades)
        result.finish_reasons.extend(c.finish_reason for c in completions)
        result.generated_tokens.extend(len(c.token_ids) for c in completions)
        result.texts.extend(c.text for c in completions)
    return result


def _count(
    meter: RunMeter, shape: ModelShape, prompts: Sequence[Prompt], completions: Sequence[Completion]
) -> None:
    sizes = [(len(p.token_ids), len(c.token_ids)) for p, c in zip(prompts, completions, strict=True)]
    generated = sum(g for _, g in sizes)
    attended = sum(attended_causally(p, 0) + attended_decoding(p, g) for p, g in sizes)
    decoded = sum(p + max(g - 1, 0) for p, g in sizes)
    meter.count(
        "evaluate", "evaluation", generated=generated, prompt=sum(p for p, _ in sizes),
        flops=shape.forward(decoded, attended, generated),
    )  # fmt: skip
