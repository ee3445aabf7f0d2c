"""The built-in model, prompts and an engine, made anew for each test that trains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from harness.builtin import ARITHMETIC_110K
from harness.models import load_tokenizer
from harness.tasks.arithmetic import generate
from prereg.trainer import FullAdapter
from trainers.policy import Policy
from trainers.types import Grade, Prompt

torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)


class CountingMeter:
    """A meter that remembers phases and counts, and takes no time."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.generated = 0
        self.flops: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str, purpose: str | None = None) -> Iterator[None]:
        self.phases.append(name)
        yield

    def count(
        self, phase: str, purpose: str | None, *, generated: int = 0, prompt: int = 0, flops: float = 0.0
    ) -> None:
        self.generated += generated
        self.flops[phase] = self.flops.get(phase, 0.0) + flops


def exact_grader(golds: list[str], texts: list[str], finished: list[bool]) -> list[Grade]:
    """What stands behind the last `#`, compared as text."""
    return [
        Grade("correct" if text.rsplit("#", 1)[-1] == gold else "incorrect", None)
        for gold, text in zip(golds, texts, strict=True)
    ]


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    return load_tokenizer(ARITHMETIC_110K)


@pytest.fixture(scope="session")
def prompts(tokenizer: Any) -> list[Prompt]:
    return [Prompt(i.id, tuple(tokenizer.encode(i.problem)), i.answer) for i in generate("train", 64, 0)]


@pytest.fixture
def policy() -> Policy:
    return load_policy()


def load_policy(adapter: Any = None, seed: int = 0, chunk: int = 1024, checkpointing: bool = False) -> Policy:
    return Policy.load(
        ARITHMETIC_110K, dtype="float32", adapter=adapter or FullAdapter(), device=torch.device("cpu"),
        seed=seed, logits_chunk=chunk,
        gradient_checkpointing=checkpointing,
    )  # fmt: skip
