"""An engine that counts what it generates, so that nothing generated for an update goes uncharged."""

from __future__ import annotations

from collections.abc import Sequence

from trainers.engines import Engine, Sampling
from trainers.types import Completion, Request


class CountedEngine:
    """Another engine, with the tokens that it has generated so far."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.generated = 0

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """As the engine does, and count."""
        completions = self._engine.generate(requests, sampling)
        self.generated += sum(len(c.token_ids) for c in completions)
        return completions

    def texts(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """As the engine does."""
        return self._engine.texts(sequences)

    def sync(self) -> None:
        """As the engine does."""
        self._engine.sync()

    def rest(self) -> None:
        """As the engine does."""
        self._engine.rest()

    def restart(self) -> None:
        """As the engine does."""
        self._engine.restart()

    def processes(self) -> list[int]:
        """As the engine does."""
        return self._engine.processes()

    def close(self) -> None:
        """As the engine does."""
        self._engine.close()
