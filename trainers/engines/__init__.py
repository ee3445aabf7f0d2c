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


class EngineDied(RuntimeError):
    """The engine's process ended under a request. After `Engine.restart` the request can be made again."""


class Engine(Protocol):
    """Samples from the present policy."""

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """One completion a request, in the order of the requests, whose prompts may be of any lengths."""

    def texts(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """The text of token ids, as in a completion: without special tokens."""

    def sync(self) -> None:
        """Make the engine sample from the policy's present weights."""

    def rest(self) -> None:
        """Generation pauses: give back what memory can be given back. `generate` ends the rest."""

    def restart(self) -> None:
        """Begin again after `EngineDied`, with the policy's present weights."""

    def processes(self) -> list[int]:
        """Ids of the processes that work for the engine outside this one; their time is charged too."""

    def close(self) -> None:
        """End those processes."""
