"""Running a study: every cell that is not finished, a slot each, until all are or someone says stop."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from harness.cells import Cell, every_cell, finished_in, selected
from harness.chain import finished_runs
from harness.exclusive import exclusive
from harness.executors import CellCommand
from harness.executors.local import LocalExecutor
from harness.folders import RunFolder, read_json
from harness.looks import cells_within
from harness.now import utc_now
from harness.progress import ProgressView
from harness.reserve import Reserve, draw, reserve_of, study_as_run
from harness.roots import RUNNING, StudyRoot
from harness.status import CellState, cell_state
from harness.trials import record_trial
from prereg.events import EventKind, append_event, read_events
from prereg.problems import Problem, Refused
from prereg.study import Study

POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """How `run_study` ended."""

    states: tuple[CellState, ...]
    """Of the selected cells that count: a seed that was given up does not."""
    interrupted: bool
    reserve: Reserve

    @property
    def expected(self) -> tuple[CellState, ...]:
        """Without the cells that the plan goes without."""
        return tuple(s for s in self.states if s.run_id not in self.reserve.missing)

    @property
    def failed(self) -> tuple[CellState, ...]:
        """Expected cells that stopped with an error."""
        return tuple(s for s in self.expected if s.state == "failed")


def run_study(
    root: StudyRoot, *, only: Sequence[str], slots: int | None, view: ProgressView, look: int | None = None
) -> StudyOutcome:
    """Run the selected cells to their ends, with `look` those of a planned look's seeds.

    Raises Refused if the study is being run already, or plans no such look.
    """
    study = root.loaded.study
    chosen = selected(every_cell(study), only)
    cells_within(study, look)  # refuses a look that is not planned, before anything is written
    make_folder(root.runs)
    with exclusive(root.runs / RUNNING, f"the study {study.id}"):
        _record_missed_ends(root)
        _draw(root, view)
        cells = _that_count(root, chosen, look)
        if not cells:
            hint = "`harness status` names the seeds that count."
            raise Refused(Problem("--only names reserve seeds that no failure called for, or seeds that were "
                                  "given up", hint=hint))  # fmt: skip
        interrupted = _run_all(root, cells, slots, view)
        # A reserve seed may fail in its turn; a cell is tried once in an invocation.
        while not interrupted and _draw(root, view):
            more = [cell for cell in _that_count(root, chosen, look) if cell not in cells]
            interrupted = _run_all(root, more, slots, view)
            cells = [*cells, *more]
        cells = _that_count(root, chosen, look)
    states = tuple(cell_state(root.folder(cell), cell, study) for cell in cells)
    return StudyOutcome(states, interrupted, reserve_of(root))


def _run_all(root: StudyRoot, cells: Sequence[Cell], slots: int | None, view: ProgressView) -> bool:
    """Run those of the cells that are not finished. True if it was interrupted."""
    study = root.loaded.study
    missing = reserve_of(root).missing
    todo = [cell for cell in cells if not root.folder(cell).finished and cell.run_id not in missing]
    devices = _gpus() if study.environment.device == "cuda" else []
    slots_needed = max(1, min(slots or slots_of(study), len(todo) or 1))
    if root.exploratory:
        record_trial(root.loaded, todo)
    executor = LocalExecutor(slots_needed, devices, warm=_can_be_warm(study))
    executor.submit([_command(root, cell) for cell in todo])
    return _drive(root, cells, todo, executor, view)


def _that_count(root: StudyRoot, cells: Sequence[Cell], look: int | None) -> list[Cell]:
    """Those of the cells that the plan and its reserve have run, with `look` for that look."""
    return [cell for cell in cells_within(study_as_run(root), look) if cell in cells]


def _draw(root: StudyRoot, view: ProgressView) -> bool:
    """Draw the reserve seeds that failures call for, and say so; whether there were any."""
    found = draw(root)
    for one in found:
        view.say(str(one))
    return bool(found)


def _record_missed_ends(root: StudyRoot) -> None:
    """Log the end of runs that finished while nobody was left to log it."""
    known = finished_runs(read_events(root.events).events)
    for run_id in finished_in(root.runs, root.loaded.study):
        if run_id not in known:
            marker = read_json(RunFolder(root.runs / run_id).marker) or {}
            data = {"run": run_id, "content_digest": marker.get("content_digest"), "found_later": True}
            append_event(
                root.events,
                "run_finished",
                f"found finished {run_id}, not recorded when it ended",
                utc_now(),
                data,
            )


def make_folder(path: Path) -> None:
    """Make a folder for output. Raises Refused if that is not permitted."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(
            Problem(
                f"the folder cannot be made: {error.strerror}",
                file=str(path),
                hint="check who owns the place",
            )
        ) from error
    if not os.access(path, os.W_OK):
        raise Refused(
            Problem("the folder cannot be written to", file=str(path), hint="check its permissions")
        )


