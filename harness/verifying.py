"""`prereg verify`: re-derive everything a lock holds, and check every record made under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.cells import every_cell, finished_in
from harness.chain import accepted_locks, finished_runs, read_chain, verify_log
from harness.folders import RunFolder, read_json
from harness.ledger.reader import content_digest, read_run
from harness.locking import verify_ends
from harness.owed import settle, statements
from harness.reserve import faults
from harness.resolving import resolve_sources
from harness.stamping import check_receipts
from harness.versions import code_version, environment
from prereg.difference import compare
from prereg.events import read_events
from prereg.layout import StudyLayout
from prereg.lock import Lock
from prereg.problems import LockMismatch, Refused
from prereg.source import load_study
from prereg.study import Study


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification found."""

    lock: str
    differences: tuple[str, ...]
    """Fields that differ from the lock and break it."""
    reported: tuple[str, ...]
    """Fields that differ without breaking it."""
    problems: tuple[str, ...]
    """Records that are damaged, altered or missing."""
    runs: tuple[str, ...]
    """A line a run that has a ledger."""
    receipts: tuple[str, ...]
    """What each receipt shows, and what it does not."""
    unverified: tuple[str, ...]
    """Receipts that could not be looked at here, and those that are owed."""
    owed: tuple[str, ...] = ()
    """Sources whose content the lock owed, and what is known of it now."""
    not_compared: tuple[str, ...] = ()
    """Models and problem sets whose content cannot be had from here, so that nothing says it is as it was."""
    contents: int = 0
    """Models and problem sets of the lock."""

    @property
    def conclusion(self) -> str:
        """What may be said of a lock that nothing contradicts."""
        if not self.not_compared:
            return f"all as locked: {self.lock}"
        missing, whole = len(self.not_compared), self.contents
        part = f"none of its {whole}" if missing == whole else f"{missing} of its {whole}"
        could = "could be compared" if missing == whole else "could not be compared"
        return (
            f"nothing contradicts the lock, but {part} models and problem sets {could}, since "
            f"their content cannot be had from here ({missing} digests owed or not at hand): {self.lock}"
        )

    @property
    def sound(self) -> bool:
        """Whether everything that the lock binds is as it was locked."""
        return not self.differences and not self.problems

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {"sound": self.sound, "conclusion": self.conclusion if self.sound else None}


def verify_study(path: Path, published: Sequence[str] = ()) -> Verification:
    """Compare study, sources and code with the lock, and check the event log and every file of every run.

    `published` are heads of the event log, or SHA-256 of locks, that others have had: the log must hold them.
    That finds what nothing in the folder can: entries cut off at its end, or a log made anew.

    Raises Refused or LockMismatch where the study or its lock cannot be read at all.
    """
    layout = StudyLayout.of(path)
    chain = read_chain(layout)
    lock, accepted = chain[-1], accepted_locks(chain)
    loaded = load_study(path)
    damaged = verify_log(layout, chain)
    resolved = resolve_sources(loaded)
    found = compare(lock, loaded, resolved.sources, environment(), code_version())
    settled = settle(lock, resolved, layout.events, record=not damaged)
    found = (*found, *settled.differences)
    done = finished_in(layout.runs, loaded.study)
    problems = [str(p) for p in damaged or verify_ends(layout, done)]
    lines: list[str] = []
    finished = _finished_digests(layout)
    for cell in every_cell(loaded.study):
        folder = RunFolder(layout.runs / cell.run_id)
        try:
            run = read_run(folder.path)
        except Refused as error:
            problems.extend(str(p) for p in error.problems)
            continue
        logged = finished.get(cell.run_id)
        if run is None:
            if logged is not None:
                problems.append(
                    f"{folder.path}: the event log says that this run finished, but its ledger is gone"
                )
            continue
        facts = read_json(folder.facts) or {}
        if facts.get("lock") not in accepted:
            problems.append(f"{folder.facts}: the run was made under another lock: {facts.get('lock')}")
        digest = content_digest(run)
        if logged is not None and digest != logged:
            problems.append(f"{folder.path}: its content is not what the event log recorded when it finished")
        lines.append(f"{cell.run_id}: {run.totals.updates} updates, content {digest[:16]}")
    problems.extend(_reserve_faults(layout, loaded.study))
    problems.extend(_not_held(layout, chain, published))
    receipts = check_receipts(layout, chain)
    problems.extend(str(p) for p in receipts.problems)
    return Verification(
        lock.sha256,
        tuple(str(d) for d in found if d.refuses),
        tuple(str(d) for d in found if not d.refuses),
        tuple(problems),
        tuple(lines),
        (*(str(claim) for claim in receipts.claims), *receipts.earlier),
        (*receipts.unverifiable, *receipts.owed),
        statements(lock, layout.events),
        tuple(name for name in resolved.owed if name in lock.sources),
        sum(name.startswith(("models.", "data.")) and not name.endswith(".grader") for name in lock.sources),
    )


def _reserve_faults(layout: StudyLayout, study: Study) -> Iterator[str]:
    """Reserve seeds that were drawn or run though no failure called for them; none if the log is damaged."""
    try:
        events = read_events(layout.events).events
    except LockMismatch:
        return
    yield from (f"{layout.events}: {fault}" for fault in faults(study, events, layout.runs))


def _not_held(layout: StudyLayout, chain: Sequence[Lock], published: Sequence[str]) -> Iterator[str]:
    """Published digests that neither the event log nor the locks hold."""
    try:
        held = {event.sha256 for event in read_events(layout.events).events}
    except LockMismatch:
        held = set()
    held |= {lock.sha256 for lock in chain}
    for digest in published:
        if digest.strip().lower() not in held:
            yield (
                f"{layout.events}: {digest} was published, and neither the event log nor a lock holds it: "
                "entries were cut off, or the log was made anew"
            )


def _finished_digests(layout: StudyLayout) -> dict[str, str]:
    """The content digests of finished runs that the event log holds; empty if the log is damaged."""
    try:
        return finished_runs(read_events(layout.events).events)
    except LockMismatch:
        return {}
