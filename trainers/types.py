"""What passes between the engine, the reward and the update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Prompt:
    """A training or benchmark problem, tokenised."""

    id: str
    token_ids: tuple[int, ...]
    gold: str


@dataclass(frozen=True, slots=True)
class Request:
    """One sequence to sample: its prompt and the key of its noise (`trainers.noise.sequence_key`)."""

    token_ids: tuple[int, ...]
    key: int
    max_new_tokens: int | None = None
    """Its own cap, where it is lower than the sampling's."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One sampled sequence."""

    token_ids: npt.NDArray[np.int32]
    """Shape (tokens,), the end-of-sequence token included; never empty."""
    logprobs: npt.NDArray[np.float32]
    """Log-probability of each token under the law it was drawn from, nats, shape (tokens,)."""
    text: str
    finish_reason: Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class Grade:
    """A graded completion. `state` is one of the ledger's grader states."""

    state: str
    answer: str | None


class Grader(Protocol):
    """Whatever decides whether completions are right."""

    def __call__(self, golds: list[str], texts: list[str], finished: list[bool]) -> list[Grade]:
        """A grade for each completion; `finished` is false for one that was cut at the cap."""
