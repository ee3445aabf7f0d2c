"""A process that only writes a ledger, until it is killed: `python -m tests.faults.ledger_child RUN STEPS`.

Each commit is acknowledged on standard output once `commit` has returned.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: F401  Arrow loads it at its first conversion; so a forked child need not.

from harness.ledger.compaction import compact
from harness.ledger.writer import LedgerWriter
from tests.harness.ledger import runs

CALLS = ("fsync", "rename", "replace", "unlink", "rmdir", "mkdir")
"""The calls by which a ledger changes the disk, or waits for it."""


def write(folder: Path, steps: int, acknowledge: Callable[[int], object]) -> None:
    """Go on from the last commit to `steps`, a commit a step, then compact."""
    if not (folder / "tables").exists():
        writer = LedgerWriter(folder, runs.RUN)
        for step in range(writer.step + 1, steps + 1):
            runs.append_step(writer, step)
            writer.heartbeat.beat(step, 1, 0.5, 0.5)
            writer.commit(step, runs.checkpoint_of(step))
            acknowledge(step)
    compact(folder)
    acknowledge(steps + 1)


def die_at(count: int) -> None:
    """Arrange that this process is killed just before its `count`-th call that changes the disk."""
    left = [count]

    def deadly(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return wrapped

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name)))


def write_and_die(folder: Path, steps: int, log: Path, calls: int) -> None:
    """`write`, acknowledging into `log`, killed before the given call; unharmed if there are fewer."""
    die_at(calls)
    with open(log, "a") as file:
        write(folder, steps, lambda step: (file.write(f"{step}\n"), file.flush()))


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]), lambda step: print(step, flush=True))
