"""Locking a study, and comparing one with its lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cells import finished_in
from harness.now import utc_now
from harness.resolving import Resolved, resolve_sources
from harness.versions import code_version, environment
from prereg.checks import check
from prereg.difference import Difference, compare, mismatch
from prereg.events import LoggedEvent, append_event, head, read_events
from prereg.layout import StudyLayout
from prereg.lock import Lock, LockedPower, make_lock, read_lock, write_lock
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
    _refuse_traces(loaded, layout)
    resolved = resolve_sources(loaded)
    if resolved.problems:
        raise Refused(*resolved.problems)
    power = _power(loaded, resolved)
    now = utc_now()
    code = code_version()
    lock = make_lock(loaded, resolved.sources, environment(), code, now, power)
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


def _power(loaded: LoadedStudy, resolved: Resolved) -> dict[str, LockedPower]:
    """The simulated power of every hypothesis with assumptions. Raises Refused where it is too low."""
    from harness.powering import locked_power  # here, so that a run does not load the analysis

    sizes = {name: resolved.sources[f"data.benchmarks.{name}"].items for name in loaded.study.data.benchmarks}
    power, problems = locked_power(loaded, {name: size or 0 for name, size in sizes.items()})
    if problems:
        raise Refused(*problems)
    return power


def locked_study(path: Path) -> LockedStudy:
    """A study under its lock, and with the event log that belongs to it.

    Raises LockMismatch, naming every field, if it differs from its lock, and naming what is gone or altered
    in its records.
    """
    loaded = load_study(path)
    layout = StudyLayout.of(path)
    lock = read_lock(layout.lock)
    differences = differences_from(lock, loaded)
    refused = mismatch(differences, loaded)
    if refused is not None:
        raise refused
    if damaged := verify_log(layout, lock):
        raise LockMismatch(*damaged)
    return LockedStudy(loaded, layout, lock, differences)


def differences_from(lock: Lock, loaded: LoadedStudy) -> tuple[Difference, ...]:
    """Everything that differs from the lock now; reads all sources."""
    return compare(lock, loaded, resolve_sources(loaded).sources, environment(), code_version())


def verify_log(layout: StudyLayout, lock: Lock) -> tuple[Problem, ...]:
    """What is wrong: a damaged log, one of another lock, or a finished run that is gone from the disk."""
    log = str(layout.events)
    try:
        events = read_events(layout.events).events
    except LockMismatch as error:
        return error.problems
    if not events:
        return (Problem("the event log is missing or empty", file=log),)
    if events[0].kind != "lock" or events[0].data.get("lock") != lock.sha256:
        return (Problem("the event log does not begin with this lock", file=log, line=1),)
    hint = "a finished run is not made again under the same lock; restore its folder from a copy"
    # The log is read first: a run that ends meanwhile is on the disk before it is in the log.
    finished = finished_in(layout.runs, lock.study)
    gone = [run for run in finished_runs(events) if run not in finished]
    return tuple(
        Problem(f"the event log says that run {run} finished, but it is not there", file=log, hint=hint)
        for run in gone
    )


def verify_ends(layout: StudyLayout, finished: Sequence[str]) -> tuple[Problem, ...]:
    """Finished runs whose end an intact event log does not hold.

    That gives a log away whose last entries were cut off cleanly, which is intact in itself. While the study
    runs, an end may be on the disk a moment before it is in the log.
    """
    known = finished_runs(read_events(layout.events).events)
    hint = "`harness run` records an end that was missed in a crash; otherwise restore the log from a copy"
    return tuple(
        Problem(f"the event log does not hold the end of run {run}", file=str(layout.events), hint=hint)
        for run in finished
        if run not in known
    )


def finished_runs(events: Sequence[LoggedEvent]) -> dict[str, str]:
    """The content digest that the log holds of each finished run, by run id."""
    return {str(e.data["run"]): str(e.data.get("content_digest")) for e in events if e.kind == "run_finished"}


def _refuse_traces(loaded: LoadedStudy, layout: StudyLayout) -> None:
    """Refuse to lock beside a lock, a log or runs of before, or after runs that the study denies."""
    if layout.lock.exists():
        hint = "a lock is made once; `harness prereg verify` compares the study with it"
        raise Refused(Problem("the study is locked already", file=str(layout.lock), hint=hint))
    for path, what in ((layout.runs, "runs"), (layout.events, "an event log")):
        if path.is_file() or (path.is_dir() and any(p.is_dir() for p in path.iterdir())):
            raise Refused(
                Problem(
                    f"{what} of an earlier lock stand here, so a new lock could not say that it came first",
                    file=str(path),
                    hint="move them away if they belong to another study",
                )
            )
    if loaded.study.data_status.seen == "nothing" and (tried := _exploratory_runs(layout)):
        message = f"nothing was seen, it says, but there are exploratory runs: {', '.join(tried[:5])}"
        hint = (
            "say `seen: pilot_runs`, name their seeds in `pilot_seeds` and use others, or move "
            f"{layout.exploratory.name} away if it is of another study"
        )
        raise Refused(loaded.problem(message, "data_status", "seen", hint=hint))


def _exploratory_runs(layout: StudyLayout) -> list[str]:
    if not layout.exploratory.is_dir():
        return []
    return sorted(p.name for p in layout.exploratory.iterdir() if (p / "run.json").is_file())
