"""The meter of one run: seconds by phase and tokens by purpose, each counted exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.clock import Clock, Reading
from harness.ledger.schema import PHASES, PURPOSES, UNCHARGED_PHASES


@dataclass(slots=True)
class PhaseCost:
    """What one phase of one step cost."""

    device_seconds: float = 0.0
    wall_seconds: float = 0.0
    generated_tokens: int = 0
    prompt_tokens: int = 0
    flops: float = 0.0


Spent = dict[tuple[str, str | None], PhaseCost]
"""Cost by (phase, purpose of its tokens)."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A position on every axis. Evaluation and checkpoints are not in it."""

    updates: int = 0
    generated_tokens: int = 0
    device_seconds: float = 0.0
    train_flops: float = 0.0

    def on(self, axis: str) -> float:
        """The coordinate on an axis."""
        return float(getattr(self, axis))

    def plus(self, spent: Spent, updates: int) -> Cost:
        """After `updates` more updates that cost `spent`."""
        charged = [c for (phase, _), c in spent.items() if phase not in UNCHARGED_PHASES]
        return Cost(
            self.updates + updates,
            self.generated_tokens + sum(c.generated_tokens for c in charged),
            self.device_seconds + sum(c.device_seconds for c in charged),
            self.train_flops + sum(c.flops for c in charged),
        )


@dataclass(slots=True)
class RunMeter:
    """Implements `trainers.metering.Meter` on a clock.

    Time outside every phase is `idle`, so that the phases of a run always sum to the time that it held its
    device.
    """

    clock: Clock
    _spent: Spent = field(default_factory=dict)
    _since: Reading = field(init=False)
    _inside: Reading = field(default_factory=lambda: Reading(0.0, 0.0))
    _open: str | None = None

    def __post_init__(self) -> None:
        self._since = self.clock.read()

    @contextmanager
    def phase(self, name: str, purpose: str | None = None) -> Iterator[None]:
        """Charge the seconds inside to `name`. Raises ValueError for an unknown phase or a nested one."""
        if name not in PHASES or self._open is not None:
            raise ValueError(f"phase {name!r} is unknown, or begins inside {self._open!r}")
        self._open = name
        before = self.clock.read()
        try:
            yield
        finally:
            after = self.clock.read()
            self._charge((name, purpose), Reading(after.charged - before.charged, after.wall - before.wall))
            self._open = None

    def count(
        self, phase: str, purpose: str | None, *, generated: int = 0, prompt: int = 0, flops: float = 0.0
    ) -> None:
        """Count work of a phase, after it: tokens of a purpose, and operations."""
        if self._open is not None:
            raise ValueError(f"work is counted after its phase, but {self._open!r} is still open")
        if purpose is not None and purpose not in PURPOSES:
            raise ValueError(f"unknown purpose {purpose!r}")
        cost = self._spent.setdefault((phase, purpose), PhaseCost())
        cost.generated_tokens += generated
        cost.prompt_tokens += prompt
        cost.flops += flops
        moved = self.clock.work(tokens=generated, flops=flops)
        self._charge((phase, purpose), Reading(moved, moved))

    def take(self) -> Spent:
        """Everything spent since the last call, idle time included."""
        if self._open is not None:
            raise ValueError(f"phase {self._open!r} is still open")
        now = self.clock.read()
        if self.clock.runs_by_itself:
            self._charge(("idle", None), self._idle(now))
        self._since, self._inside = now, Reading(0.0, 0.0)
        spent, self._spent = self._spent, {}
        return spent

    def _idle(self, now: Reading) -> Reading:
        """Time since the last account that no phase covers."""
        return Reading(
            max(0.0, now.charged - self._since.charged - self._inside.charged),
            max(0.0, now.wall - self._since.wall - self._inside.wall),
        )

    def _charge(self, key: tuple[str, str | None], elapsed: Reading) -> None:
        cost = self._spent.setdefault(key, PhaseCost())
        cost.device_seconds += elapsed.charged
        cost.wall_seconds += elapsed.wall
        self._inside = Reading(self._inside.charged + elapsed.charged, self._inside.wall + elapsed.wall)
