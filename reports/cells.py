"""Counts of evaluation samples by problem, a cell for each policy and benchmark."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reports.querying import query_rows, run_query

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cell:
    """One benchmark on one checkpoint of one run; the arrays have shape (problems,), in order of id."""

    problem_ids: tuple[str, ...]
    samples: Counts
    distinct_samples: Counts
    """Less than `samples` where a sample was recorded twice."""
    correct: Counts
    failed: Counts
    """Samples whose grading failed: they block the cell."""
    unparseable: Counts
    limited: Counts
    truncated: Counts
    tokens: Counts
    distinct_texts: Counts


_COUNTS = (
    "samples", "distinct_samples", "correct", "failed", "unparseable", "limited", "truncated", "tokens",
    "distinct_texts",
)  # fmt: skip


RUNS_AT_ONCE = 200
"""Runs whose samples are counted in one query."""


def read_cells(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, int, str], Cell]:
    """Every cell by run, step and benchmark."""
    runs = [row["run_id"] for row in query_rows(connection, "runs")]
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    cells: dict[tuple[str, int, str], Cell] = {}
    for start in range(0, len(runs), RUNS_AT_ONCE):
        some = runs[start : start + RUNS_AT_ONCE]
        cells |= _cells_of(run_query(connection, "problems", some[0], some[-1]), known)
    return cells


def _cells_of(
    table: pa.Table, shared: dict[tuple[str, ...], tuple[str, ...]]
) -> dict[tuple[str, int, str], Cell]:
    """Cells of a table that is in order of run, step, benchmark and problem; they share its memory.

    `shared` holds the lists of problems seen so far, so that each is kept once.
    """
    if len(table) == 0:
        return {}
    runs, run_names = _coded(table["run_id"])
    benchmarks, benchmark_names = _coded(table["benchmark"])
    problems, problem_names = _coded(table["problem_id"])
    steps = table["step"].to_numpy()
    counts = [pc.fill_null(table[name], 0).to_numpy().astype(np.int64) for name in _COUNTS]
    changes = (np.diff(runs) != 0) | (np.diff(steps) != 0) | (np.diff(benchmarks) != 0)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1, [len(table)]]).tolist()
    known: dict[bytes, tuple[str, ...]] = {}
    cells = {}
    for start, end in itertools.pairwise(starts):
        own = problems[start:end]
        ids = known.get(own.tobytes())
        if ids is None:
            ids = tuple(problem_names[code] for code in own.tolist())
            ids = known[own.tobytes()] = shared.setdefault(ids, ids)
        key = (run_names[runs[start]], int(steps[start]), benchmark_names[benchmarks[start]])
        cells[key] = Cell(ids, *(values[start:end] for values in counts))
    return cells


def _coded(column: pa.ChunkedArray) -> tuple[NDArray[Any], list[str]]:
    """A column of texts as whole numbers, and the text of each."""
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
