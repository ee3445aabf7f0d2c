"""How long a person waits for the help text and for a lock: child processes, from start to end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.builtin import STUDY
from benchmarks.measuring import Document, Timing, child_environment, held, run_alone

ROUNDS = 7


def measure() -> Document:
    """Medians of wall seconds; the bare interpreter's start stands beside them."""
    bare, help_text, lock = Timing(), Timing(), Timing()
    once(Timing(), ["-m", "harness", "--help"])
    for _ in range(ROUNDS):
        once(bare, ["-c", "pass"])
        once(help_text, ["-m", "harness", "--help"])
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(STUDY, folder)
            once(lock, ["-m", "harness", "prereg", "lock", STUDY.name], Path(folder))
    found = {"python -c pass": bare, "harness --help": help_text, "harness prereg lock": lock}
    return {
        "what": "child processes from start to end",
        **{name: timing.summary() for name, timing in found.items()},
        "held": [
            held("harness --help, s", median(help_text.wall), at_most=0.3),
            held("harness prereg lock of the built-in study, s", median(lock.wall), at_most=3.0),
        ],
    }


def once(timing: Timing, arguments: list[str], folder: Path | None = None) -> float:
    """Run one child and return its wall seconds; raises RuntimeError, with what it printed, if it fails."""
    before, begun = os.times(), time.perf_counter()
    child = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=child_environment(), capture_output=True, text=True
    )
    wall, after = time.perf_counter() - begun, os.times()
    if child.returncode:
        raise RuntimeError(f"{arguments} failed:\n{child.stdout}{child.stderr}")
    timing.wall.append(wall)
    timing.cpu.append(sum(after[2:4]) - sum(before[2:4]))  # user and system time of children
    return wall


if __name__ == "__main__":
    run_alone(measure)
