"""Clocks: what a second is, and who is charged for it.

On a GPU a charged second is a wall second on each device held, as Slurm accounts them. On a CPU it is a
second of the process's CPU time, since wall time on shared cores measures the neighbours. The `counted`
clock is for rehearsals and tests: its seconds are a fixed price of the counted work.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import psutil


@dataclass(frozen=True, slots=True)
class Reading:
    """A point in time on both clocks, seconds from an arbitrary origin."""

    charged: float
    wall: float


class Clock(Protocol):
    """Reads time, and is told of counted work."""

    devices: int
    device_kind: str
    runs_by_itself: bool
    """Whether time passes without counted work, so that there can be idle time."""

    def read(self) -> Reading:
        """Now, after all work queued on the device is done."""

    def work(self, *, tokens: int = 0, flops: float = 0.0) -> float:
        """Seconds by which counted work moves the clock; 0 for a real one, which moves by itself."""


class CpuClock:
    """CPU time (all threads) of the process and its helpers is charged; the wall clock stands beside it."""

    devices = 1
    device_kind = "cpu"
    runs_by_itself = True

    def __init__(self, helpers: Callable[[], Sequence[int]] = tuple) -> None:
        """`helpers` gives the ids of the processes that work for this one, such as an engine's."""
        self._helpers = helpers
        self._seen: dict[int, float] = {}

    def read(self) -> Reading:
        """CPU seconds and wall seconds. A helper that has died keeps the seconds last seen of it."""
        for pid in self._helpers():
            with contextlib.suppress(psutil.Error):
                times = psutil.Process(pid).cpu_times()
                self._seen[pid] = times.user + times.system
        return Reading(time.process_time() + sum(self._seen.values()), time.perf_counter())

    def work(self, *, tokens: int = 0, flops: float = 0.0) -> float:
        """Real clocks move by themselves."""
        return 0.0


class CudaClock:
    """Wall seconds x devices, read after the device has finished its queue."""

    runs_by_itself = True

    def __init__(self, devices: int = 1) -> None:
        import torch

        self._synchronize = torch.cuda.synchronize
        self.devices = devices
        self.device_kind = torch.cuda.get_device_name()

    def read(self) -> Reading:
        """Wall seconds, charged once a device."""
        self._synchronize()
        wall = time.perf_counter()
        return Reading(wall * self.devices, wall)

    def work(self, *, tokens: int = 0, flops: float = 0.0) -> float:
        """Real clocks move by themselves."""
        return 0.0


class CountedClock:
    """A played clock: 20 microseconds a generated token and a second for 25 GFLOP of other work.

    Two runs of one study read the same seconds, so everything that depends on time can be tested to the
    byte. Reports of such a study say so.
    """

    devices = 1
    device_kind = "counted"
    runs_by_itself = False
    SECONDS_PER_TOKEN = 2e-5
    SECONDS_PER_FLOP = 1 / 25e9

    def __init__(self) -> None:
        self._seconds = 0.0

    def read(self) -> Reading:
        """The seconds that the counted work has cost so far."""
        return Reading(self._seconds, self._seconds)

    def work(self, *, tokens: int = 0, flops: float = 0.0) -> float:
        """Move by the price of the work."""
        price = tokens * self.SECONDS_PER_TOKEN + flops * self.SECONDS_PER_FLOP
        self._seconds += price
        return price


def make_clock(kind: str, device: str, helpers: Callable[[], Sequence[int]] = tuple) -> Clock:
    """The clock of a study: `counted`, or the device's own. `helpers` as in `CpuClock`."""
    if kind == "counted":
        return CountedClock()
    return CudaClock() if device == "cuda" else CpuClock(helpers)
