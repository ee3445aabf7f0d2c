"""Exploratory runs beside a lock: what of them stays on record when their folder is gone.

They are known by the study's id, too: a copy of the study under another file name shows just the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.cells import Cell
from harness.chain import read_chain
from harness.folders import read_json
from harness.now import utc_now
from harness.reserve import progress
from prereg.events import LoggedEvent, append_event, read_events
from prereg.layout import SUFFIXES, StudyLayout
from prereg.reserve import every_seed
from prereg.source import LoadedStudy
from prereg.study import Study

LOCK_ENDING = ".lock.json"


def record_trial(loaded: LoadedStudy, cells: Sequence[Cell]) -> None:
    """Log that exploratory runs begin beside a lock whose own runs are not complete.

    What they show can be read from the ledger without a report, and their folder can be removed; so the log
    says so before the first of them starts; so do the logs of all locks beside it of the same study id.
    Without a lock there is no log: nothing can be said.
    """
    own = StudyLayout.of(loaded.path)
    if not cells:
        return
    seeds = sorted({cell.seed for cell in cells})
    arms = list(dict.fromkeys(cell.arm for cell in cells))
    for layout, _, _ in open_locks(loaded):
        other = "" if layout.lock == own.lock else f" ({own.study.name})"
        summary = f"exploratory runs of {', '.join(arms)} on seeds {', '.join(map(str, seeds))} begin{other}"
        data = {"runs": [_name(layout, own.exploratory / cell.run_id) for cell in cells], "seeds": seeds}
        append_event(layout.events, "trial", summary, utc_now(), data)


def open_locks(loaded: LoadedStudy) -> Iterator[tuple[StudyLayout, int, int]]:
    """The locks whose runs exploratory ones of this study would foretell, and that are not complete.

    Each comes with its runs that are finished, and all that are expected. They are the study's own lock and
    those of its id under other names in its folder. Raises LockMismatch if one of them was altered.
    """
    own = StudyLayout.of(loaded.path)
    for layout in (*([own] if own.lock.is_file() else []), *locks_beside(own, loaded.study.id)):
        finished, planned = progress(layout, read_chain(layout)[-1].study)
        if finished < planned:
            yield layout, finished, planned


def locks_beside(own: StudyLayout, study_id: str) -> list[StudyLayout]:
    """The other locks of a study id in this folder; what cannot be read is passed over."""
    found = []
    for path in sorted(own.study.parent.glob(f"*{LOCK_ENDING}")):
        if path != own.lock and path.is_file() and locked_id(path) == study_id:
            found.append(StudyLayout.of(path.with_name(path.name.removesuffix(LOCK_ENDING) + SUFFIXES[0])))
    return found


def exploratory_runs(layout: StudyLayout, study: Study) -> list[str]:
    """Names of the exploratory runs of a study: those that are there, and those that its log tells of.

    Those under another file name have the name of their folder before theirs.
    """
    told = {str(run) for event in _trials(layout) for run in event.data.get("runs", [])}
    return sorted(told | {_name(layout, run) for run in _there(layout, study)})


def exploratory_folders(layout: StudyLayout, study: Study) -> list[str]:
    """Names of the folders that hold exploratory runs of a study."""
    return sorted({run.parent.name for run in _there(layout, study)})


def tried_seeds(layout: StudyLayout, study: Study) -> list[int]:
    """Seeds of the study and its reserve that exploratory runs have used: what they would show is known."""
    runs = (read_json(run / "run.json") for run in _there(layout, study))
    used = {facts.get("seed") for facts in runs if facts is not None}
    used |= {seed for event in _trials(layout) for seed in event.data.get("seeds", [])}
    return [seed for seed in every_seed(study) if seed in used]


def _there(layout: StudyLayout, study: Study) -> Iterator[Path]:
    """The study's exploratory runs: all in its own folder, and those of its id in folders beside it."""
    own = layout.exploratory
    for facts in sorted(own.parent.glob(f"*{own.suffix}/*/run.json")):
        if facts.parent.parent == own or (read_json(facts) or {}).get("study") == study.id:
            yield facts.parent


def _name(layout: StudyLayout, run: Path) -> str:
    """A run's name beside this lock: its own, or with its folder if it lies under another file name."""
    return run.name if run.parent == layout.exploratory else f"{run.parent.name}/{run.name}"


def locked_id(lock: Path) -> str | None:
    """The id of the study that a lock locks; None if that cannot be read."""
    try:
        body = json.loads(lock.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    study = body.get("study") if isinstance(body, dict) else None
    found = study.get("id") if isinstance(study, dict) else None
    return found if isinstance(found, str) else None


def _trials(layout: StudyLayout) -> list[LoggedEvent]:
    return [event for event in read_events(layout.events).events if event.kind == "trial"]
