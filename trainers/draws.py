"""Sampling and grading for one purpose, and charging it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from trainers.engines import Sampling
from trainers.flops import attended_causally, attended_decoding
from trainers.noise import sequence_key
from trainers.setting import Setting
from trainers.types import Completion, Grade, Prompt, Request

Purpose = Literal["rollout", "continuation", "screening", "discarded"]


@dataclass(frozen=True, slots=True)
class Draws:
    """Graded sequences of one purpose and update. Lists run over them; a group's members stand together."""

    step: int
    purpose: Purpose
    prompts: list[Prompt]
    """The prompt of each sequence."""
    groups: list[int]
    """Unique within the update, over all purposes but continuations."""
    samples: list[int]
    completions: list[Completion]
    grades: list[Grade]

    @property
    def group_ids(self) -> npt.NDArray[np.int64]:
        """`groups` as an array (sequences,)."""
        return np.array(self.groups, dtype=np.int64)

    @property
    def graded(self) -> npt.NDArray[np.bool_]:
        """Whether the grader failed on no member of the sequence's group, shape (sequences,)."""
        failed = {
            g for g, grade in zip(self.groups, self.grades, strict=True) if grade.state == "grader_error"
        }
        return np.array([g not in failed for g in self.groups], dtype=np.bool_)

    def where(self, chosen: Sequence[int], purpose: Purpose) -> Draws:
        """The sequences at these places, for a purpose of their own."""
        return Draws(
            self.step, purpose, [self.prompts[i] for i in chosen], [self.groups[i] for i in chosen],
            [self.samples[i] for i in chosen], [self.completions[i] for i in chosen],
            [self.grades[i] for i in chosen],
        )  # fmt: skip


def joined(parts: Sequence[Draws]) -> Draws:
    """Draws of one purpose and update, one after another."""
    first = parts[0]
    return Draws(
        first.step, first.purpose,
        [p for d in parts for p in d.prompts], [g for d in parts for g in d.groups],
        [s for d in parts for s in d.samples], [c for d in parts for c in d.completions],
        [g for d in parts for g in d.grades],
    )  # fmt: skip


def draw(
    setting: Setting,
    step: int,
    purpose: Purpose,
    chosen: Sequence[int],
    *,
    samples: int,
    first_group: int = 0,
) -> Draws:
    """Sample and grade `samples` completions of each prompt in `chosen` (indices), a group a prompt.

    The noise depends on (seed, purpose, step, prompt, group, sample). Nothing is charged but the time:
    whoever decides what the sequences are for calls `charge`.
    """
    prompts = [setting.prompts[i] for i in chosen for _ in range(samples)]
    groups = [first_group + group for group in range(len(chosen)) for _ in range(samples)]
    numbers = [sample for _ in chosen for sample in range(samples)]
    spec = setting.spec
    with setting.meter.phase("generate", purpose):
        completions = setting.engine.generate(
            [
                Request(p.token_ids, sequence_key(setting.seed, purpose, step, p.id, g, s))
                for p, g, s in zip(prompts, groups, numbers, strict=True)
            ],
            Sampling(spec.max_new_tokens, spec.temperature, max_batch=spec.engine.max_batch),
        )
    with setting.meter.phase("grade"):
        finished = [c.finish_reason == "stop" for c in completions]
        grades = setting.grader([p.gold for p in prompts], [c.text for c in completions], finished)
    return Draws(step, purpose, prompts, groups, numbers, completions, grades)


def charge(
    setting: Setting, draws: Draws, *, phase: str = "generate", kept: Sequence[int] | None = None
) -> None:
    """Count the tokens and operations of sequences under their purpose.

    `kept` are the tokens of a completion that each sequence continues: they were read like a prompt.
    """
    before = kept if kept is not None else [0] * len(draws.prompts)
    sizes = [
        (len(p.token_ids) + k, len(c.token_ids))
        for p, k, c in zip(draws.prompts, before, draws.completions, strict=True)
    ]
    generated, prompt_tokens = sum(g for _, g in sizes), sum(p for p, _ in sizes)
    attended = sum(attended_causally(p, 0) + attended_decoding(p, g) for p, g in sizes)
    decoded = sum(p + max(g - 1, 0) for p, g in sizes)
    operations = setting.shape.forward(decoded, attended, generated)
    setting.charged += generated
    setting.meter.count(phase, draws.purpose, generated=generated, prompt=prompt_tokens, flops=operations)
