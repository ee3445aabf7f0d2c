"""Receipts of a study's locks: asking for them, keeping them, and looking at every one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.chain import read_chain, verify_log
from harness.now import utc_now
from prereg.canonical import sha256_hex
from prereg.events import append_event, read_events
from prereg.layout import StudyLayout
from prereg.lock import Lock
from prereg.problems import LockMismatch, Problem, Refused
from prereg.receipts.git import GitNotary
from prereg.receipts.protocol import KINDS, BadReceipt, Claim, Kind, Notary, Owed, Receipt, Unverifiable
from prereg.receipts.sigstore import SigstoreNotary
from prereg.receipts.ssh import SshNotary
from prereg.receipts.store import read_receipts, write_receipts
from prereg.receipts.timestamp import TimestampNotary
from prereg.wanted import Receipts

_NAMES: dict[Kind, str] = {
    "git": "a git commit",
    "ssh": "an SSH signature",
    "timestamp": "a time-stamp",
    "sigstore": "a Sigstore signature",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line adds to what the study wants."""

    ssh_key: Path | None = None
    tsa: str | None = None
    tsa_roots: Path | None = None
    sigstore: bool = False


@dataclass(frozen=True, slots=True)
class Stamped:
    """What came of asking."""

    lock: str
    made: tuple[str, ...]
    """What each new receipt shows, in words."""
    had: tuple[str, ...]
    """What those that were there already show."""
    owed: tuple[str, ...]
    """What is wanted and could not be had, with the reason."""
    notes: tuple[str, ...]
    head: str


@dataclass(frozen=True, slots=True)
class ReceiptCheck:
    """What the receipts of all locks of a study show."""

    claims: tuple[Claim, ...]
    """Of the present lock."""
    earlier: tuple[str, ...]
    """What receipts of earlier locks show, in words."""
    problems: tuple[Problem, ...]
    """Receipts that do not hold, or that the event log does not know."""
    unverifiable: tuple[str, ...]
    """Receipts that cannot be looked at here, and why."""
    owed: tuple[str, ...]
    """Kinds that the study wants and does not have."""


def stamp_study(path: Path, asked: Asked) -> Stamped:
    """Ask for every receipt of the present lock that is wanted and not there yet.

    What cannot be had now is owed; that is no failure. Raises Refused for what can never be had as it was
    asked for, and LockMismatch if lock or log were altered.
    """
    layout = StudyLayout.of(path)
    chain = read_chain(layout)
    if damaged := verify_log(layout, chain):
        raise LockMismatch(*damaged)
    lock = chain[-1]
    kept = list(read_receipts(layout.receipts))
    _log_missed(layout, kept)
    made: list[str] = []
    owed: list[str] = []
    notes: list[str] = []
    had: list[str] = []
    refused: list[Problem] = []
    wanted = wanted_kinds(lock.study.receipts)
    for kind in _to_ask(layout, lock, asked):
        notary = _notary(layout, lock, kind, asked)
        there = [r for r in kept if r.kind == kind and r.lock == lock.sha256]
        if there:
            had.extend(_shown(notary, receipt) for receipt in there)
            continue
        try:
            receipt = notary.stamp(lock.sha256, utc_now())
            claim = notary.verify(lock.sha256, receipt)
        except (Owed, Unverifiable) as error:
            (owed if kind in wanted or kind != "git" else notes).append(f"{_NAMES[kind]}: {error}")
            continue
        except BadReceipt as error:
            refused.append(Problem(f"{_NAMES[kind]}: {error}"))
            continue
        except Refused as error:
            refused.extend(error.problems)
            continue
        kept.append(receipt)
        write_receipts(kept, layout.receipts)
        _log(layout, receipt)
        made.append(str(claim))
    if refused:
        raise Refused(*refused)
    return Stamped(
        lock.sha256, tuple(made), tuple(had), tuple(owed), tuple(notes), read_events(layout.events).head
    )


def check_receipts(layout: StudyLayout, chain: Sequence[Lock]) -> ReceiptCheck:
    """Look at every receipt that is there, without a network."""
    file = str(layout.receipts)
    present = chain[-1]
    claims: list[Claim] = []
    earlier: list[str] = []
    problems: list[Problem] = []
    unverifiable: list[str] = []
    try:
        receipts = read_receipts(layout.receipts)
    except Refused as error:
        problems.extend(error.problems)
        receipts = ()
    locks = {lock.sha256: lock for lock in chain}
    for receipt in receipts:
        lock = locks.get(receipt.lock)
        if lock is None:
            problems.append(Problem(f"a receipt is for another lock, {receipt.lock[:12]}", file=file))
            continue
        try:
            claim = _notary(layout, lock, receipt.kind, Asked()).verify(lock.sha256, receipt)
        except BadReceipt as error:
            problems.append(Problem(str(error), file=file))
        except Unverifiable as error:
            unverifiable.append(f"{_NAMES[receipt.kind]} cannot be verified here: {error}")
        else:
            if lock is present:
                claims.append(claim)
            else:
                earlier.append(f"Of the earlier lock {lock.sha256[:12]}: {claim}")
    if not problems:
        problems.extend(_log_faults(layout, receipts))
    there = {receipt.kind for receipt in receipts if receipt.lock == present.sha256}
    owed = tuple(
        f"{_NAMES[kind]} is wanted by the study and not there yet: `harness prereg stamp`"
        for kind in wanted_kinds(present.study.receipts)
        if kind not in there
    )
    return ReceiptCheck(tuple(claims), tuple(earlier), tuple(problems), tuple(unverifiable), owed)


