"""What a report says of the lock: its receipts, amendments and whatever differs from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.cells import finished_in
from harness.chain import accepted_locks, read_chain, verify_log
from harness.exclusive import is_held
from harness.locking import differences_from, verify_ends
from harness.owed import statements
from harness.roots import RUNNING, StudyRoot
from harness.stamping import check_receipts
from prereg.layout import StudyLayout
from prereg.lock import DOES_NOT_PROVE, Lock
from prereg.problems import LockMismatch
from prereg.source import load_study
from reports.inputs import AmendmentFact, LockFact


def root_and_lock(path: Path, exploratory: bool) -> tuple[StudyRoot, LockFact]:
    """Where the runs are, and what to say of the lock. Raises LockMismatch if the record is damaged."""
    layout = StudyLayout.of(path)
    loaded = load_study(path)
    if exploratory:
        return StudyRoot.apart(loaded), LockFact(None)
    chain = read_chain(layout)
    lock = chain[-1]
    done = finished_in(layout.runs, loaded.study)
    damaged = verify_log(layout, chain)
    if not damaged and not is_held(layout.runs / RUNNING):
        damaged = verify_ends(layout, done)
    if damaged:
        raise LockMismatch(*damaged)
    found = differences_from(lock, loaded)
    breaking = tuple(str(d) for d in found if d.refuses)
    changed = tuple(str(d) for d in found if not d.refuses)
    receipts = check_receipts(layout, chain)
    fact = LockFact(
        lock.sha256, lock.created, _statements(lock), breaking, changed=changed,
        receipts=(*(str(claim) for claim in receipts.claims), *receipts.earlier),
        receipt_faults=tuple(str(p).replace("\n    ", " ") for p in receipts.problems),
        receipts_open=(*receipts.unverifiable, *receipts.owed),
        amendments=tuple(_amendment(one) for one in chain[1:]),
        overlaps=tuple(_overlaps(lock)),
        owed=statements(lock, layout.events),
    )  # fmt: skip
    return StudyRoot.locked(loaded, lock.sha256, accepted_locks(chain)), fact


def _overlaps(lock: Lock) -> Iterator[str]:
    for name, source in lock.sources.items():
        if source.overlap is not None and source.overlap.matched:
            yield (
                f"{source.overlap.matched} of the {source.overlap.problems} problems of "
                f"{name.removeprefix('data.benchmarks.')} are training prompts too, as the plan allows."
            )


def _amendment(lock: Lock) -> AmendmentFact:
    made = lock.amends
    assert made is not None
    return AmendmentFact(
        made.number, lock.created, made.reason, str(made.known), tuple(str(c) for c in made.changes),
        made.affected, made.runs_set_aside, made.known.anything,
    )  # fmt: skip


def made_up(path: Path, folder: Path | bool) -> tuple[StudyRoot, LockFact]:
    """The same of simulated runs, which have no lock."""
    place = folder if isinstance(folder, Path) else None
    return StudyRoot.made_up(load_study(path), place), LockFact(None)


def _statements(lock: Lock) -> tuple[str, ...]:
    return (*lock.proves, *(f"Not proved. {text}" for text in DOES_NOT_PROVE))
