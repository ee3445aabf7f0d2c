"""The locks of a study, the first and each by which it was amended, and what the event log says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.folders import RunFolder
from harness.ledger.reader import last_commit
from prereg.events import LoggedEvent, read_events
from prereg.layout import StudyLayout
from prereg.lock import Lock, read_lock
from prereg.problems import LockMismatch, Problem, Refused

ATTEMPTS = ("run_started", "run_resumed", "run_failed", "run_finished")
"""Kinds of events that tell of a run."""


def read_chain(layout: StudyLayout) -> tuple[Lock, ...]:
    """Every lock of the study, the present one last, each verified and each pointing at the one before.

    Raises Refused if the study is not locked, and LockMismatch if a lock was altered or is missing.
    """
    present = read_lock(layout.lock)
    count = 0 if present.amends is None else present.amends.number
    locks: list[Lock] = []
    for number in range(1, count + 1):
        file = layout.earlier_lock(number)
        if not file.exists():
            hint = "An amended study needs every lock before; restore it from a copy."
            raise LockMismatch(Problem("an earlier lock of this study is missing", file=str(file), hint=hint))
        locks.append(read_lock(file))
    locks.append(present)
    for index, lock in enumerate(locks):
        before = locks[index - 1].sha256 if index else None
        if (lock.amends.previous if lock.amends else None) != before or (
            lock.amends is not None and lock.amends.number != index
        ):
            file = layout.lock if lock is present else layout.earlier_lock(index + 1)
            raise LockMismatch(Problem("the lock does not follow the one before it", file=str(file)))
    return tuple(locks)


def accepted_locks(chain: Sequence[Lock]) -> tuple[str, ...]:
    """The locks whose runs are runs of the present plan: back to the last amendment that set runs aside."""
    accepted: list[str] = []
    for lock in reversed(chain):
        accepted.append(lock.sha256)
        if lock.amends is not None and lock.amends.runs_set_aside:
            break
    return tuple(accepted)


def verify_log(layout: StudyLayout, chain: Sequence[Lock]) -> tuple[Problem, ...]:
    """What is wrong: a damaged log, one of other locks, or a finished run that is gone from the disk."""
    log = str(layout.events)
    try:
        events = read_events(layout.events).events
    except LockMismatch as error:
        return error.problems
    if not events:
        hint = "If nothing was run yet, `harness prereg lock` completes a lock that was cut off."
        return (Problem("the event log is missing or empty", file=log, hint=hint),)
    if events[0].kind != "lock" or events[0].data.get("lock") != chain[0].sha256:
        return (Problem("the event log does not begin with this lock", file=log, line=1),)
    if problems := tuple(_chain_faults(log, events, chain)):
        return problems
    hint = "a finished run is not made again under the same lock; restore its folder from a copy"
    # The log is read first: a run that ends meanwhile is on the disk before it is in the log.
    return tuple(
        Problem(f"the event log says that run {run} finished, but it is not there", file=log, hint=hint)
        for run, folder in _finished_places(layout, events)
        if not folder.finished
    )


def vanished(layout: StudyLayout, events: Sequence[LoggedEvent]) -> Iterator[str]:
    """Runs that started and did not finish, by the log, and of which less is there than was; in words.

    They count for nothing, but what they had shown until then is part of the record: whether a run that was
    given up failed of itself can be seen there and nowhere else.
    """
    for folder, runs in _places(layout, events):
        for run, told in runs.items():
            kinds = {event.kind for event in told}
            if "run_finished" in kinds:
                continue
            what = "failed" if "run_failed" in kinds else "started"
            place = folder / run
            if not place.is_dir() or not any(place.iterdir()):
                yield f"the event log says that run {run} {what}, but its folder is gone"
                continue
            had = max((n for event in told if isinstance(n := event.data.get("commits"), int)), default=0)
            there = _commits(place)
            if there is not None and there < had:
                yield (
                    f"the event log says that run {run} {what} after commit {had}, but the last one there is "
                    f"{there}"
                )


def finished_runs(events: Sequence[LoggedEvent]) -> dict[str, str]:
    """The content digest that the log holds of each finished run of the present plan, by run id."""
    found: dict[str, str] = {}
    for event in events:
        if event.kind == "amendment" and event.data.get("runs_set_aside"):
            found.clear()
        elif event.kind == "run_finished":
            found[str(event.data["run"])] = str(event.data.get("content_digest"))
    return found


def _chain_faults(log: str, events: Sequence[LoggedEvent], chain: Sequence[Lock]) -> Iterator[Problem]:
    """Where the log's locks and amendments are not the locks that lie beside it."""
    logged = [event for event in events if event.kind in ("lock", "amendment")]
    for event, lock in zip(logged[1:], chain[1:], strict=False):
        if event.kind != "amendment" or event.data.get("lock") != lock.sha256:
            yield Problem("the event log holds another lock here", file=log, line=event.number)
            return
    if len(logged) > len(chain):
        line = logged[len(chain)].number
        yield Problem("the event log holds an amendment whose lock is not here", file=log, line=line)
    elif len(logged) < len(chain):
        hint = "`harness prereg amend` completes an amendment that was cut off."
        yield Problem("the event log does not hold the last amendment", file=log, hint=hint)


def _finished_places(layout: StudyLayout, events: Sequence[LoggedEvent]) -> Iterator[tuple[str, RunFolder]]:
    """Each finished run of the log, and where it must lie."""
    for folder, runs in _places(layout, events):
        for run, told in runs.items():
            if any(event.kind == "run_finished" for event in told):
                yield run, RunFolder(folder / run)


def _places(
    layout: StudyLayout, events: Sequence[LoggedEvent]
) -> Iterator[tuple[Path, dict[str, list[LoggedEvent]]]]:
    """Each folder of runs, and what the log tells of the runs in it.

    Runs lie where they were made, or where an amendment set them aside.
    """
    pending: dict[str, list[LoggedEvent]] = {}
    number = 0
    for event in events:
        if event.kind in ATTEMPTS:
            pending.setdefault(str(event.data.get("run")), []).append(event)
        elif event.kind == "amendment":
            number += 1
            if event.data.get("runs_set_aside"):
                yield layout.earlier_runs(number), pending
                pending = {}
    yield layout.runs, pending


def _commits(folder: Path) -> int | None:
    """Commits that a run has in place; None if that cannot be read."""
    try:
        return last_commit(folder)
    except Refused:
        return None
