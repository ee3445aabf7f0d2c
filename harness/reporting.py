"""From a study's folders to its report: verify the records, gather the facts, hand them to the analysis."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from harness.cells import Cell, every_cell
from harness.chain import finished_runs, read_chain
from harness.folders import read_json
from harness.golds import read_golds
from harness.gradientfile import gradient_tests
from harness.ledger.duck import connect
from harness.ledger.reader import last_commit
from harness.lockfacts import made_up, root_and_lock
from harness.looks import planned_look
from harness.now import utc_now
from harness.opinions import graded_again, second_opinions
from harness.overrides import in_words, remembered
from harness.regrading import attach
from harness.reserve import expected_cells, progress, reserve_of, study_as_run
from harness.roots import StudyRoot
from harness.runfacts import diverged_runs, run_fact, run_ledger
from harness.versions import environment
from prereg.events import LoggedEvent, append_event, read_events
from prereg.layout import StudyLayout
from prereg.problems import Problem, Refused
from reports.inputs import (
    Event,
    GradedAgain,
    LockFact,
    ReportInputs,
)

if TYPE_CHECKING:
    from reports.build import ReportPaths
    from reports.content import ReportContent


ATTEMPTS = 5
"""Times that a report reads the ledgers of a study that is running."""


@dataclass(frozen=True, slots=True)
class ReportResult:
    """A report that was written."""

    paths: ReportPaths
    verdicts: dict[str, str]
    """By hypothesis."""
    finished: int
    planned: int
    look: int | None = None
    """The look of the plan at which it was made."""


def report_study(
    path: Path,
    *,
    exploratory: bool,
    folder: Path | None,
    at: datetime | None = None,
    simulated: Path | bool = False,
) -> ReportResult:
    """Write the report of a study. `at` is the moment printed on it.

    `simulated` reports on simulated runs, those beside the study or those in the folder given.

    Raises Refused if there are no runs or the ledger is damaged, and LockMismatch if the lock or the event
    log was altered. A study that merely differs from its lock is reported, with every difference on it.
    """
    from reports.build import write_report

    now = at or utc_now()
    root, lock_fact = made_up(path, simulated) if simulated else root_and_lock(path, exploratory)
    cells = expected_cells(root)
    if not any(last_commit(root.folder(cell).path) for cell in cells):
        raise Refused(
            Problem("there is nothing to report: no run has committed anything yet", file=str(root.runs),
                    hint=f"first: `harness {'simulate' if simulated else 'run'}`")
        )  # fmt: skip
    finished = [cell for cell in cells if root.folder(cell).finished]
    begun = [cell for cell in cells if last_commit(root.folder(cell).path)]
    look = planned_look(study_as_run(root), finished, begun)
    _log(root, now, len(finished), len(cells), look)
    content = _content(root, every_cell(root.loaded.study), lock_fact, now)
    layout = StudyLayout.of(path)
    apart = root.exploratory or root.simulated
    paths = write_report(content, folder or (root.runs / "report" if apart else layout.report))
    return ReportResult(paths, {h.id: h.word for h in content.hypotheses}, len(finished), len(cells), look)


def _content(root: StudyRoot, cells: list[Cell], lock: LockFact, now: datetime) -> ReportContent:
    """The report's content. A run that finishes meanwhile moves its files; then everything is read again.

    `cells` are also those of seeds that were given up, and of the reserve.
    """
    from reports.build import build_report

    log = read_events(root.events)
    for _ in range(ATTEMPTS):
        reserve = reserve_of(root)
        given_up = {one.seed for one in reserve.drawn}
        ledgers = {cell.run_id: run_ledger(root, cell, cell.seed in given_up) for cell in cells}
        runs = [run for run in ledgers.values() if run is not None]
        connection = connect(runs, threads=_threads())
        regrades = attach(connection, runs)
        lock_now = replace(
            lock,
            environment=environment(),
            event_head=log.head,
            differences=(*lock.differences, *_foreign(root, cells, finished_runs(log.events))),
            left_behind=_left_behind(cells, log.events),
        )
        with suppress(duckdb.IOException):
            diverged = diverged_runs(connection)
            facts = tuple(
                run_fact(root, cell, ledgers[cell.run_id], diverged, cell.run_id in reserve.missing)
                for cell in cells
            )
            return build_report(
                ReportInputs(
                    study=root.loaded.study,
                    connection=connection,
                    runs=facts,
                    lock=lock_now,
                    events=tuple(_event(e) for e in log.events),
                    marks=_marks(root, cells),
                    gradient_tests=gradient_tests(StudyLayout.of(root.loaded.path).predictions),
                    generated_at=now.strftime("%Y-%m-%d %H:%M UTC"),
                    again=_graded_again(root, cells, connection, regrades),
                    drawn=reserve.drawn,
                )
            )
    raise Refused(
        Problem("runs end faster than they can be read; try again in a moment", file=str(root.runs))
    )


def _graded_again(
    root: StudyRoot,
    cells: list[Cell],
    connection: duckdb.DuckDBPyConnection,
    regrades: list[dict[str, Any]],
) -> GradedAgain:
    """Second opinions, where the gold answers can be had, and what regradings changed."""
    study = root.loaded.study
    if not any(one.grader.kind == "math" for one in study.data.benchmarks.values()):
        return graded_again((), regrades, cells)
    try:
        lock = None if root.exploratory else read_chain(StudyLayout.of(root.loaded.path))[-1]
        golds = read_golds(root.loaded, lock)
    except Refused as error:
        return replace(graded_again((), regrades, cells), why_not=str(error.problems[0].message))
    return graded_again(second_opinions(connection, study, cells, golds), regrades, cells)


def _foreign(root: StudyRoot, cells: list[Cell], logged: Mapping[str, str]) -> Iterator[str]:
    """Runs that were not made under this plan, or are not those that ended under it, a sentence each.

    What a run's own files say is compared with the log; `prereg verify` also derives it from the ledger.
    """
    if root.exploratory:
        return
    for cell in cells:
        folder = root.folder(cell)
        facts, marker = read_json(folder.facts), read_json(folder.marker)
        if facts is not None and facts.get("lock") not in root.accepted:
            yield f"the run {cell.run_id} was made under another lock ({facts.get('lock')})"
        if marker is not None and marker.get("content_digest") != logged.get(
            cell.run_id, marker.get("content_digest")
        ):
            yield f"the run {cell.run_id} is not the one whose end the event log recorded"


def _left_behind(cells: list[Cell], events: Sequence[LoggedEvent]) -> tuple[str, ...]:
    """Runs that the log says ended, and that the plan does not name (any more)."""
    planned = {cell.run_id for cell in cells}
    ended = dict.fromkeys(str(e.data.get("run")) for e in events if e.kind == "run_finished")
    return tuple(sorted(run for run in ended if run not in planned))


def _event(logged: LoggedEvent) -> Event:
    finished, planned = logged.data.get("finished"), logged.data.get("planned")
    counts = (finished, planned) if isinstance(finished, int) and isinstance(planned, int) else None
    look = logged.data.get("planned_look")
    return Event(logged.at, logged.kind, logged.summary, counts, look if isinstance(look, int) else None)


def _threads() -> int:
    """Cores of this process. Their number changes no digit of a report."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _marks(root: StudyRoot, cells: list[Cell]) -> tuple[str, ...]:
    marks = []
    if root.simulated or any((read_json(root.folder(c).facts) or {}).get("simulated") for c in cells):
        marks.append("SIMULATED: made up from a declared truth; no model was trained")
    elif root.exploratory:
        marks.append("EXPLORATORY")
        if changed := remembered(root.loaded.path):
            marks.append(f"OVERRIDDEN: {in_words(changed)}")
    if root.loaded.study.budget.clock == "counted":
        marks.append("COUNTED CLOCK")
    return tuple(marks)


def _log(root: StudyRoot, now: datetime, finished: int, planned: int, look: int | None) -> None:
    """A look at incomplete results is an event of its own kind: it may have influenced what came after.

    One that the plan declares, `look`, is recorded as such.
    """
    data = {"finished": finished, "planned": planned}
    layout = StudyLayout.of(root.loaded.path)
    if root.exploratory and not root.simulated and layout.lock.is_file():
        _log_trial(layout, now, f"exploratory report on {finished} of {planned} runs")
    if look is not None:
        summary = f"planned look {look}: report on {finished} of {planned} runs"
        append_event(root.events, "look", summary, now, data | {"planned_look": look})
    elif finished < planned:
        append_event(root.events, "look", f"report on {finished} of {planned} runs", now, data)
    else:
        append_event(root.events, "report", f"report on all {planned} runs", now, data)


def _log_trial(layout: StudyLayout, now: datetime, summary: str) -> None:
    """A report on exploratory runs beside a lock is a look as well, until the locked runs are complete."""
    study = read_chain(layout)[-1].study
    finished, planned = progress(layout, study)
    if finished < planned:
        append_event(layout.events, "look", summary, now, {"finished": finished, "planned": planned})
