"""The gold answers of a study's benchmarks, after checking that they are those that were locked."""

from __future__ import annotations

from harness.owed import paid
from harness.tasks.resolve import load_task
from prereg.layout import StudyLayout
from prereg.lock import Lock
from prereg.problems import LockMismatch, Problem
from prereg.source import LoadedStudy

Golds = dict[str, dict[str, str]]
"""Gold answers by benchmark and problem."""


def read_golds(loaded: LoadedStudy, lock: Lock | None) -> Golds:
    """Read them. Raises LockMismatch if a problem set differs from the lock, and Refused if it cannot be
    had."""
    held = paid(StudyLayout.of(loaded.path).events) if lock is not None else {}
    golds: Golds = {}
    for name, benchmark in loaded.study.data.benchmarks.items():
        task = load_task(benchmark.source, loaded.folder)
        field = f"data.benchmarks.{name}"
        source = lock.sources.get(field) if lock is not None else None
        locked = None if source is None else held.get(field, ("", None))[1] if source.owed else source.sha256
        if locked is not None and locked != task.digest:
            message = f"the problems of {name} are not those that were locked"
            raise LockMismatch(
                Problem(message, hint="Restore them; their answers would be graded against others.")
            )
        golds[name] = {item.id: item.answer for item in task.items}
    return golds
