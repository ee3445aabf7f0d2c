"""The meter's protocol: how a training run says what it spent, and on what."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class Meter(Protocol):
    """Charges seconds to phases and tokens to purposes. The harness writes them into the ledger."""

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Seconds spent inside are charged to this phase. Phases do not nest."""

    def tokens(self, phase: str, purpose: str, *, generated: int, prompt: int) -> None:
        """Count tokens generated in `phase` for `purpose`, and their prefill tokens."""

    def flops(self, phase: str, operations: float) -> None:
        """Count floating-point operations, computed from the model and the counted tokens."""
