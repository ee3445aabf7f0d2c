"""Worker processes that can be killed at any moment, at the cost of one answer.

Each worker is a process of its own with a memory limit; requests and replies are JSON lines over pipes.
The parent holds the clock: a worker that has not replied in time is killed and another takes its place.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from harness.grading import math_worker

START_SECONDS = 120.0
"""Time that a new worker is given to import what it needs."""
STARTS = 9
"""Workers in a row that may die before they come to life; beyond, the machine or the installation is at
fault."""
PAUSE_SECONDS = 0.05
"""Before a start that follows a failed one; twice as long after each further one, up to LONGEST_PAUSE: a
machine that is short of memory for a moment kills whatever is starting."""
LONGEST_PAUSE = 4.0
LONGEST_REPLY = 2**20
"""Bytes without an end of line after which a worker is not listened to any more."""


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    task: int | None = None
    deadline: float = 0.0
    ready: bool = False
    heard: bytes = b""


class WorkerError(Exception):
    """A worker does not start."""


class Pool:
    """Answers requests with up to `size` workers. Not for use by several threads at once."""

    def __init__(self, size: int, seconds: float, memory_mb: int, script: Path | None = None) -> None:
        self._size = size
        self._seconds = seconds
        path = script or Path(math_worker.__file__)
        # -P keeps the script's own folder off the module path: its neighbours have names like `math`.
        self._command = [sys.executable, "-P", str(path), str(memory_mb), str(seconds)]
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()
        self._failed_starts = 0
        self.killed = 0
        """Workers that had to be killed or died."""

    def run(self, requests: Sequence[dict[str, Any]]) -> list[str]:
        """The state for each request, in order; `limit` for one whose worker was killed or died.

        Raises WorkerError if new workers do not come to life, several in a row.
        """
        try:
            return self._run(requests)
        except BaseException:
            # Replies to this call must not be taken for replies to the next.
            for worker in list(self._workers):
                self._end(worker)
            raise

    def close(self) -> None:
        """End all workers."""
        for worker in list(self._workers):
            self._end(worker)
        self._selector.close()

    def _run(self, requests: Sequence[dict[str, Any]]) -> list[str]:
        states = ["limit"] * len(requests)
        waiting = deque(range(len(requests)))
        for worker in [w for w in self._workers if w.process.poll() is not None]:
            self._end(worker)
        while waiting or self._busy():
            while len(self._workers) < min(self._size, len(waiting) + self._busy()):
                self._start()
            for worker in list(self._workers):
                if worker.ready and worker.task is None and waiting:
                    self._send(worker, waiting.popleft(), requests)
            self._listen(states)
        return states

    def _busy(self) -> int:
        return sum(worker.task is not None for worker in self._workers)

    def _start(self) -> None:
        if self._failed_starts:
            # Replies wait in their pipes meanwhile, and are heard before any deadline is looked at.
            time.sleep(min(PAUSE_SECONDS * 2 ** (self._failed_starts - 1), LONGEST_PAUSE))
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        worker = _Worker(process, deadline=time.monotonic() + START_SECONDS)
        self._workers.append(worker)
        self._selector.register(cast(Any, process.stdout), selectors.EVENT_READ, worker)

    def _send(self, worker: _Worker, task: int, requests: Sequence[dict[str, Any]]) -> None:
        worker.task, worker.deadline = task, time.monotonic() + self._seconds
        line = json.dumps({**requests[task], "id": task}).encode() + b"\n"
        stdin = worker.process.stdin
        assert stdin is not None
        # A worker that died while idle is noticed by the end of its replies.
        with contextlib.suppress(BrokenPipeError):
            stdin.write(line)
            stdin.flush()

    def _listen(self, states: list[str]) -> None:
        due = min((w.deadline for w in self._workers if w.task is not None or not w.ready), default=0.0)
        for key, _ in self._selector.select(max(0.0, due - time.monotonic())):
            worker = key.data
            data = worker.process.stdout.read1(65536)
            worker.heard += data
            *lines, worker.heard = worker.heard.split(b"\n")
            for line in lines:
                self._hear(worker, line, states)
            if not data or len(worker.heard) > LONGEST_REPLY:
                self._lost(worker)
        now = time.monotonic()
        for worker in list(self._workers):
            if (worker.task is not None or not worker.ready) and now >= worker.deadline:
                self._lost(worker)

    def _hear(self, worker: _Worker, line: bytes, states: list[str]) -> None:
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            # Whatever speaks there is not the worker as it was written.
            self._lost(worker)
        elif reply.get("ready"):
            worker.ready = True
            self._failed_starts = 0
        elif reply.get("id") == worker.task and worker.task is not None:
            states[worker.task] = str(reply.get("state"))
            worker.task = None
            if states[reply["id"]] == "limit":
                # Its memory is not to be trusted any more, and it is about to leave.
                self._lost(worker)
            elif reply.get("last") and worker in self._workers:
                self._end(worker)

    def _lost(self, worker: _Worker) -> None:
        """A worker that died, or that is out of time: its answer keeps the state `limit`."""
        if worker not in self._workers:
            return
        self._end(worker)
        self.killed += 1
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                self._failed_starts = 0
                raise WorkerError(
                    f"a grading process did not start (exit status {worker.process.returncode})"
                )

    def _end(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        self._selector.unregister(cast(Any, worker.process.stdout))
        worker.process.kill()
        for stream in (worker.process.stdin, worker.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        worker.process.wait()
