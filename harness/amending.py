"""`prereg amend`: a new lock in the place of the old one, which is kept, and the record of what was known."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.chain import read_chain, verify_log
from harness.exclusive import is_held
from harness.folders import RunFolder
from harness.ledger.reader import read_run
from harness.locking import power_of_plan, refuse_dirty_code
from harness.now import utc_now
from harness.resolving import resolve_sources
from harness.roots import RUNNING
from harness.trials import exploratory_runs, tried_seeds
from harness.versions import code_version, environment
from prereg.amendment import Amendment, FieldChange, Known, affected, sets_runs_aside
from prereg.checks import check
from prereg.difference import compare
from prereg.events import LoggedEvent, append_event, head, read_events
from prereg.layout import StudyLayout
from prereg.lock import Lock, lock_bytes, make_lock, write_lock
from prereg.problems import LockMismatch, Problem, Refused
from prereg.source import load_study
from prereg.study import Study
from prereg.whole import write_whole


@dataclass(frozen=True, slots=True)
class Amended:
    """An amendment that was made."""

    lock: Lock
    amendment: Amendment
    earlier: Path
    """Where the lock before lies now."""
    head: str
    """Head of the event log."""


def amend_study(path: Path, reason: str) -> Amended:
    """Lock the study as it is now, pointing at the lock before, with the reason and with what was known.

    Raises Refused if nothing differs, if the study cannot be locked or if it is running, and LockMismatch if
    its records were altered. An amendment that a crash cut off is completed.
    """
    if not reason.strip():
        raise Refused(Problem("an amendment needs a reason", hint='Give `--reason "..."`.'))
    loaded = load_study(path)
    layout = StudyLayout.of(path)
    chain = read_chain(layout)
    if is_held(layout.runs / RUNNING):
        hint = "Stop it first: a plan is not changed under its own runs."
        raise Refused(Problem("the study is running", file=str(layout.runs), hint=hint))
    present = chain[-1]
    damaged = verify_log(layout, chain)
    if damaged and _is_cut_off(layout, chain):
        return _log(layout, present)
    if damaged:
        raise LockMismatch(*damaged)
    check(loaded)
    resolved = resolve_sources(loaded)
    if resolved.problems:
        raise Refused(*resolved.problems)
    code = code_version()
    refuse_dirty_code(loaded, code)
    differences = [d for d in compare(present, loaded, resolved.sources, environment(), code) if d.refuses]
    if not differences:
        raise Refused(Problem("nothing differs from the lock", file=str(path), hint="Edit the study first."))
    if loaded.study.id != present.study.id:
        hint = "A study of another id is another study: lock it in a file of its own."
        raise Refused(loaded.problem("the id of a locked study cannot be amended", "id", hint=hint))
    fields = [d.field for d in differences]
    log = read_events(layout.events)
    known = _known(layout, present.study, log.events)
    tried = bool(tried_seeds(layout, present.study) or tried_seeds(layout, loaded.study))
    amendment = Amendment(
        number=len(chain),
        previous=present.sha256,
        event_head=log.head,
        reason=reason.strip(),
        known=known,
        changes=tuple(FieldChange(field=d.field, before=d.locked, after=d.present) for d in differences),
        affected=affected(present.study, loaded.study, fields, known, tried),
        runs_set_aside=sets_runs_aside(fields) and layout.runs.is_dir(),
    )
    power = power_of_plan(loaded, resolved)
    lock = make_lock(loaded, resolved.sources, environment(), code, utc_now(), amendment, power)
    try:
        write_whole(layout.earlier_lock(amendment.number), lock_bytes(present))
    except OSError as error:
        message = f"the earlier lock cannot be kept: {error.strerror or error}"
        raise Refused(Problem(message, file=str(layout.earlier_lock(amendment.number)))) from None
    write_lock(lock, layout.lock, replace=True)
    return _log(layout, lock)


def _is_cut_off(layout: StudyLayout, chain: tuple[Lock, ...]) -> bool:
    """Whether the present lock was written and a crash came before its event: all else is in order."""
    amends = chain[-1].amends
    if amends is None:
        return False
    try:
        log = read_events(layout.events)
    except LockMismatch:
        return False
    return log.head == amends.event_head


def _log(layout: StudyLayout, lock: Lock) -> Amended:
    """Set runs aside where that is due, and record the amendment."""
    amendment = lock.amends
    assert amendment is not None
    aside = layout.earlier_runs(amendment.number)
    if amendment.runs_set_aside and layout.runs.is_dir() and not aside.exists():
        try:
            os.rename(layout.runs, aside)
        except OSError as error:
            message = f"the runs of before cannot be set aside: {error.strerror or error}"
            hint = "Give the same command again once that is mended."
            raise Refused(Problem(message, file=str(layout.runs), hint=hint)) from None
    data = {
        "lock": lock.sha256,
        "previous": amendment.previous,
        "reason": amendment.reason,
        "known": amendment.known.model_dump(mode="json"),
        "runs_set_aside": amendment.runs_set_aside,
    }
    summary = f"amended as {lock.sha256}, with {amendment.known}: {amendment.reason[:500]}"
    append_event(layout.events, "amendment", summary, utc_now(), data)
    return Amended(lock, amendment, layout.earlier_lock(amendment.number), head(layout.events))


def _known(layout: StudyLayout, study: Study, events: tuple[LoggedEvent, ...]) -> Known:
    """What the event log and the ledgers hold, those of runs that were set aside included."""

    def runs(*kinds: str) -> int:
        return len({str(event.data.get("run")) for event in events if event.kind in kinds})

    def count(kind: str) -> int:
        return sum(event.kind == kind for event in events)

    return Known(
        runs_started=runs("run_started", "run_resumed", "run_finished", "run_failed"),
        runs_finished=runs("run_finished"),
        runs_failed=runs("run_failed"),
        exploratory_runs=len(exploratory_runs(layout, study)),
        evaluations=sum(_evaluations(folder) for folder in _run_folders(layout)),
        looks=count("look"),
        reports=count("report"),
    )


def _run_folders(layout: StudyLayout) -> Iterator[Path]:
    places = [layout.runs]
    number = 1
    while layout.earlier_lock(number).exists():
        places.append(layout.earlier_runs(number))
        number += 1
    for place in places:
        if place.is_dir():
            yield from (p for p in sorted(place.iterdir()) if p.is_dir() and RunFolder(p).facts.is_file())


def _evaluations(folder: Path) -> int:
    run = read_run(folder)
    return 0 if run is None or not run.files["evaluations"] else run.table("evaluations").num_rows
