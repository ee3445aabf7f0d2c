"""Locking a study, and comparing one with its lock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.chain import accepted_locks, finished_runs, read_chain, verify_log
from harness.now import utc_now
from harness.owed import needed_here, settle
from harness.resolving import Resolved, resolve_sources
from harness.tasks.resolve import declared_size
from harness.trials import exploratory_runs, tried_seeds
from harness.versions import code_version, environment
from prereg.checks import check
from prereg.difference import Difference, compare, mismatch
from prereg.events import append_event, head, read_events
from prereg.layout import StudyLayout
from prereg.lock import CodeVersion, Lock, LockedPower, make_lock, read_lock, write_lock
from prereg.problems import LockMismatch, Problem, Refused
from prereg.source import LoadedStudy, load_study
from prereg.study import Study


@dataclass(frozen=True, slots=True)
class LockedStudy:
    """A study that agrees with its lock."""

    loaded: LoadedStudy
    layout: StudyLayout
    lock: Lock
    differences: tuple[Difference, ...]
    """What differs without refusing a run: the environment, the commit, comments in the file."""
    accepted: tuple[str, ...]
    """SHA-256 of every lock whose runs are runs of this plan."""


def lock_study(path: Path) -> tuple[Lock, tuple[str, ...], str]:
    """Check a study, resolve its sources, write its lock and begin its event log.

    Returns the lock, notes on what was found and allowed, and the head of the event log. Raises Refused,
    naming every line, if the study cannot be locked, is locked already, or has runs. A lock that a crash cut
    off before its first event is completed.
    """
    loaded = load_study(path)
    layout = StudyLayout.of(path)
    if (cut_off := _cut_off_lock(loaded, layout)) is not None:
        _begin_log(layout, cut_off)
        return cut_off, ("completed a lock that was cut off before its first event",), head(layout.events)
    check(loaded)
    _refuse_traces(loaded, layout)
    resolved = resolve_sources(loaded)
    if resolved.problems:
        raise Refused(*resolved.problems)
    code = code_version()
    refuse_dirty_code(loaded, code)
    power = power_of_plan(loaded, resolved)
    lock = make_lock(loaded, resolved.sources, environment(), code, utc_now(), power=power)
    write_lock(lock, layout.lock)
    _begin_log(layout, lock)
    notes = (*resolved.notes, *_without_power(loaded))
    if code.dirty:
        notes = (*notes, "the code differs from its git commit, as the study acknowledges")
    return lock, notes, head(layout.events)


def _without_power(loaded: LoadedStudy) -> Iterator[str]:
    """Primary hypotheses of which nobody said what they could show."""
    for index, one in enumerate(loaded.study.hypotheses):
        if one.power is None and one.role == "primary":
            yield f"hypotheses.{index}: {one.id} states no `power`: what it can show was not simulated"


def power_of_plan(loaded: LoadedStudy, resolved: Resolved) -> dict[str, LockedPower]:
    """The simulated power of every hypothesis with assumptions. Raises Refused where it is too low."""
    from harness.powering import locked_power  # here, so that a run does not load the analysis

    sizes = {
        name: resolved.sources[f"data.benchmarks.{name}"].items or declared_size(benchmark.source)
        for name, benchmark in loaded.study.data.benchmarks.items()
    }
    power, problems = locked_power(loaded, sizes)
    if problems:
        raise Refused(*problems)
    return power


def _begin_log(layout: StudyLayout, lock: Lock) -> None:
    summary = f"locked {lock.study.id} as {lock.sha256}"
    append_event(layout.events, "lock", summary, utc_now(), {"lock": lock.sha256})


def _cut_off_lock(loaded: LoadedStudy, layout: StudyLayout) -> Lock | None:
    """The lock of this very study, if it was written and its log was not begun."""
    if not layout.lock.exists() or _has_folders(layout.runs) or read_events(layout.events).events:
        return None
    lock = read_lock(layout.lock)
    if lock.amends is not None or any(d.refuses for d in differences_from(lock, loaded)):
        return None
    return lock


def refuse_dirty_code(loaded: LoadedStudy, code: CodeVersion) -> None:
    """Refuse to lock code that stands in no commit, so that nobody else can have it, unless acknowledged."""
    if code.dirty and not loaded.study.environment.acknowledge_dirty_code:
        message = f"the code of the harness differs from its git commit {(code.commit or '')[:12]}"
        hint = (
            "Commit it or put it back (`git status` in the harness's folder), or say "
            "`acknowledge_dirty_code: true` under `environment`."
        )
        raise Refused(
            loaded.problem(message, "environment", "acknowledge_dirty_code", hint=hint, at_key=True)
        )


def locked_study(path: Path) -> LockedStudy:
    """A study under its lock, and with the event log that belongs to it.

    Raises LockMismatch, naming every field, if it differs from its lock, and naming what is gone or altered
    in its records.
    """
    loaded = load_study(path)
    layout = StudyLayout.of(path)
    chain = read_chain(layout)
    lock = chain[-1]
    resolved = resolve_sources(loaded)
    differences = compare(lock, loaded, resolved.sources, environment(), code_version())
    refused = mismatch(differences, loaded)
    if refused is not None:
        raise refused
    if damaged := verify_log(layout, chain):
        raise LockMismatch(*damaged)
    if (missing := needed_here(resolved)) is not None:
        raise missing
    settled = settle(lock, resolved, layout.events, record=True)
    if (refused := mismatch(settled.differences, loaded)) is not None:
        raise refused
    return LockedStudy(loaded, layout, lock, differences, accepted_locks(chain))


def differences_from(lock: Lock, loaded: LoadedStudy) -> tuple[Difference, ...]:
    """Everything that differs from the lock now; reads all sources, and records nothing."""
    resolved = resolve_sources(loaded)
    found = compare(lock, loaded, resolved.sources, environment(), code_version())
    return (*found, *settle(lock, resolved, StudyLayout.of(loaded.path).events, record=False).differences)


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


def _refuse_traces(loaded: LoadedStudy, layout: StudyLayout) -> None:
    """Refuse to lock beside a lock, a log or runs of before, or after runs that the study denies."""
    if layout.lock.exists():
        hint = (
            "a lock is made once; `harness prereg verify` compares the study with it, and "
            "`harness prereg amend` changes the plan on record"
        )
        raise Refused(Problem("the study is locked already", file=str(layout.lock), hint=hint))
    for path, what in ((layout.runs, "runs"), (layout.events, "an event log")):
        if path.is_file() or _has_folders(path):
            raise Refused(
                Problem(
                    f"{what} of an earlier lock stand here, so a new lock could not say that it came first",
                    file=str(path),
                    hint="move them away if they belong to another study",
                )
            )
    if (other := _other_lock(loaded, layout)) is not None:
        message = f"{other.name} locks a study with the id `{loaded.study.id}` already"
        hint = "Amend that study, or give this one an id of its own and say in `data_status` what was seen."
        raise Refused(loaded.problem(message, "id", hint=hint))
    if loaded.study.data_status.seen == "nothing" and (tried := exploratory_runs(layout)):
        message = f"nothing was seen, it says, but there are exploratory runs: {', '.join(tried[:5])}"
        hint = (
            "say `seen: pilot_runs`, name their seeds in `pilot_seeds` and use others, or move "
            f"{layout.exploratory.name} away if it is of another study"
        )
        raise Refused(loaded.problem(message, "data_status", "seen", hint=hint))
    if used := tried_seeds(layout, loaded.study):
        hint = (
            "Choose seeds whose results nobody has seen, or move "
            f"{layout.exploratory.name} away if it is of another study."
        )
        raise Refused(
            *(
                loaded.problem(
                    f"the seed {seed} was used by an exploratory run",
                    *_place_of_seed(loaded.study, seed),
                    hint=hint,
                )
                for seed in used
            )
        )


def _place_of_seed(study: Study, seed: int) -> tuple[str, int]:
    """Where a seed stands in the study file."""
    if seed in study.seeds:
        return "seeds", study.seeds.index(seed)
    return "reserve_seeds", study.reserve_seeds.index(seed)


def _other_lock(loaded: LoadedStudy, layout: StudyLayout) -> Path | None:
    """A lock of the same id under another file name in this folder; what cannot be read is passed over."""
    for path in sorted(loaded.folder.glob("*.lock*.json")):
        try:
            body = json.loads(path.read_bytes()) if path != layout.lock and path.is_file() else None
        except (OSError, ValueError, RecursionError):
            continue
        study = body.get("study") if isinstance(body, dict) else None
        if isinstance(study, dict) and study.get("id") == loaded.study.id:
            return path
    return None


def _has_folders(path: Path) -> bool:
    return path.is_dir() and any(p.is_dir() for p in path.iterdir())
