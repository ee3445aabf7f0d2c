"""How far a run has come since its last commit, in a small file beside the ledger.

The file is replaced whole but not flushed: it is there so that a killed run can say what it lost, and so
that `status` can show a run that has not committed yet. A machine that loses power may lose it too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.ledger.durable import replace_file

NAME = "heartbeat.json"
MIN_SECONDS = 2.0
"""Shortest time between two writes."""


@dataclass(frozen=True, slots=True)
class Beat:
    """Progress since the last commit."""

    commit: int
    """The last commit; 0 if there is none."""
    committed_step: int
    step: int
    """Update that has begun."""
    generated_tokens: int
    """Charged tokens since the last commit."""
    device_seconds: float
    """Charged seconds since the last commit."""
    wall_seconds: float
    lost: tuple[dict[str, Any], ...] = ()
    """Rows of `lost` that wait for the next commit."""

    def as_lost(self) -> dict[str, Any]:
        """What is lost if the run is cut off here, as a row of `lost`."""
        return {
            "after_commit": self.commit,
            "steps": max(0, self.step - self.committed_step),
            "generated_tokens": self.generated_tokens,
            "device_seconds": self.device_seconds,
            "wall_seconds": self.wall_seconds,
        }


class Heartbeat:
    """Writes the beats of one run, at most every `MIN_SECONDS`."""

    def __init__(self, folder: Path, state: Beat, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = folder / NAME
        self._state = state
        self._clock = clock
        self._next = float("-inf")

    @staticmethod
    def opened(folder: Path, commit: int, step: int) -> tuple[Heartbeat, list[dict[str, Any]]]:
        """The heartbeat of a ledger that is opened at `commit`, and the rows of `lost` that are due.

        A ledger that has neither a commit nor a heartbeat is new, and nothing is lost.
        """
        last = read_beat(folder)
        fresh = Beat(commit, step, step, 0, 0.0, 0.0)
        lost: list[dict[str, Any]] = []
        if last is not None and last.commit == commit:
            lost = [*last.lost, last.as_lost()]
        elif last is not None or commit:
            lost = [fresh.as_lost()]
        heartbeat = Heartbeat(folder, Beat(commit, step, step, 0, 0.0, 0.0, tuple(lost)))
        heartbeat._write()
        return heartbeat, lost

    def beat(self, step: int, generated_tokens: int, device_seconds: float, wall_seconds: float) -> None:
        """Record that update `step` has begun, and what was spent since the last commit.

        Cheap: most calls only look at the clock. A disk that is full does not stop the run here; its next
        commit will say so.
        """
        now = self._clock()
        if now < self._next:
            return
        self._next = now + MIN_SECONDS
        old = self._state
        self._state = Beat(
            old.commit, old.committed_step, step, generated_tokens, device_seconds, wall_seconds, old.lost
        )
        self._write()

    def committed(self, commit: int, step: int) -> None:
        """Start again from a new commit."""
        self._state = Beat(commit, step, step, 0, 0.0, 0.0)
        self._next = float("-inf")
        self._write()

    def _write(self) -> None:
        try:
            replace_file(self._path, json.dumps(asdict(self._state)).encode())
        except OSError:
            self._next = self._clock() + MIN_SECONDS


def read_beat(folder: Path) -> Beat | None:
    """The last heartbeat; None if there is none or it cannot be read, since it is not part of the ledger."""
    try:
        data = json.loads((folder / NAME).read_bytes())
        return Beat(**{**data, "lost": tuple(data["lost"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None
