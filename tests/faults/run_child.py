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
    """Kill `kills` attempts at random moments, then let one finish.

    On a fast machine a run may end before it was killed so often; then the next one begins, in a folder of
    its own.
    """
    AutoModelForCausalLM.from_pretrained(ARITHMETIC_110K)  # so that children have every module already
    AutoTokenizer.from_pretrained(ARITHMETIC_110K)
    rng = random.Random(seed)
    study = root / "study.yaml"
    run_id = cells_of(load_study(study).study)[0].run_id
    commits_seen: list[int] = []
    finished: list[str] = []
    while not finished or len(commits_seen) < kills:
        folder = RunFolder(root / "runs" / str(len(finished)) / run_id)
        before = count_commits(folder)
        pid = os.fork()
        if pid == 0:
            child(study, folder)
        if len(commits_seen) < kills:
            # Some attempts die while they load, the others after a commit or three: a count of commits and
            # not of seconds, so that a busy machine changes nothing.
            status = wait_or_kill(pid, folder, before + rng.choice([0, 1, 2, 3]), rng.uniform(0.0, 0.12))
        else:
            _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            commits_seen.append(count_commits(folder))
        elif code := os.WEXITSTATUS(status):
            raise SystemExit(code)
        else:
            finished.append(str(folder.path))
    print(json.dumps({"killed": len(commits_seen), "finished": finished, "commits_seen": commits_seen}))


def wait_or_kill(pid: int, folder: RunFolder, commits: int, delay: float) -> int:
    """Kill a child `delay` seconds after it has made so many commits; returns its exit status."""
    while count_commits(folder) < commits:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.005)
    time.sleep(delay)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def count_commits(folder: RunFolder) -> int:
    """Commits in place."""
    commits = folder.path / "commits"
    return sum(name.isdigit() for name in os.listdir(commits)) if commits.is_dir() else 0


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
