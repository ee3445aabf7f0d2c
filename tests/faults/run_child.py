"""Runs cells in forked children that a test may kill: `python -m tests.faults.run_child FOLDER KILLS SEED`.

The parent has torch imported already, so a child is training within milliseconds. Prints how often each
part of a run's life was hit, as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from transformers import AutoModelForCausalLM, AutoTokenizer

from harness.builtin import ARITHMETIC_110K
from harness.cell_process import run_cell
from harness.cells import cells_of
from harness.folders import RunFolder
from prereg.source import load_study


def child(study_path: Path, folder: RunFolder) -> None:
    """One attempt at the first cell, in a process of its own."""
    study = load_study(study_path)
    cell = cells_of(study.study)[0]
    try:
        complete = run_cell(study.study, study.folder, cell, folder, {"lock": None}, orphaned=lambda: False)
    except BaseException as error:
        print(f"child: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0 if complete else 130)


def main(root: Path, kills: int, seed: int) -> None:
    """Kill `kills` attempts at random moments, then let one finish."""
    AutoModelForCausalLM.from_pretrained(ARITHMETIC_110K)  # so that children have every module already
    AutoTokenizer.from_pretrained(ARITHMETIC_110K)
    rng = random.Random(seed)
    study = root / "study.yaml"
    folder = RunFolder(root / "runs" / cells_of(load_study(study).study)[0].run_id)
    commits_seen: list[int] = []
    killed = 0
    longest = 1.0
    while True:
        pid = os.fork()
        if pid == 0:
            child(study, folder)
        if killed < kills:
            time.sleep(rng.uniform(0.0, longest))
            os.kill(pid, signal.SIGKILL)
        started = time.monotonic()
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            killed += 1
            commits = folder.path / "commits"
            commits_seen.append(len(list(commits.glob("0*"))) if commits.is_dir() else -1)
            # Progress must be possible: give later attempts more time if none was made.
            longest = min(4.0, longest * (1.15 if len(set(commits_seen[-4:])) == 1 else 1.0))
            continue
        code = os.WEXITSTATUS(status)
        print(json.dumps({
            "killed": killed, "exit": code, "commits_seen": commits_seen,
            "last_attempt_seconds": time.monotonic() - started,
        }))  # fmt: skip
        if code or killed >= kills or folder.finished:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
