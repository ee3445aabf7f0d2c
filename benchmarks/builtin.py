"""The built-in study's parts, made as a run makes them, for benchmarks that drive them on their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from harness.builtin import ARITHMETIC_110K
from harness.models import load_tokenizer, make_prompts
from harness.tasks.resolve import load_task
from prereg.source import LoadedStudy, load_study
from prereg.study import Study
from prereg.trainer import FullAdapter, Trainer
from trainers.engines import Engine
from trainers.engines.transformers import TransformersEngine
from trainers.loop import Learner
from trainers.metering import Meter
from trainers.policy import Policy
from trainers.types import Grader, Prompt

STUDY = Path(__file__).parent.parent / "studies" / "arithmetic.yaml"
MODEL = "small"


class NullMeter:
    """A meter that neither reads a clock nor counts."""

    @contextmanager
    def phase(self, name: str, purpose: str | None = None) -> Iterator[None]:
        """Nothing."""
        yield

    def count(
        self, phase: str, purpose: str | None, *, generated: int = 0, prompt: int = 0, flops: float = 0.0
    ) -> None:
        """Nothing."""


def study() -> LoadedStudy:
    """The built-in study as it is shipped."""
    return load_study(STUDY)


def policy_of(spec: Trainer, folder: Path = ARITHMETIC_110K) -> Policy:
    """A policy as a run loads it."""
    return Policy.load(
        folder, dtype="float32", adapter=FullAdapter(), device=torch.device("cpu"), seed=1,
        logits_chunk=spec.logits_chunk,
    )  # fmt: skip


def prompts_of(plan: Study, tokenizer: Any) -> list[Prompt]:
    """The training prompts."""
    items = load_task(plan.data.training.source, STUDY.parent).items
    return make_prompts(items, plan.models[MODEL], tokenizer)


def learner_of(
    plan: Study, spec: Trainer, grader: Grader, meter: Meter, *, seed: int = 1, engine: Engine | None = None
) -> Learner:
    """A learner at the start weights; `engine` replaces the one that samples from its policy."""
    tokenizer = load_tokenizer(ARITHMETIC_110K)
    policy = policy_of(spec)
    engine = engine or TransformersEngine(policy, tokenizer)
    return Learner(spec, policy, engine, prompts_of(plan, tokenizer), grader, meter, seed)
