"""`harness simulate`: every run of a study, made up from a declared truth."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.cells import Cell
from harness.looks import cells_within
from harness.orchestrate import make_folder
from harness.reserve import study_as_run
from harness.roots import StudyRoot
from harness.simulation.tables import DEVICE, Rows, tables_of
from harness.simulation.training import train
from harness.simulation.truth import load_truth
from harness.simulation.world import World
from harness.simulation.writing import write_run
from harness.tasks.resolve import load_task
from prereg.checks import check
from prereg.problems import Problem, Refused
from prereg.source import load_study
from prereg.study import Study
from prereg.testkinds import BinomialScoreboard

MARKER = "simulated.json"
"""File in the folder of simulated runs that says what they are made from, and the true effects."""

_AT_ONCE = 4
"""Runs that a process is handed at a time."""


@dataclass(frozen=True, slots=True)
class SimulatedStudy:
    """What was made."""

    folder: str
    runs: int
    samples: int
    """Evaluation samples over all runs."""
    truth_sha256: str
    effects: dict[str, float]
    """The true effect of each hypothesis, percentage points, where its metric is avg@n."""
    accuracies: dict[str, dict[str, float]]
    """True accuracy in percent by arm, at the budget of each axis."""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def simulate_study(
    path: Path, truth_path: Path, out: Path | None = None, look: int | None = None
) -> SimulatedStudy:
    """Make every run of the study up from the truth, in the place of an earlier simulation.

    With `look`, only the runs of that planned look's seeds. Raises Refused if the study or the truth is, if
    no such look is planned, or if the folder holds something else.
    """
    loaded = load_study(path)
    check(loaded, powered=False)
    study = loaded.study
    truth = load_truth(truth_path, study)
    cells = cells_within(study, look)
    ids = {
        name: [item.id for item in load_task(b.source, loaded.folder).items]
        for name, b in study.data.benchmarks.items()
    }
    root = StudyRoot.made_up(loaded, out)
    _clear(root.runs)
    digest = hashlib.sha256(truth_path.read_bytes()).hexdigest()
    (root.runs / MARKER).write_text(json.dumps({"simulated": True, "truth_sha256": digest}) + "\n")
    world = World.of(truth, study.id, {name: len(found) for name, found in ids.items()})
    rows = {name: Rows.of(found, study.data.benchmarks[name].samples) for name, found in ids.items()}
    maker = _Maker(root, world, rows, digest)
    made = _make_all(maker, cells)
    # Runs that crash call for reserve seeds, whose runs may crash as well.
    while more := [cell for cell in cells_within(study_as_run(root), look) if cell not in cells]:
        made += _make_all(maker, more)
        cells += more
    steps = _mean_steps(cells, [one[1] for one in made])
    result = SimulatedStudy(
        str(root.runs), len(cells), sum(one[0] for one in made), digest,
        _effects(world, study, steps), _accuracies(world, study, steps),
    )  # fmt: skip
    (root.runs / MARKER).write_text(json.dumps({"simulated": True} | result.to_json(), indent=1) + "\n")
    return result


class _Maker:
    """Makes one run; handed to every process once."""

    def __init__(self, root: StudyRoot, world: World, rows: Mapping[str, Rows], truth: str) -> None:
        self._root, self._world, self._rows, self._truth = root, world, rows, truth

    def __call__(self, cell: Cell) -> tuple[int, dict[str, int]]:
        """Write the run; returns its evaluation samples, and the step at which each axis is read."""
        study = self._root.loaded.study
        run = train(self._world, study, cell)
        tables = tables_of(self._world, study, cell, run, self._rows)
        facts = {
            "study": study.id, "lock": None, "exploratory": False, "simulated": True, "run": cell.run_id,
            "device_kind": DEVICE, "truth_sha256": self._truth,
        }  # fmt: skip
        crash = f"simulated crash after {run.updates} updates" if run.crashed else None
        write_run(self._root.folder(cell), cell.run_id, tables, run.updates, facts, crash)
        samples = len(tables["samples"]) if "samples" in tables else 0
        return samples, {reading.axis: reading.step for reading in run.readings}


def _make_all(maker: _Maker, cells: list[Cell]) -> list[tuple[int, dict[str, int]]]:
    """What `maker` returns of each cell, made on all cores."""
    workers = min(_cores(), max(1, len(cells) // _AT_ONCE))
    if workers == 1:
        return [maker(cell) for cell in cells]
    context = multiprocessing.get_context(
        "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    )
    with ProcessPoolExecutor(workers, context, _take, (maker,)) as pool:
        return list(pool.map(_make, cells, chunksize=_AT_ONCE))


_maker: _Maker | None = None


def _take(maker: _Maker) -> None:
    global _maker
    _maker = maker


def _make(cell: Cell) -> tuple[int, dict[str, int]]:
    assert _maker is not None
    return _maker(cell)


def _clear(folder: Path) -> None:
    """An empty folder, in the place of an earlier simulation and of nothing else."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        if not (folder / MARKER).is_file():
            hint = (
                f"a simulation only replaces another one, which it knows by its {MARKER}; name a new folder"
            )
            raise Refused(Problem("the folder holds something else", file=str(folder), hint=hint))
        shutil.rmtree(folder)
    make_folder(folder)


def _mean_steps(cells: list[Cell], steps: list[dict[str, int]]) -> dict[tuple[str, str], float]:
    """The mean update at which the runs of an arm are read, by arm and axis."""
    found: dict[tuple[str, str], list[int]] = {}
    for cell, read in zip(cells, steps, strict=True):
        for axis, step in read.items():
            found.setdefault((cell.arm, axis), []).append(step)
    return {key: sum(values) / len(values) for key, values in found.items()}


def _accuracies(
    world: World, study: Study, steps: Mapping[tuple[str, str], float]
) -> dict[str, dict[str, float]]:
    caps = {name: b.max_new_tokens for name, b in study.data.benchmarks.items()}
    return {
        arm: {
            axis: world.accuracy(arm, steps[arm, axis], study.weights(), caps)
            for axis in study.budget.declared()
            if (arm, axis) in steps
        }
        for arm in study.arms
    }


def _effects(world: World, study: Study, steps: Mapping[tuple[str, str], float]) -> dict[str, float]:
    caps = {name: b.max_new_tokens for name, b in study.data.benchmarks.items()}
    effects = {}
    for h in study.hypotheses:
        places = [(arm, h.matched_on) for arm in (h.treatment, h.control)]
        if (
            isinstance(h.test, BinomialScoreboard)
            or h.metric.kind != "avg"
            or not steps.keys() >= set(places)
        ):
            continue
        weights = study.weights(h.benchmarks)
        treated, control = (world.accuracy(place[0], steps[place], weights, caps) for place in places)
        effects[h.id] = treated - control
    return effects


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
