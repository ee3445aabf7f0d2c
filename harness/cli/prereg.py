"""`harness prereg ...`: write, lock, verify and show a plan."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from cyclopts import App

from harness.cli.output import DONE, MISMATCH, emit, note

group = App(name="prereg", help="Write a plan, lock it, and compare what is there with the lock.")


def register(app: App) -> None:
    """Add the group to the command line."""
    app.command(group)


@group.command
def init(
    path: Path = Path("study.yaml"),
    *,
    example: Literal["files", "builtin", "dense-rewards"] = "files",
    json: bool = False,
) -> None:
    """Write a commented study file to start from, and what it needs beside it.

    Parameters
    ----------
    path
        Where to write it; a file that exists is never overwritten.
    example
        `files`: a study on problems in JSONL files of your own. `builtin`, `dense-rewards`: the
        studies that come with the harness.
    json
        Print one JSON document.
    """
    from harness.starting import write_starter

    written = write_starter(path, example)
    if json:
        emit({"written": [str(file) for file in written]})
        return
    for file in written:
        note(f"wrote {file}")
    note(f"edit {path.name}, then: harness prereg lock {path}")


@group.command
def lock(study: Path | None = None, *, json: bool = False) -> None:
    """Check a study and lock it: every input becomes a digest, and runs and verdicts are bound to it.

    Parameters
    ----------
    study
        The study file; left out, the one in this folder.
    json
        Print one JSON document.
    """
    from harness.locking import lock_study
    from prereg.layout import StudyLayout, find_study

    path = study or find_study()
    made, notes, head = lock_study(path)
    target = StudyLayout.of(path).lock
    if json:
        emit({"lock": made.sha256, "file": str(target), "event_head": head, "notes": list(notes)})
        return
    note(f"locked {made.study.id}: {target}")
    for line in notes:
        note(f"  note: {line}")
    for name, source in made.sources.items():
        note(f"  {name}: {source.what} ({'owed' if source.owed else source.sha256[:12]})")
    note(f"  event log head: {head}")
    note("Publish this SHA-256 where others can see when you did; it stands for the whole plan:")
    print(made.sha256)


@group.command
def verify(study: Path | None = None, *, head: list[str] | None = None, json: bool = False) -> None:
    """Re-derive everything the lock holds and name each thing that differs. Exits with 4 if anything does.

    Parameters
    ----------
    study
        The study file; left out, the one in this folder.
    head
        A head of the event log, or the SHA-256 of a lock, that was published: it must be held. Repeatable.
    json
        Print one JSON document.
    """
    from harness.verifying import verify_study
    from prereg.layout import find_study

    result = verify_study(study or find_study(), head or ())
    if json:
        emit(result.to_json())
    else:
        for line in result.differences:
            note(f"differs: {line}")
        for line in result.problems:
            note(f"damaged: {line}")
        for line in result.reported:
            note(f"changed, without effect on the lock: {line}")
        for run in result.runs:
            note(run)
        for line in result.receipts:
            note(f"receipt: {line}")
        for line in result.unverified:
            note(f"receipt, open: {line}")
        for line in result.owed:
            note(f"owed at the lock: {line}")
        if result.sound:
            print(result.conclusion)
    sys.exit(DONE if result.sound else MISMATCH)


@group.command
def show(study: Path | None = None, *, json: bool = False) -> None:
    """Print the plan in words: who is compared with whom, on what, at which budget, by which test.

    Parameters
    ----------
    study
        The study file; left out, the one in this folder.
    json
        Print the study with every default written out, as one JSON document.
    """
    from prereg.layout import find_study
    from prereg.show import render_plan
    from prereg.source import load_study

    plan = load_study(study or find_study()).study
    if json:
        emit(plan.model_dump(mode="json"))
    else:
        print(render_plan(plan))


@group.command
def power(
    study: Path | None = None, *, simulations: int = 2_000, seeds: str = "3,5,8,10", json: bool = False
) -> None:
    """Simulate the power of every hypothesis that declares assumptions, by the analysis of the report itself.

    Parameters
    ----------
    study
        The study file; left out, the one in this folder.
    simulations
        Simulated studies, from 100 to 100,000.
    seeds
        Numbers of seeds besides the study's own, separated by commas.
    json
        Print one JSON document.
    """
    from harness.powering import counts_of, render, study_power
    from prereg.checks import check
    from prereg.layout import find_study
    from prereg.source import load_study

    counts = counts_of(seeds, simulations)
    loaded = load_study(study or find_study())
    check(loaded, powered=False)
    found = study_power(loaded, simulations, counts)
    if json:
        emit(found.to_json())
    else:
        print(render(found))


@group.command
def schema(*, of: Literal["study", "truth"] = "study") -> None:
    """Print the JSON Schema of study files, for editors.

    Parameters
    ----------
    of
        `truth`: that of the files which `harness simulate` reads.
    """
    from harness.simulation.truth import truth_schema
    from prereg.schema import schema_text

    print(schema_text() if of == "study" else truth_schema())
