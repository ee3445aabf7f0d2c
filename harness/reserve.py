"""Reserve seeds while a study runs: what calls for one, what was drawn, and what the event log says of it.

The event log decides. A run has failed for good when it ended with an error in `ATTEMPTS` attempts and never
finished; `harness run` then draws the next reserve seed and records it, and from then on the runs of the seed
that was given up are not tried again. Where no reserve seed is left, a plan that goes without missing pairs
does not try them again either: whoever has seen the others must not choose whether to have this one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cells import Cell, cells_of, every_cell
from harness.folders import RunFolder
from harness.now import utc_now
from prereg.events import LoggedEvent, append_event, read_events
from prereg.layout import StudyLayout
from prereg.reserve import ATTEMPTS, Replacement, draws, standing, uncalled, valid, with_reserve
from prereg.study import Study

if TYPE_CHECKING:
    from harness.roots import StudyRoot


@dataclass(frozen=True, slots=True)
class Reserve:
    """How the reserve of a study stands, and which runs are given up."""

    drawn: tuple[Replacement, ...] = ()
    left: tuple[int, ...] = ()
    """Reserve seeds that nothing has called for."""
    missing: tuple[str, ...] = ()
    """Runs that failed for good, that no reserve seed replaced and that the plan goes without."""
    pending: tuple[str, ...] = ()
    """Runs that are tried once more, and for good if it comes to that."""

    def lines(self) -> tuple[str, ...]:
        """For a person, a line each; none for a study that has no such rules."""
        after = "its pair is missing"
        if self.left:
            after = f"the reserve seed {self.left[0]} takes the place of its seed"
        return (
            *(f"reserve seed {one.by} takes the place of {one.seed}: {one.run} failed for good"
              for one in self.drawn),
            *(f"{run}: failed for good; its pair is missing" for run in self.missing),
            *(f"{run}: failed; the next `harness run` tries it once more, and if that fails too, {after}"
              for run in self.pending),
            *([f"in reserve, not called for: {', '.join(map(str, self.left))}"] if self.left else []),
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        replaced = [{"seed": one.seed, "by": one.by, "run": one.run} for one in self.drawn]
        return {
            "replaced": replaced, "left": list(self.left), "missing": list(self.missing),
            "tried_once_more": list(self.pending),
        }  # fmt: skip


def reserve_of(root: StudyRoot) -> Reserve:
    """How the reserve stands by the event log, or by the folders of simulated runs."""
    study = root.loaded.study
    if not _has_rules(study):
        return Reserve()
    if root.simulated:
        failures = Counter({cell.run_id: ATTEMPTS for cell in every_cell(study) if _crashed(root, cell)})
        return _reserve(study, root.runs, _of_folders(root), failures)
    return _by_log(study, root.runs, read_events(root.events).events)


def study_as_run(root: StudyRoot) -> Study:
    """The study with the seeds that count: the reserve seeds stand in the places that they took."""
    return with_reserve(root.loaded.study, reserve_of(root).drawn)


def standing_cells(root: StudyRoot) -> list[Cell]:
    """The cells that count."""
    return cells_of(study_as_run(root))


def expected_cells(root: StudyRoot) -> list[Cell]:
    """Those of the cells that count without which the study is not complete: all but the missing ones."""
    missing = reserve_of(root).missing
    return [cell for cell in standing_cells(root) if cell.run_id not in missing]


def progress(layout: StudyLayout, study: Study) -> tuple[int, int]:
    """Runs under the lock that are finished, and all that are expected."""
    reserve = Reserve()
    if _has_rules(study):
        reserve = _by_log(study, layout.runs, read_events(layout.events).events)
    cells = cells_of(study, standing(study.seeds, reserve.drawn))
    expected = [cell.run_id for cell in cells if cell.run_id not in reserve.missing]
    return sum(RunFolder(layout.runs / run).finished for run in expected), len(expected)


def _has_rules(study: Study) -> bool:
    return bool(study.reserve_seeds) or study.missing.pairs == "complete_cases"


def _by_log(study: Study, runs: Path, events: Sequence[LoggedEvent]) -> Reserve:
    failures = Counter(str(e.data.get("run")) for e in _under_plan(events) if e.kind == "run_failed")
    return _reserve(study, runs, recorded(study, events), failures)


def _reserve(study: Study, runs: Path, drawn: tuple[Replacement, ...], failures: Counter[str]) -> Reserve:
    goes_without = study.missing.pairs == "complete_cases"
    left = study.reserve_seeds[len(drawn) :]
    unfinished = [
        cell.run_id
        for cell in cells_of(study, standing(study.seeds, drawn))
        if failures[cell.run_id] and not RunFolder(runs / cell.run_id).finished
    ]
    return Reserve(
        drawn,
        left,
        tuple(run for run in unfinished if goes_without and not left and failures[run] >= ATTEMPTS),
        tuple(run for run in unfinished if (goes_without or left) and failures[run] < ATTEMPTS),
    )


def draw(root: StudyRoot) -> tuple[Replacement, ...]:
    """Draw the reserve seeds that failures call for, and record each. Returns those that are new."""
    study = root.loaded.study
    if not study.reserve_seeds:
        return ()
    events = read_events(root.events).events
    found = draws(study, recorded(study, events), failed_for_good(study, events))
    for one in found:
        data = {"seed": one.seed, "by": one.by, "run": one.run}
        append_event(root.events, "reserve", str(one), utc_now(), data)
    return found


def recorded(study: Study, events: Sequence[LoggedEvent]) -> tuple[Replacement, ...]:
    """The draws that the log holds, that failures before them called for and that the present plan allows."""
    present = _under_plan(events)
    called = (
        one
        for position, event in enumerate(present)
        if (one := _replacement(event)) is not None
        and (one.seed, one.run) in failed_for_good(study, present[:position])
    )
    return valid(study, called)


def failed_for_good(study: Study, events: Sequence[LoggedEvent]) -> tuple[tuple[int, str], ...]:
    """Seeds with the run that failed for good, in the order in which the log has them fail."""
    seeds = {cell.run_id: cell.seed for cell in every_cell(study)}
    present = _under_plan(events)
    finished = {str(event.data.get("run")) for event in present if event.kind == "run_finished"}
    count: Counter[str] = Counter()
    found: list[tuple[int, str]] = []
    for event in present:
        run = str(event.data.get("run"))
        if event.kind == "run_failed" and run in seeds and run not in finished:
            count[run] += 1
            if count[run] == ATTEMPTS:
                found.append((seeds[run], run))
    return tuple(found)


def faults(study: Study, events: Sequence[LoggedEvent], runs: Path) -> Iterator[str]:
    """Draws that no failure called for, and runs of reserve seeds that were not drawn, in words."""
    allowed = recorded(study, events)
    for event in _under_plan(events):
        one = _replacement(event)
        if one is not None and one not in allowed:
            yield f"event {event.number}: nothing before it called for this: {one}"
    made = {cell.seed for cell in every_cell(study) if _has_run(RunFolder(runs / cell.run_id))}
    for seed in uncalled(study, allowed, made):
        names = [cell.run_id for cell in every_cell(study)
                 if cell.seed == seed and _has_run(RunFolder(runs / cell.run_id))]  # fmt: skip
        yield f"{', '.join(names)}: a run of the reserve seed {seed}, which no failure called for"


def _has_run(folder: RunFolder) -> bool:
    return folder.facts.is_file() or folder.finished


def _replacement(event: LoggedEvent) -> Replacement | None:
    """The draw that an event records, if it records one."""
    seed, by = event.data.get("seed"), event.data.get("by")
    if event.kind != "reserve" or not isinstance(seed, int) or not isinstance(by, int):
        return None
    return Replacement(seed, by, str(event.data.get("run")))


def _under_plan(events: Sequence[LoggedEvent]) -> Sequence[LoggedEvent]:
    """The events since the last amendment that set the runs of before aside."""
    last = [i for i, e in enumerate(events) if e.kind == "amendment" and e.data.get("runs_set_aside")]
    return events[last[-1] + 1 :] if last else events


def _of_folders(root: StudyRoot) -> tuple[Replacement, ...]:
    """The draws that simulated runs call for: one that crashed has failed for good."""
    study = root.loaded.study
    drawn: tuple[Replacement, ...] = ()
    while True:
        failed = [
            (cell.seed, cell.run_id)
            for cell in cells_of(study, standing(study.seeds, drawn))
            if _crashed(root, cell)
        ]
        more = draws(study, drawn, failed)
        if not more:
            return drawn
        drawn += more


def _crashed(root: StudyRoot, cell: Cell) -> bool:
    folder = root.folder(cell)
    return folder.failure.is_file() and not folder.finished
