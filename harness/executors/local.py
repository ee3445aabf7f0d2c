"""Cells as processes of this machine, one a slot: a CPU core or a GPU."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import deque
from collections.abc import Sequence

from harness.executors import CellCommand, CellStatus, Handle
from harness.executors.warm import WarmProcess


class LocalExecutor:
    """A pool of slots. On GPUs each slot's process sees one device (CUDA_VISIBLE_DEVICES)."""

    def __init__(self, slots: int, devices: Sequence[str] = (), *, warm: bool = False) -> None:
        """`warm` forks cells from a server that has the libraries loaded; not for GPUs."""
        self._free = list(range(slots))[::-1]
        self._devices = tuple(devices)
        self._waiting: deque[CellCommand] = deque()
        self._warm = warm
        self._running: dict[str, tuple[subprocess.Popen[bytes] | WarmProcess, int]] = {}
        self._commands: dict[str, CellCommand] = {}
        self._ended: set[str] = set()

    def submit(self, commands: Sequence[CellCommand]) -> list[Handle]:
        """Queue commands; they start at the next polls, as slots become free."""
        self._waiting.extend(commands)
        self._commands |= {c.run_id: c for c in commands}
        return [Handle(c.run_id, "local", "") for c in commands]

    def poll(self) -> dict[str, CellStatus]:
        """Reap what has ended, start what can be started, and say how all of them stand."""
        for run_id, (process, slot) in list(self._running.items()):
            if process.poll() is not None:
                del self._running[run_id]
                self._free.append(slot)
                self._ended.add(run_id)
        while self._free and self._waiting:
            self._start(self._waiting.popleft())
        state: dict[str, CellStatus] = dict.fromkeys(self._ended, "ended")
        state |= dict.fromkeys(self._running, "running")
        state |= {c.run_id: "waiting" for c in self._waiting}
        return state

    def cancel(self) -> None:
        """Forget the waiting cells and interrupt the running ones, which commit and end."""
        self._waiting.clear()
        for process, _ in self._running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """End the running cells at once; their work since the last commit is lost, and recorded as lost."""
        self._waiting.clear()
        for process, _ in self._running.values():
            process.kill()
        for process, _ in self._running.values():
            process.wait()

    def logs(self, handle: Handle) -> str:
        """What the cell printed so far."""
        log = self._commands[handle.run_id].log
        return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""

    def _start(self, cell: CellCommand) -> None:
        slot = self._free.pop()
        environment = dict(cell.environment)
        if self._devices:
            environment["CUDA_VISIBLE_DEVICES"] = self._devices[slot % len(self._devices)]
        cell.log.parent.mkdir(parents=True, exist_ok=True)
        process = WarmProcess(cell, environment) if self._warm else _cold_process(cell, environment)
        self._running[cell.run_id] = (process, slot)


def _cold_process(cell: CellCommand, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    with open(cell.log, "ab") as log:
        # A session of its own, so that Ctrl-C at the terminal reaches the cells only through `cancel`.
        return subprocess.Popen(
            cell.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | environment,
            start_new_session=True,
        )  # fmt: skip