def _drive(
    root: StudyRoot, cells: Sequence[Cell], todo: Sequence[Cell], executor: LocalExecutor, view: ProgressView
) -> bool:
    """Poll until every cell has ended; log what begins and ends. True if it was interrupted."""
    by_id = {cell.run_id: cell for cell in todo}
    begun: set[str] = set()
    ended: set[str] = set()
    study = root.loaded.study
    with _Interrupt() as interrupt:
        while True:
            if interrupt.asked and not interrupt.passed_on:
                interrupt.passed_on = True
                view.say("stopping: running cells commit their work (press Ctrl-C again to end them at once)")
                executor.cancel()
            if interrupt.asked > 1:
                executor.kill()
            polled = executor.poll()
            for run_id, status in polled.items():
                folder = root.folder(by_id[run_id])
                if status != "waiting" and run_id not in begun:
                    begun.add(run_id)
                    resumed = (folder.path / "commits").is_dir()
                    _log(root, "run_resumed" if resumed else "run_started", run_id)
                    view.say(f"{run_id}: {'resumed' if resumed else 'started'}")
                if status == "ended" and run_id not in ended:
                    ended.add(run_id)
                    _log_end(root, folder, run_id, view)
            view.show([cell_state(root.folder(cell), cell, study, polled.get(cell.run_id)) for cell in cells])
            if all(status == "ended" for status in polled.values()):
                return bool(interrupt.asked)
            time.sleep(POLL_SECONDS)


def _log_end(root: StudyRoot, folder: RunFolder, run_id: str, view: ProgressView) -> None:
    if folder.finished:
        marker = read_json(folder.marker) or {}
        data = {"run": run_id, "content_digest": marker.get("content_digest")}
        _log(root, "run_finished", run_id, data)
        view.say(f"{run_id}: finished")
    elif (failure := read_json(folder.failure)) is not None:
        message = str(failure.get("message", "unknown"))
        _log(root, "run_failed", run_id, {"run": run_id, "message": message[:2000]})
        view.say(f"{run_id}: failed: {message}")
    else:
        view.say(f"{run_id}: stopped before its end; the next `harness run` goes on from its last commit")


def _log(root: StudyRoot, kind: EventKind, run_id: str, data: dict[str, Any] | None = None) -> None:
    words = {
        "run_started": "started",
        "run_resumed": "resumed",
        "run_finished": "finished",
        "run_failed": "failed",
    }
    append_event(root.events, kind, f"{words[kind]} {run_id}", utc_now(), data or {"run": run_id})


def _command(root: StudyRoot, cell: Cell) -> CellCommand:
    command = [
        sys.executable, "-m", "harness", "run-cell", str(root.loaded.path.resolve()), "--run-id", cell.run_id,
        "--stop-with-parent",
    ]  # fmt: skip
    if root.exploratory:
        command.append("--exploratory")
    threads = str(root.loaded.study.trainer_of(cell.arm).torch_threads)
    environment = {
        "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads,
        "TOKENIZERS_PARALLELISM": "false", "PYTHONFAULTHANDLER": "1", "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    }  # fmt: skip
    return CellCommand(cell.run_id, tuple(command), root.folder(cell).log, environment)


def slots_of(study: Study) -> int:
    """Runs at a time: as the study says, or one a GPU, or one a CPU core."""
    on_gpus = len(_gpus()) if study.environment.device == "cuda" else 0
    return study.environment.slots or on_gpus or max(1, _cores())


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _gpus() -> list[str]:
    """Devices that this process may use, by the names that CUDA_VISIBLE_DEVICES takes."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name for name in visible.split(",") if name.strip()]
    import torch

    return [str(index) for index in range(torch.cuda.device_count())]


class _Interrupt:
    """Counts SIGINT and SIGTERM while inside, instead of letting them end the process."""

    def __init__(self) -> None:
        self.asked = 0
        self.passed_on = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Interrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._count)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _count(self, _number: int, _frame: FrameType | None) -> None:
        self.asked += 1


def _can_be_warm(study: Study) -> bool:
    """Whether cells may be forked from a server that has torch loaded: not beside a GPU, nor with an engine
    that starts processes of its own."""
    engines = {study.trainer_of(arm).engine.kind for arm in study.arms}
    return study.environment.device == "cpu" and engines == {"transformers"}
