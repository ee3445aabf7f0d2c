"""One process at a time: an advisory lock that a dead process cannot keep."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prereg.problems import Problem, Refused


@contextmanager
def exclusive(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file `path` while inside. Raises Refused, naming the holder, if another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(handle, 32).decode("ascii", "replace").strip() or "unknown"
            raise Refused(
                Problem(
                    f"{what} is already being run by process {holder}",
                    hint="wait for it, follow it with `harness status`, or stop it with Ctrl-C; nothing was changed",
                )
            ) from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)
