"""Engines: what samples completions. Each is a class behind `Engine`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from trainers.types import Completion, Request


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample."""

    max_new_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    max_batch: int = 512
    """Sequences decoded at once."""


class Engine(Protocol):
    """Samples from the present policy."""

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """One completion a request, in the order of the requests, whose prompts may be of any lengths."""

    def texts(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """The text of token ids, as in a completion: without special tokens."""

    def sync(self) -> None:
        """Make the engine sample from the policy's present weights."""
