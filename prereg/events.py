"""The event log: what was done under a lock, one JSON line an event, each chained to the one before.

An entry holds its number, the SHA-256 of the entry before it and its own. So reading finds, and names by
line, an entry that was edited, removed from the inside, moved or repeated.

What it cannot find: the last entries cut off cleanly, or the whole log made anew, by someone who can write
to the folder. Against both helps only the head (the last entry's SHA-256) where others have seen it, which is
why commands print it. An entry cut off by a crash is not that: it lacks its line end, is recognised, and is
kept in the next entry.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from prereg.canonical import canonical_bytes, digest_of
from prereg.lock import utc_text
from prereg.problems import LockMismatch, Problem, Refused

EventKind = Literal[
    "lock", "run_started", "run_resumed", "run_finished", "run_failed", "evaluated", "look", "report",
    "amendment", "receipt", "prediction", "source", "regrade", "trial", "reserve",
]  # fmt: skip
"""`look`: results were seen before all runs were complete. `source`: the digest that the lock owed.
`regrade`: stored texts were graded again. `trial`: exploratory runs began beside the lock.
`reserve`: a reserve seed was drawn."""

KINDS: tuple[EventKind, ...] = get_args(EventKind)
NO_EVENT = "0" * 64
"""`previous` of the first event, and the head of an empty log."""
WAIT_SECONDS = 30.0
"""How long an append waits for another process that holds the log."""

_FIELDS = {"at", "data", "kind", "number", "previous", "sha256", "summary", "torn"}


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An entry of the log."""

    number: int
    """From 1."""
    at: str
    """UTC, by the clock of the machine."""
    kind: EventKind
    summary: str
    """In words."""
    data: Mapping[str, Any]
    """JSON data."""
    previous: str
    sha256: str
    torn: bytes | None = None
    """What a crash had left of an entry between the one before and this one."""


@dataclass(frozen=True, slots=True)
class EventLog:
    """A log that was read and verified."""

    events: tuple[LoggedEvent, ...] = ()
    torn: bytes | None = None
    """What a crash left of a last entry; the next append records it."""

    @property
    def head(self) -> str:
        """SHA-256 of the last entry, which stands for the whole log."""
        return self.events[-1].sha256 if self.events else NO_EVENT


def read_events(path: Path) -> EventLog:
    """Read a log and verify its chain; a log that does not exist is empty.

    Raises LockMismatch with every line that is not as it was written.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return EventLog()
    except OSError as error:
        raise _unusable(path, "read", error) from None
    lines = content.split(b"\n")
    tail = lines.pop()
    parsed = [_parse(line) for line in lines]
    problems = [_at(path, i, fault) for i, fault in enumerate(parsed) if isinstance(fault, str)]
    problems += [_at(path, i, fault) for i, fault in _chain_faults(parsed)]
    if tail and not _is_torn(tail):
        problems.append(_at(path, len(lines), "this is no entry, nor what a crash leaves of one"))
    if problems:
        raise LockMismatch(*sorted(problems, key=lambda p: p.line or 0))
    return EventLog(tuple(event for event in parsed if isinstance(event, LoggedEvent)), tail or None)


def head(path: Path) -> str:
    """SHA-256 of the last entry of a verified log; 64 zeros if there is none."""
    return read_events(path).head


def append_event(
    path: Path, kind: EventKind, summary: str, at: datetime, data: Mapping[str, Any] | None = None
) -> LoggedEvent:
    """Append one event, durably: when this returns, it survives a crash.

    Processes take turns by a file lock. The last entry is verified, not the whole log, so that appending
    takes no longer as the log grows. Raises Refused if the log cannot be written (then it is as before), and
    LockMismatch if its last entry was altered.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o644)
    except OSError as error:
        raise _unusable(path, "opened", error) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Refused(Problem("the event log is not a regular file", file=str(path)))
        _take_lock(descriptor, path)
        size = os.fstat(descriptor).st_size
        last, torn = _read_end(descriptor, size, path)
        line = _line(last, torn, kind, summary, at, data or {})
        _write(descriptor, path, line, size, size - len(torn))
        if size == 0:
            _sync_folder(path.parent)
    except OSError as error:
        raise _unusable(path, "written", error) from None
    finally:
        os.close(descriptor)  # which also releases the lock
    written = _parse(line[:-1])
    assert isinstance(written, LoggedEvent)
    return written


def _line(
    last: LoggedEvent | None,
    torn: bytes,
    kind: EventKind,
    summary: str,
    at: datetime,
    data: Mapping[str, Any],
) -> bytes:
    """The bytes of the next entry."""
    entry: dict[str, Any] = {
        "number": last.number + 1 if last else 1,
        "at": utc_text(at),
        "kind": kind,
        "summary": summary,
        "data": dict(data),
        "previous": last.sha256 if last else NO_EVENT,
    }
    if torn:
        entry["torn"] = base64.b64encode(torn).decode()
    entry["sha256"] = digest_of(entry)
    line = canonical_bytes(entry)
    if isinstance(fault := _parse(line), str):
        raise ValueError(f"no event: {fault}")
    return line + b"\n"


