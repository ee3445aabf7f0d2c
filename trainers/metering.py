"""The meter's protocol: how a training run says what it spent, and on what."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class Meter(Protocol):
    """Charges seconds to phases and tokens to purposes. The harness writes them into the ledger."""

    def phase(self, name: str, purpose: str | None = None) -> AbstractContextManager[None]:
        """Seconds spent inside are charged to this phase, for tokens of `purpose`. Phases do not nest."""

    def count(
        self, phase: str, purpose: str | None, *, generated: int = 0, prompt: int = 0, flops: float = 0.0
    ) -> None:
        """Count a phase's work after it: generated and prefill tokens, and floating-point operations."""
