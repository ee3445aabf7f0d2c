"""From a command line to one running cell: find it, see that it is what was locked, run it."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

from harness.cells import Cell, every_cell
from harness.roots import StudyRoot
from prereg.layout import StudyLayout
from prereg.lock import read_lock
from prereg.problems import LockMismatch, Problem, Refused
from prereg.source import load_study


def find_cell(path: Path, run_id: str, *, exploratory: bool) -> tuple[StudyRoot, Cell]:
    """The cell of that name, and the root of its study.

    The one who starts a study compares every source with the lock; here only the study itself is compared
    again, so that an edit between the two is found. Raises Refused or LockMismatch.
    """
    loaded = load_study(path)
    layout = StudyLayout.of(path)
    apart = StudyRoot.apart(loaded) if exploratory else None
    cells = {cell.run_id: cell for cell in every_cell((apart.loaded if apart else loaded).study)}
    if run_id not in cells:
        raise Refused(Problem(f"the study has no run {run_id!r}", file=str(path)))
    if apart is not None:
        return apart, cells[run_id]
    lock = read_lock(layout.lock)
    if lock.study != loaded.study:
        raise LockMismatch(Problem("the study was edited after it was locked", file=str(path)))
    return StudyRoot.locked(loaded, lock.sha256), cells[run_id]


def run_one(root: StudyRoot, cell: Cell, *, stop_with_parent: bool) -> bool:
    """Run the cell in this process; true if it is complete, false after a clean stop."""
    from harness.cell_process import run_cell

    identity = {
        "study": root.loaded.study.id,
        "lock": root.lock,
        "exploratory": root.exploratory,
    }
    return run_cell(
        root.loaded.study, root.loaded.folder, cell, root.folder(cell), identity,
        orphaned=_parent_watch() if stop_with_parent else lambda: False,
    )  # fmt: skip


def _parent_watch() -> Callable[[], bool]:
    """Whether the process that started this one is gone: with nobody to collect it, the run stops cleanly."""
    starter = multiprocessing.parent_process()
    if starter is not None:  # forked by a server on behalf of `harness run`
        return lambda: not starter.is_alive()
    parent = os.getppid()
    return lambda: os.getppid() != parent