def _parse(line: bytes) -> LoggedEvent | str:
    """The entry of a line that is exactly as it was written, or what is wrong with it."""
    try:
        entry = json.loads(line)
        rest = {key: value for key, value in entry.items() if key != "sha256"}
        if entry["sha256"] != digest_of(rest):
            return "this entry was altered: its SHA-256 does not fit it"
        if canonical_bytes(entry) != line:
            return "this entry is not written as it was"
        if not set(entry) <= _FIELDS or entry["kind"] not in KINDS or not isinstance(entry["data"], dict):
            return "this entry holds what no event holds"
        torn = base64.b64decode(entry["torn"], validate=True) if "torn" in entry else None
        return LoggedEvent(
            int(entry["number"]), str(entry["at"]), entry["kind"], str(entry["summary"]), entry["data"],
            str(entry["previous"]), entry["sha256"], torn,
        )  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return "this is no entry of an event log"


def _chain_faults(parsed: list[LoggedEvent | str]) -> Iterator[tuple[int, str]]:
    """Where intact entries do not follow each other, as index and what is wrong.

    Entries are compared with the one of the highest number so far, so that one moved entry is one fault.
    """
    present = {event.number for event in parsed if isinstance(event, LoggedEvent)}
    seen: set[str] = set()
    number, sha256, altered = 0, NO_EVENT, 0
    for index, event in enumerate(parsed):
        if isinstance(event, str):
            altered += 1
            continue
        if event.sha256 in seen:
            yield index, f"entry {event.number} stands here again"
        elif event.number <= number:
            yield index, f"entry {event.number} stands after entry {number}: the order was changed"
        else:
            missing = [n for n in range(number + 1, event.number) if n not in present]
            if len(missing) > altered:
                names = ", ".join(str(n) for n in missing[:20])
                yield index, f"before entry {event.number}, these were removed or altered: {names}"
            elif event.number == number + 1 and event.previous != sha256:
                yield index, f"entry {event.number} does not belong to entry {number} before it"
            number, sha256, altered = event.number, event.sha256, 0
        seen.add(event.sha256)


def _is_torn(tail: bytes) -> bool:
    """Whether bytes without a line end can be the start of an entry whose write was cut off.

    A whole entry followed by other bytes cannot: there the line end was altered.
    """
    if tail.strip(b"\0") == b"":
        return True  # a file system that had grown the file but not yet written it
    if not tail.startswith(b"{"):
        return False
    try:
        _, end = json.JSONDecoder().raw_decode(tail.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return True
    return end == len(tail.decode("utf-8", errors="replace"))


def _read_end(descriptor: int, size: int, path: Path) -> tuple[LoggedEvent | None, bytes]:
    """The last whole entry, and the torn bytes after it."""
    block, start, end = 1 << 16, size, b""
    while start > 0 and end.count(b"\n") < 2:
        start = max(0, size - block)
        end = os.pread(descriptor, size - start, start)
        block *= 4
    *lines, tail = end.split(b"\n")
    if tail and not _is_torn(tail):
        raise LockMismatch(Problem("the end of the event log was altered", file=str(path), hint=_VERIFY))
    if not lines:
        return None, tail
    last = _parse(lines[-1])
    if isinstance(last, str):
        raise LockMismatch(Problem(f"the last entry: {last}", file=str(path), hint=_VERIFY))
    return last, tail


def _write(descriptor: int, path: Path, line: bytes, size: int, keep: int) -> None:
    """Write one line at `keep`, the end of the whole entries, and flush it; on failure restore the file.

    Usually that is the end of the file, and one appending write does it. A torn tail is overwritten by the
    line, which is longer since it holds the tail.
    """
    try:
        if keep == size:
            appending = os.open(path, os.O_WRONLY | os.O_APPEND)
            try:
                written = os.write(appending, line)
            finally:
                os.close(appending)
        else:
            written = os.pwrite(descriptor, line, keep)
        if written != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    except OSError:
        if keep == size:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, size)
        raise


def _take_lock(descriptor: int, path: Path) -> None:
    """Wait for the exclusive lock of the log."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                message = f"another process has held the event log for {WAIT_SECONDS:g} seconds"
                raise Refused(Problem(message, file=str(path))) from None
            time.sleep(0.01)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_VERIFY = "`harness prereg verify` names every line that was altered."


def _at(path: Path, index: int, message: str) -> Problem:
    return Problem(message, file=str(path), line=index + 1, hint="Restore the event log from a copy.")


def _unusable(path: Path, verb: str, error: OSError) -> Refused:
    return Refused(Problem(f"the event log cannot be {verb}: {error.strerror or error}", file=str(path)))
