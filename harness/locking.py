"""Locking a study, and comparing one with its lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.now import utc_now
from harness.resolving import resolve_sources
from harness.versions import code_version, environment
from prereg.checks import check
from prereg.difference import Difference, compare, mismatch
from prereg.events import LoggedEvent, append_event, head, read_events
from prereg.layout import StudyLayout
from prereg.lock import Lock, make_lock, read_lock, write_lock
from prereg.problems import LockMismatch, Problem, Refused
from prereg.source import LoadedStudy, load_study


@dataclass(frozen=True, slots=True)
class LockedStudy:
    """A study that agrees with its lock."""

    loaded: LoadedStudy
    layout: StudyLayout
    lock: Lock
    differences: tuple[Difference, ...]
    """What differs without refusing a run: the environment, the commit, comments in the file."""


def lock_study(path: Path) -> tuple[Lock, tuple[str, ...], str]:
    """Check a study, resolve its sources, write its lock and begin its event log.

    Returns the lock, notes on what was found and allowed, and the head of the event log. Raises Refused,
    naming every line, if the study cannot be locked, is locked already, or has runs.
    """
    loaded = load_study(path)
    layout = StudyLayout.of(path)
    check(loaded)
    _refuse_runs(layout)
    resolved = resolve_sources(loaded)
    if resolved.problems:
        raise Refused(*resolved.problems)
    now = utc_now()
    code = code_version()
    lock = make_lock(loaded, resolved.sources, environment(), code, now)
    write_lock(lock, layout.lock)
    summary = f"locked {loaded.study.id} as {lock.sha256}"
    append_event(layout.events, "lock", summary, now, {"lock": lock.sha256})
    notes = resolved.notes
    if code.dirty:
        notes = (
            *notes,
            "the code differs from its git commit; the lock holds a digest of the files themselves",
        )
    return lock, notes, head(layout.events)


def locked_study(path: Path) -> LockedStudy:
    """A study under its lock. Raises LockMismatch, naming every field, if it differs from it."""
    loaded = load_study(path)
    layout = StudyLayout.of(path)
    lock = read_lock(layout.lock)
    differences = differences_from(lock, loaded)
    refused = mismatch(differences, loaded)
    if refused is not None:
        raise refused
    return LockedStudy(loaded, layout, lock, differences)


def differences_from(lock: Lock, loaded: LoadedStudy) -> tuple[Difference, ...]:
    """Everything that differs from the lock now; reads all sources."""
    return compare(lock, loaded, resolve_sources(loaded).sources, environment(), code_version())


def verify_records(layout: StudyLayout, lock: Lock, finished: Sequence[str]) -> tuple[Problem, ...]:
    """What is wrong with the event log of a locked study whose runs `finished` are complete on disk.

    A log whose last entries were cut off cleanly is intact in itself; that a finished run is not in it gives
    that away.
    """
    log = str(layout.events)
    try:
        events = read_events(layout.events).events
    except LockMismatch as error:
        return error.problems
    if not events:
        return (Problem("the event log is missing or empty", file=log),)
    if events[0].kind != "lock" or events[0].data.get("lock") != lock.sha256:
        return (Problem("the event log does not begin with this lock", file=log, line=1),)
    hint = (
        "`harness run` records a run whose end was missed in a crash; otherwise restore the log from a copy"
    )
    missing = [run for run in finished if run not in finished_runs(events)]
    return tuple(
        Problem(f"the event log does not hold the end of run {run}", file=log, hint=hint) for run in missing
    )


def finished_runs(events: Sequence[LoggedEvent]) -> dict[str, str]:
    """The content digest that the log holds of each finished run, by run id."""
    return {str(e.data["run"]): str(e.data.get("content_digest")) for e in events if e.kind == "run_finished"}


def _refuse_runs(layout: StudyLayout) -> None:
    if layout.runs.exists() and any(p.is_dir() for p in layout.runs.iterdir()):
        raise Refused(
            Problem(
                "there are runs already, so a lock could no longer say that it came before them",
                file=str(layout.runs),
                hint="move them away if they belong to another study",
            )
        )
