"""What a report says of each run: how far it came, where, and with what."""

from __future__ import annotations

from typing import Any

import duckdb

from harness.cells import Cell
from harness.folders import RunFolder, read_json
from harness.ledger.reader import RunLedger, read_run
from harness.roots import StudyRoot
from prereg.problems import Refused
from reports.inputs import RunFact, RunState, Setup


def run_ledger(root: StudyRoot, cell: Cell, given_up: bool) -> RunLedger | None:
    """A run's ledger. That of a seed that was given up is not analysed, and a fault in it stops nothing."""
    try:
        return read_run(root.folder(cell).path)
    except Refused:
        if given_up:
            return None
        raise


def run_fact(
    root: StudyRoot, cell: Cell, run: RunLedger | None, diverged: frozenset[str], for_good: bool
) -> RunFact:
    """How far a run came, where and how."""
    folder: RunFolder = root.folder(cell)
    facts = read_json(folder.facts) or {}
    failure = read_json(folder.failure)
    state: RunState = "planned"
    note = None
    if folder.finished:
        state = "finished"
    elif failure is not None:
        state, note = "failed", str(failure.get("message"))
    elif run is not None or facts:
        state = "started"
    recorded = facts.get("lock")
    if facts and recorded not in (root.accepted or (root.lock,)):
        note = f"it ran under another lock ({recorded})"
    return RunFact(
        cell.run_id, cell.arm, cell.model, cell.seed, state, facts.get("device_kind"),
        run.resumes if run is not None else 0, cell.run_id in diverged, note, _setup(facts),
        for_good,
    )  # fmt: skip


def _setup(facts: dict[str, Any]) -> Setup | None:
    """What a run recorded of its making; None before it began, and for a simulated run."""
    if not facts or facts.get("simulated"):
        return None
    return Setup(
        str(facts.get("engine", "transformers")), str(facts["device"]), bool(facts["deterministic"]),
        int(facts["torch_threads"]), tuple(sorted(facts["packages"].items())),
    )  # fmt: skip


def diverged_runs(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Runs of which any update's loss or gradient stopped being finite."""
    query = "SELECT DISTINCT run_id FROM updates WHERE NOT (isfinite(loss) AND isfinite(gradient_norm))"
    return frozenset(run for (run,) in connection.sql(query).fetchall())
