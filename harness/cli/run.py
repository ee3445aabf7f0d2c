"""`harness plan`, `run`, `status`, `regrade`, `report`."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cyclopts import App

from harness.cli.output import BUG, DONE, INTERRUPTED, REFUSED, SOME_FAILED, emit, note
from prereg.problems import Problem, Refused

if TYPE_CHECKING:
    from harness.forecast import ArmForecast
    from harness.measuring import MeasuredArm
    from prereg.source import LoadedStudy


def register(app: App) -> None:
    """Add the commands to the command line."""
    for command in (plan, run, simulate, status, regrade, report):
        app.command(command)
    app.command(run_cell, name="run-cell", show=False)


def plan(
    study: Path | None = None, *, measure: bool = False, device: str | None = None,
    length_share: float = 0.5, json: bool = False,
) -> None:  # fmt: skip
    """Show what a study will run and what it will cost at most.

    Parameters
    ----------
    study
        The study file; left out, the one in this folder.
    measure
        Also make a few updates of every arm here, throw them away, and predict the cost from them.
    device
        Also compute the GPU-hours on this device (h100-80gb, a100-80gb, h200, ...), from stated assumptions.
    length_share
        Mean length of an answer as a share of its cap, one of those assumptions.
    json
        Print one JSON document.
    """
    from harness.orchestrate import slots_of
    from harness.plan import plan_of
    from harness.plan_text import render, render_forecast, render_measured
    from harness.tasks.resolve import size_of
    from prereg.checks import check
    from prereg.layout import find_study
    from prereg.source import load_study

    loaded = load_study(study or find_study())
    check(loaded)
    sizes = {
        name: size_of(benchmark.source, loaded.folder)
        for name, benchmark in loaded.study.data.benchmarks.items()
    }
    made = plan_of(loaded.study, sizes)
    measured = _measured(loaded) if measure else []
    forecasts, assumed = _forecasts(loaded, sizes, device, length_share) if device else ([], ())
    if json:
        emit(
            made.to_json()
            | ({"measured": [arm.to_json() for arm in measured]} if measure else {})
            | ({"device": device, "assumed": list(assumed), "forecast": [f.to_json() for f in forecasts]}
               if device else {})
        )  # fmt: skip
        return
    print(render(made))
    if device:
        print("\n" + render_forecast(forecasts, device, assumed))
    if measured:
        print("\n" + render_measured(measured, slots_of(loaded.study)))


def _forecasts(
    loaded: LoadedStudy, sizes: dict[str, int], device: str, length_share: float
) -> tuple[list[ArmForecast], tuple[str, ...]]:
    """The forecast of each arm and model on a device, and what was assumed."""
    from harness.devices import device_named
    from harness.forecast import Assumptions, forecast
    from harness.shapes import shape_of_model

    if not 0 < length_share <= 1:
        raise Refused(Problem(f"a share of the cap lies between 0 and 1, found {length_share:g}"))
    assumed, chosen, study = Assumptions(length_share), device_named(device), loaded.study
    shapes = {name: shape_of_model(loaded, name) for name in study.models}
    found = [
        forecast(study, arm, model, shapes[model], sizes, chosen, assumed)
        for model in study.models
        for arm in study.arms
    ]
    return found, assumed.words()


def _measured(loaded: LoadedStudy) -> list[MeasuredArm]:
    from harness.measuring import measure_arm

    pairs = [(arm, model) for model in loaded.study.models for arm in loaded.study.arms]
    return [measure_arm(loaded.study, loaded.folder, arm, model) for arm, model in pairs]


def run(
    study: Path | None = None,
    *,
    exploratory: bool = False,
    model_override: list[str] | None = None,
    override: list[str] | None = None,
    only: list[str] | None = None,
    look: int | None = None,
    slots: int | None = None,
    json: bool = False,
) -> None:
    """Run every cell of a locked study that is not finished; can be interrupted and given again at any time.

    Parameters
    ----------
    study
        The study file; left out, the one in this folder.
    exploratory
        Run apart from any lock; every output is marked.
    model_override
        Another model, e.g. `--model-override base=../small-model`: a folder. Makes the runs exploratory.
    override
        Another value of a field, e.g. `--override budget.updates=2`. Makes the runs exploratory.
    only
        Only some cells, e.g. `--only arm=mcpo,seed=11`.
    look
        Only the seeds of this look of a group-sequential plan, and of those before it.
    slots
        Runs at a time; by default one a CPU core, or one a GPU.
    json
        Print one JSON document at the end.
    """
    from contextlib import nullcontext

    from rich.console import Console

    from harness.orchestrate import run_study
    from harness.overrides import in_words, overridden, parse_overrides, remember, remembered
    from harness.progress import PlainView, RichView
    from harness.roots import open_root
    from prereg.layout import find_study
    from prereg.source import load_study

    if slots is not None and slots < 1:
        raise Refused(Problem(f"--slots is {slots}; at least 1 is needed"))
    path = study or find_study()
    if model_override or override:
        changes = parse_overrides(override or [], model_override or [])
        overridden(load_study(path), changes)
        remember(path, changes)
        exploratory = True
    root = open_root(path, exploratory=exploratory)
    console = Console(stderr=True)
    with RichView(console) if console.is_terminal else nullcontext(PlainView()) as view:
        if exploratory:
            view.say("EXPLORATORY: these runs stand outside any lock and cannot support a registered verdict")
            if changed := remembered(path):
                view.say(f"OVERRIDDEN: {in_words(changed)}")
        outcome = run_study(root, only=only or [], slots=slots, view=view, look=look)
    finished = sum(s.state == "finished" for s in outcome.states)
    if json:
        emit({
            "runs": [s.to_json() for s in outcome.states], "folder": str(root.runs),
            "exploratory": exploratory, "interrupted": outcome.interrupted,
            "reserve": outcome.reserve.to_json(),
        })  # fmt: skip
    else:
        for line in outcome.reserve.lines():
            note(line)
        note(f"{finished} of {len(outcome.states)} runs finished in {root.runs}")
        if finished < len(outcome.expected):
            note("give the same command again to go on")
        elif not exploratory:
            note("next: harness report")
    if outcome.interrupted:
        sys.exit(INTERRUPTED)
    sys.exit(SOME_FAILED if outcome.failed else DONE)


def status(study: Path | None = None, *, exploratory: bool = False, json: bool = False) -> None:
    """Show how far every run is; works while the study runs.

    Parameters
    ----------
    study
        The study file; left out, the one in this folder.
    exploratory
        Of the exploratory runs.
    json
        Print one JSON document.
    """
    from harness.looks import look_states
    from harness.reserve import reserve_of, standing_cells, study_as_run
    from harness.roots import StudyRoot
    from harness.status import cell_state
    from prereg.layout import find_study
    from prereg.source import load_study

    loaded = load_study(study or find_study())
    root = StudyRoot.apart(loaded) if exploratory else StudyRoot.of_runs(loaded)
    cells, reserve = standing_cells(root), reserve_of(root)
    states = [cell_state(root.folder(cell), cell, root.loaded.study) for cell in cells]
    looks = look_states(study_as_run(root), [cell for cell in cells if root.folder(cell).finished])
    if json:
        planned = {"looks": [one.to_json() for one in looks]} if looks else {}
        document = {"runs": [s.to_json() for s in states], "folder": str(root.runs)}
        emit(document | {"reserve": reserve.to_json()} | planned)
        return
    width = max(len(s.run_id) for s in states)
    for s in states:
        line = f"{s.run_id:<{width}}  {s.state:<8}  {s.fraction:>4.0%}  {s.updates:>7,} updates"
        print(f"{line}  {s.generated_tokens:>12,} tokens" + (f"  {s.message}" if s.message else ""))
    for one in (*looks, *reserve.lines()):
        print(one)


def simulate(
    study: Path | None = None,
    *,
    truth: Path,
    out: Path | None = None,
    look: int | None = None,
    json: bool = False,
) -> None:
    """Rehearse a study: make its runs up from a declared truth, and see its report before any real run.

    Parameters
    ----------
    study
        The study file; left out, the one in this folder.
    truth
        How each arm learns, writes, costs and fails: a YAML file (docs/simulate.md).
    out
        Folder for the simulated runs; by default `study.simulated` beside the study.
    look
        Only the seeds of this look of a group-sequential plan, and of those before it.
    json
        Print one JSON document.
    """
    from harness.simulation.study import simulate_study
    from prereg.layout import find_study

    made = simulate_study(study or find_study(), truth, out, look)
    if json:
        emit(made.to_json())
        return
    note(f"simulated {made.runs} runs, {made.samples:,} samples, in {made.folder}")
    for name, effect in made.effects.items():
        note(f"{name}: the true effect is {effect:+.2f} points")
    note(f"next: harness report --simulated{f' --simulated-in {out}' if out else ''}")


def regrade(
    study: Path | None = None,
    *,
    grader: Literal["study", "second"] = "study",
    exploratory: bool = False,
    json: bool = False,
) -> None:
    """Grade the stored texts of finished runs again, without sampling; both verdicts are kept.

    Parameters
    ----------
    study
        The study file; left out, the one in this folder.
    grader
        `study`: the one that the study declares, as it is now. `second`: a grader of another kind, whose
        verdicts are only compared.
    exploratory
        Of the exploratory runs.
    json
        Print one JSON document.
    """
    from harness.regrading import regrade_study
    from prereg.layout import find_study

    result = regrade_study(study or find_study(), which=grader, exploratory=exploratory)
    if json:
        emit({"regraded": [one.to_json() for one in result.done], "passed_over": list(result.passed_over)})
        return
    for one in result.done:
        made = f", {one.usable} made usable" if one.usable else ""
        print(f"{one.run_id}: {one.changed:,} of {one.samples:,} verdicts differ{made} ({one.file})")
    for run_id in result.passed_over:
        note(f"{run_id}: not finished, passed over")


def report(
    study: Path | None = None,
    *,
    exploratory: bool = False,
    simulated: bool = False,
    simulated_in: Path | None = None,
    folder: Path | None = None,
    json: bool = False,
) -> None:
    """Write the report of a study as HTML, PDF, CSV and JSON.

    Parameters
    ----------
    study
        The study file; left out, the one in this folder.
    exploratory
        Of the exploratory runs; every page is marked.
    simulated
        Of the simulated runs beside the study; every page is marked.
    simulated_in
        Of the simulated runs in this folder.
    folder
        Where to write; by default beside the study.
    json
        Print one JSON document.
    """
    from harness.reporting import report_study
    from prereg.layout import find_study

    if exploratory and (simulated or simulated_in):
        raise Refused(Problem("--exploratory and --simulated exclude each other"))
    made_up = simulated_in or simulated
    path = study or find_study()
    result = report_study(path, exploratory=exploratory, folder=folder, simulated=made_up)
    if json:
        emit({
            "html": str(result.paths.html), "pdf": str(result.paths.pdf), "verdicts": result.verdicts,
            "tables": [str(p) for p in result.paths.tables], "finished": result.finished,
            "planned": result.planned, "look": result.look,
        })  # fmt: skip
        return
    recorded = "" if made_up else "; the event log records it"
    if result.look is not None:
        note(f"look {result.look} of the plan, on {result.finished} of {result.planned} runs{recorded}")
    elif result.finished < result.planned:
        note(f"a look: only {result.finished} of {result.planned} runs are finished{recorded}")
    for hypothesis, verdict in result.verdicts.items():
        note(f"{hypothesis}: {verdict}")
    print(result.paths.html)
    print(result.paths.pdf)


def run_cell(study: Path, *, run_id: str, exploratory: bool = False, stop_with_parent: bool = False) -> None:
    """Run one cell in this process; what executors call."""
    from harness.cell_entry import find_cell, run_one
    from harness.folders import RunFolder, write_json

    folder: RunFolder | None = None
    try:
        root, cell = find_cell(study, run_id, exploratory=exploratory)
        folder = root.folder(cell)
        complete = run_one(root, cell, stop_with_parent=stop_with_parent)
    except Exception as error:  # noqa: BLE001 - a failed run must say so to the one who started it
        refused = isinstance(error, Refused)
        traceback.print_exc() if not refused else note(str(error))
        if folder is not None and folder.path.is_dir():
            message = str(error) if refused else f"internal error: {type(error).__name__}: {error}"
            write_json(folder.failure, {"message": message, "log": str(folder.log)})
        sys.exit(REFUSED if refused else BUG)
    sys.exit(DONE if complete else INTERRUPTED)
