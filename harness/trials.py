"""Exploratory runs beside a lock: what of them stays on record when their folder is gone."""

from __future__ import annotations

from collections.abc import Sequence

from harness.cells import Cell
from harness.chain import read_chain
from harness.folders import read_json
from harness.now import utc_now
from harness.reserve import progress
from prereg.events import LoggedEvent, append_event, read_events
from prereg.layout import StudyLayout
from prereg.reserve import every_seed
from prereg.source import LoadedStudy
from prereg.study import Study


def record_trial(loaded: LoadedStudy, cells: Sequence[Cell]) -> None:
    """Log that exploratory runs begin beside a lock whose own runs are not complete.

    What they show can be read from the ledger without a report, and their folder can be removed; so the log
    says so before the first of them starts. Without a lock there is no log: nothing can be said.
    """
    layout = StudyLayout.of(loaded.path)
    if not cells or not layout.lock.is_file():
        return
    locked = read_chain(layout)[-1].study
    finished, planned = progress(layout, locked)
    if finished == planned:
        return
    seeds = sorted({cell.seed for cell in cells})
    arms = list(dict.fromkeys(cell.arm for cell in cells))
    summary = f"exploratory runs of {', '.join(arms)} on seeds {', '.join(map(str, seeds))} begin"
    data = {"runs": [cell.run_id for cell in cells], "seeds": seeds}
    append_event(layout.events, "trial", summary, utc_now(), data)


def exploratory_runs(layout: StudyLayout) -> list[str]:
    """Names of the exploratory runs of a study: those that are there, and those that its log tells of."""
    told = {str(run) for event in _trials(layout) for run in event.data.get("runs", [])}
    return sorted(told | set(_there(layout)))


def tried_seeds(layout: StudyLayout, study: Study) -> list[int]:
    """Seeds of the study and its reserve that exploratory runs have used: what they would show is known."""
    runs = (read_json(layout.exploratory / name / "run.json") for name in _there(layout))
    used = {facts.get("seed") for facts in runs if facts is not None}
    used |= {seed for event in _trials(layout) for seed in event.data.get("seeds", [])}
    return [seed for seed in every_seed(study) if seed in used]


def _there(layout: StudyLayout) -> list[str]:
    if not layout.exploratory.is_dir():
        return []
    return [p.name for p in layout.exploratory.iterdir() if (p / "run.json").is_file()]


def _trials(layout: StudyLayout) -> list[LoggedEvent]:
    return [event for event in read_events(layout.events).events if event.kind == "trial"]
