"""What the ledger of real runs weighs a token, by table, and what writing and compacting it takes."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

import harness.cell_process as cell_process
from benchmarks.builtin import MODEL, STUDY, study
from benchmarks.measuring import Document, held, one_thread, run_alone, spread
from harness.cells import Cell
from harness.folders import RunFolder
from harness.ledger.columns import Ragged, TableBuffer
from harness.ledger.reader import RunLedger, read_run
from harness.ledger.schema import TABLES
from harness.ledger.writer import write_table
from prereg.study import Study

UPDATES = 60
EVALUATED_PROBLEMS, EVALUATED_SAMPLES = 8, 8
WRITTEN_TOKENS = 1_000_000
"""Tokens of the commit whose writing is timed: a run's own rows, repeated."""
WRITINGS = 3
OF_EVALUATION = ("samples", "evaluations")
BYTES_TARGET, SECONDS_TARGET = 4.2, 0.2


def measure() -> Document:
    """Runs each arm for real, then writes the rows of one of them again as one large commit."""
    one_thread()
    plan = _shortened(study().study)
    compactions: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledgers = [_run(plan, arm, folder, compactions) for arm in plan.arms]
        tokens = sum(ledger.totals.tokens["rollout"] for ledger in ledgers)
        by_table = {
            table: sum(path.stat().st_size for ledger in ledgers for path in ledger.files[table])
            for table in TABLES
        }
        writings = [_seconds_to_write(ledgers[0], folder) for _ in range(WRITINGS)]
    training = sum(size for table, size in by_table.items() if table not in OF_EVALUATION)
    return {
        "what": f"{', '.join(plan.arms)}: {UPDATES} updates each, compacted",
        "rollout_tokens": tokens,
        "bytes_by_table": by_table,
        "bytes_a_token_by_table": {table: size / tokens for table, size in by_table.items()},
        "bytes_a_token_with_evaluations": sum(by_table.values()) / tokens,
        "writing_a_million_tokens_seconds": spread(writings),
        "compaction": {
            "what": f"a whole run of {tokens // len(ledgers)} tokens, checkpoints and digests included",
            "seconds_a_run": spread(compactions),
            "seconds_a_million_tokens": spread([s / tokens * len(ledgers) * 1e6 for s in compactions]),
        },
        "held": [
            held("bytes a token, all tables of training", training / tokens, at_most=BYTES_TARGET),
            held("seconds a million tokens, writing", spread(writings)["median"], at_most=SECONDS_TARGET),
        ],
    }


def _shortened(plan: Study) -> Study:
    """The built-in study with fewer updates and small evaluations; training rows are as they always are."""
    budget = plan.budget.model_copy(
        update={"updates": UPDATES, "generated_tokens": None, "device_seconds": None}
    )
    benchmarks = {
        name: spec.model_copy(
            update={
                "source": spec.source.model_copy(update={"size": EVALUATED_PROBLEMS}),
                "samples": EVALUATED_SAMPLES,
            }
        )
        for name, spec in plan.data.benchmarks.items()
    }  # fmt: skip
    data = plan.data.model_copy(update={"benchmarks": benchmarks})
    return plan.model_copy(update={"budget": budget, "data": data})


def _run(plan: Study, arm: str, folder: Path, compactions: list[float]) -> RunLedger:
    compact = cell_process.compact

    def timed(*args: Any) -> RunLedger:
        begun = time.process_time()
        ledger = compact(*args)
        compactions.append(time.process_time() - begun)
        return ledger

    cell = Cell(arm, MODEL, 1)
    target = RunFolder(folder / cell.run_id)
    with patch.object(cell_process, "compact", timed):
        cell_process.run_cell(plan, STUDY.parent, cell, target, {"lock": None}, orphaned=lambda: False)
    ledger = read_run(target.path)
    if ledger is None:
        raise RuntimeError(f"the run {cell.run_id} left no ledger")
    return ledger


def _seconds_to_write(ledger: RunLedger, folder: Path) -> float:
    """CPU seconds a million tokens from appended batches to flushed files, the tables of training."""
    repeats = max(1, round(WRITTEN_TOKENS / ledger.totals.tokens["rollout"]))
    batches = {
        name: _columns(ledger.table(name))
        for name in TABLES
        if ledger.files[name] and name not in OF_EVALUATION
    }
    begun = time.process_time()
    for name, columns in batches.items():
        buffer = TableBuffer(name, ledger.run_id)
        for _ in range(repeats):
            buffer.append(columns)
        write_table(folder, name, buffer.to_arrow())
    return (time.process_time() - begun) / (repeats * ledger.totals.tokens["rollout"]) * 1e6


def _columns(table: pa.Table) -> dict[str, Any]:
    """A table as the columns that a run appends."""
    columns: dict[str, Any] = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if name == "run_id":
            continue
        if pa.types.is_list(column.type):
            columns[name] = Ragged(column.values.to_numpy(), column.value_lengths().to_numpy())
        elif pa.types.is_primitive(column.type) and not column.null_count:
            columns[name] = column.to_numpy(zero_copy_only=False)
        else:
            columns[name] = column.to_pylist()
    return columns


if __name__ == "__main__":
    run_alone(measure)
