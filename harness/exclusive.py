"""One process at a time: an advisory lock that a dead process cannot keep."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prereg.problems import Problem, Refused


@contextmanager
def exclusive(path: Path, what: str, wait_seconds: float = 0.0) -> Iterator[None]:
    """Hold the lock file `path` while inside.

    Raises Refused, naming the holder, if another process still has it after `wait_seconds`; a second at
    least, since `is_held` takes it for an instant.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    deadline = time.monotonic() + max(1.0, wait_seconds)
    try:
        while not _taken(handle):
            if time.monotonic() >= deadline:
                holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
                raise Refused(
                    Problem(
                        f"{what} is already being run by process {holder}",
                        hint="wait for it, follow it with `harness status`, or stop it; nothing was changed",
                    )
                )
            time.sleep(0.1)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_held(path: Path) -> bool:
    """Whether a process holds the lock file `path` now."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
