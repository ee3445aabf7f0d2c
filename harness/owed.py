"""Digests that a lock owes: recorded the first time that the content can be had, and compared ever after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.now import utc_now
from harness.resolving import Resolved
from prereg.difference import Difference
from prereg.events import append_event, read_events
from prereg.lock import Lock, SourceDigest
from prereg.problems import LockMismatch, Problem, Refused


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of the digests that a lock owes."""

    differences: tuple[Difference, ...]
    """Content that is not what was recorded the first time."""
    recorded: tuple[str, ...]
    """What was recorded now, a sentence each."""


def paid(events: Path) -> dict[str, tuple[str, str]]:
    """Source and what it is, to the digest that the event log holds of it; the first entry counts."""
    found: dict[str, tuple[str, str]] = {}
    for event in read_events(events).events:
        if event.kind == "source":
            found.setdefault(
                str(event.data["source"]), (str(event.data["identity"]), str(event.data["sha256"]))
            )
    return found


def settle(lock: Lock, resolved: Resolved, events: Path, *, record: bool) -> Settled:
    """Compare each owed source that can be had with its record; make the record if there is none yet.

    Raises Refused if the content, seen for the first time, is what no lock accepts (gold answers that
    cannot be
    used, contamination): the plan was locked on the promise that it is not. Nothing is recorded then.
    """
    new, differences = _compared(lock, resolved.sources, _held(events))
    if new and resolved.problems:
        raise Refused(*resolved.problems)
    if not record:
        return Settled(differences, ())
    said = []
    for name, source in new.items():
        identity = lock.sources[name].what
        text = f"{name}: {identity} was fetched for the first time since the lock, {source.sha256}"
        data = {"source": name, "identity": identity, "sha256": source.sha256}
        append_event(events, "source", text, utc_now(), data)
        said.append(text)
    return Settled(differences, tuple(said))


def needed_here(resolved: Resolved) -> Refused | None:
    """The refusal of a run whose data or models are not here; None if everything can be had."""
    hint = "A run needs it: fetch it into the Hub's cache, or run where there is a network."
    missing = [
        Problem(f"{name} cannot be had from here: {resolved.sources[name].what}", hint=hint)
        for name in resolved.owed
    ]
    return Refused(*missing) if missing else None


def statements(lock: Lock, events: Path) -> tuple[str, ...]:
    """What the lock owed and whether it was filled in, a sentence each, for the report."""
    held = _held(events)
    said = []
    for name, source in lock.sources.items():
        if source.owed:
            record = held.get(name)
            since = (
                f"filled in by the event log: {record[1]}"
                if record is not None and record[0] == source.what
                else "still owed"
            )
            said.append(f"{name}: locked as {source.what} without its content's digest; {since}.")
    return tuple(said)


def _held(events: Path) -> dict[str, tuple[str, str]]:
    try:
        return paid(events)
    except LockMismatch:
        return {}


def _compared(
    lock: Lock, present: Mapping[str, SourceDigest], held: Mapping[str, tuple[str, str]]
) -> tuple[dict[str, SourceDigest], tuple[Difference, ...]]:
    """Owed sources that have no record yet, and differences from the records there are."""
    new: dict[str, SourceDigest] = {}
    differences = []
    for name, source in lock.sources.items():
        now = present.get(name)
        if not source.owed or now is None or now.owed:
            continue
        record = held.get(name)
        if record is None or record[0] != source.what:
            new[name] = now
        elif record[1] != now.sha256:
            differences.append(Difference(f"sources.{name}.sha256", record[1], now.sha256, refuses=True))
    return new, tuple(differences)