def wanted_kinds(receipts: Receipts) -> tuple[Kind, ...]:
    """The kinds that a study wants, in the order in which they are asked for."""
    wants: dict[Kind, bool] = {
        "git": receipts.git,
        "ssh": receipts.ssh is not None,
        "timestamp": receipts.timestamp is not None,
        "sigstore": receipts.sigstore is not None,
    }
    return tuple(kind for kind in KINDS if wants[kind])


def _to_ask(layout: StudyLayout, lock: Lock, asked: Asked) -> list[Kind]:
    """What the study wants, what the command line adds, and git's, which costs nothing."""
    wanted = wanted_kinds(lock.study.receipts)
    more: dict[Kind, bool] = {
        "git": True,
        "ssh": asked.ssh_key is not None,
        "timestamp": asked.tsa is not None,
        "sigstore": asked.sigstore,
    }
    return [kind for kind in KINDS if kind in wanted or more[kind]]


def _notary(layout: StudyLayout, lock: Lock, kind: Kind, asked: Asked) -> Notary:
    wants = lock.study.receipts
    if kind == "git":
        return GitNotary(layout.lock)
    if kind == "ssh":
        return SshNotary(wants.ssh, asked.ssh_key)
    if kind == "sigstore":
        return SigstoreNotary(wants.sigstore)
    if wants.timestamp is None:
        roots = None if asked.tsa_roots is None else _read_roots(asked.tsa_roots)
        return TimestampNotary(asked.tsa, roots, roots_are_locked=False)
    locked = lock.sources.get(ROOTS)
    roots = _read_roots(layout.study.parent / wants.timestamp.roots)
    if locked is None or locked.sha256 != sha256_hex(roots):
        file = str(layout.study.parent / wants.timestamp.roots)
        raise LockMismatch(Problem("the trusted certificates are not those that were locked", file=file))
    return TimestampNotary(wants.timestamp.url, roots, roots_are_locked=True)


ROOTS = "receipts.timestamp.roots"
"""Name, among a lock's sources, of the certificates that are trusted for time-stamps."""


def _read_roots(path: Path) -> bytes:
    from prereg.digests import read_file

    return read_file(path)


def _shown(notary: Notary, receipt: Receipt) -> str:
    try:
        return str(notary.verify(receipt.lock, receipt))
    except (BadReceipt, Unverifiable) as error:
        return f"{_NAMES[receipt.kind]} is there, but: {error}"


def _log(layout: StudyLayout, receipt: Receipt) -> None:
    data = {"lock": receipt.lock, "receipt": receipt.sha256, "kind": receipt.kind}
    summary = f"{_NAMES[receipt.kind]} of the lock {receipt.lock[:12]}"
    append_event(layout.events, "receipt", summary, utc_now(), data)


def _logged(layout: StudyLayout) -> list[str]:
    return [str(e.data.get("receipt")) for e in read_events(layout.events).events if e.kind == "receipt"]


def _log_missed(layout: StudyLayout, receipts: Sequence[Receipt]) -> None:
    """Record receipts that were kept when a crash came before their event."""
    known = _logged(layout)
    for receipt in receipts:
        if receipt.sha256 not in known:
            _log(layout, receipt)


def _log_faults(layout: StudyLayout, receipts: Sequence[Receipt]) -> list[Problem]:
    """Where the file of receipts and the event log do not hold the same ones."""
    try:
        known = _logged(layout)
    except LockMismatch:
        return []  # reported where the log is verified
    there = [receipt.sha256 for receipt in receipts]
    file = str(layout.receipts)
    hint = "`harness prereg stamp` records a receipt that a crash kept from the log."
    found = [
        Problem(f"the event log does not hold the {r.kind} receipt", file=file, hint=hint)
        for r in receipts
        if r.sha256 not in known
    ]
    gone = sum(digest not in there for digest in known)
    if gone:
        found.append(Problem(f"{gone} receipts that the event log holds are not there", file=file))
    return found
