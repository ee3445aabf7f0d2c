"""What only a few analyses need of single samples, read from the ledger for the policies at the budgets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from prereg.fields import Axis
from reports.querying import run_query
from reports.scores import Evidence, block_reason, reading

Counts = NDArray[np.int64]

MOST_ROWS = 200_000
"""Rows of one regression; where there are more samples, the first of each problem are used."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """Samples of two arms, one row each; arrays of shape (rows,)."""

    correct: Counts
    treated: Counts
    truncated: Counts
    tokens: Counts
    problem: Counts
    """Numbered from 0 over all benchmarks."""
    seed: Counts
    """Numbered from 0 in the study's order."""
    samples_per_problem: int
    """Samples of a problem that entered, at most."""


@dataclass(frozen=True, slots=True)
class Details:
    """Counts by length, and by half of the samples, of each policy that is read at a budget."""

    caps: tuple[int, ...]
    """Token caps, rising."""
    capped: Mapping[tuple[str, int, str], Counts]
    """By run, step and benchmark: answers that are right and finished within each cap."""
    halves: Mapping[tuple[str, int, str], tuple[Counts, Counts]]
    """Right answers and samples among the even-numbered samples, by problem in order of id."""


def token_caps(evidence: Evidence) -> tuple[int, ...]:
    """The declared caps, or ten equal steps up to the largest cap on an answer."""
    declared = evidence.study.evaluation.token_caps
    if declared is not None:
        return tuple(sorted(set(declared)))
    most = max(benchmark.max_new_tokens for benchmark in evidence.study.data.benchmarks.values())
    return tuple(sorted({-(-most * part // 10) for part in range(1, 11)}))


def read_details(connection: duckdb.DuckDBPyConnection, evidence: Evidence) -> Details:
    """Read them. Halves are read only where the study's strata need them."""
    caps = token_caps(evidence)
    read = sorted({found for axis in evidence.study.budget.declared() for found in _read(evidence, axis)})
    with _relation(connection, "read_policies", _policies(read)):
        with _relation(connection, "token_buckets", _buckets(evidence, caps)):
            capped = run_query(connection, "capped").to_pylist()
        strata = evidence.study.strata
        halved = strata is not None and strata.by == "cross_fit"
        halves = run_query(connection, "halves").to_pylist() if halved else []
    by_cap: dict[tuple[str, int, str], Counts] = defaultdict(lambda: np.zeros(len(caps) + 1, dtype=np.int64))
    for row in capped:
        by_cap[row["run_id"], row["step"], row["benchmark"]][row["bucket"]] += row["correct"]
    by_half: dict[tuple[str, int, str], list[tuple[str, int, int]]] = defaultdict(list)
    for row in halves:
        by_half[row["run_id"], row["step"], row["benchmark"]].append(
            (str(row["problem_id"]), row["correct"], row["samples"])
        )
    return Details(
        caps,
        {key: np.cumsum(counts)[:-1] for key, counts in by_cap.items()},
        {
            key: (
                np.array([right for _, right, _ in sorted(rows)], dtype=np.int64),
                np.array([drawn for _, _, drawn in sorted(rows)], dtype=np.int64),
            )
            for key, rows in by_half.items()
        },
    )


def read_sampled(
    connection: duckdb.DuckDBPyConnection,
    evidence: Evidence,
    model: str,
    treatment: str,
    control: str,
    axis: Axis,
) -> Sampled | str:
    """Single samples of two arms at a budget, for a regression; or why they cannot be had."""
    seeds = evidence.study.seeds
    place: dict[str, tuple[int, int]] = {}
    read: list[tuple[str, int]] = []
    for arm in (treatment, control):
        for index, seed in enumerate(seeds):
            fact = evidence.run(model, arm, seed)
            at = reading(evidence, fact.run_id, axis) if fact is not None else "the run was never started"
            if fact is None or isinstance(at, str):
                return f"{arm}, seed {seed}: {at}"
            for benchmark in evidence.study.data.benchmarks:
                if (reason := block_reason(evidence, fact.run_id, at.step, benchmark)) is not None:
                    return reason
            read.append((fact.run_id, at.step))
            place[fact.run_id] = (index, int(arm == treatment))
    if len(seeds) < 2:
        return "a regression with clustered errors needs two seeds or more"
    problems = sum(
        len(evidence.ledger.cells[(*read[0], name)].problem_ids) for name in evidence.study.data.benchmarks
    )
    most = max(benchmark.samples for benchmark in evidence.study.data.benchmarks.values())
    first = max(1, min(most, MOST_ROWS // (2 * len(seeds) * problems)))
    with _relation(connection, "read_policies", _policies(read, first)):
        table = run_query(connection, "regression")
    runs = table.column("run_id").to_pylist()
    names = [f"{b}\0{p}" for b, p in zip(
        table.column("benchmark").to_pylist(), table.column("problem_id").to_pylist(), strict=True
    )]  # fmt: skip
    number = {name: index for index, name in enumerate(sorted(set(names)))}

    def column(name: str) -> Counts:
        return np.asarray(table.column(name).to_numpy(), dtype=np.int64)

    return Sampled(
        column("correct"),
        np.array([place[run][1] for run in runs], dtype=np.int64),
        column("truncated"),
        column("generated_tokens"),
        np.array([number[name] for name in names], dtype=np.int64),
        np.array([place[run][0] for run in runs], dtype=np.int64),
        first,
    )


def _read(evidence: Evidence, axis: Axis) -> Iterator[tuple[str, int]]:
    for run in evidence.runs:
        at = reading(evidence, run.run_id, axis)
        if not isinstance(at, str):
            yield run.run_id, at.step


def _policies(read: Iterable[tuple[str, int]], first_samples: int = 0) -> pa.Table:
    rows = list(read)
    return pa.table(
        {
            "run_id": pa.array([run for run, _ in rows], pa.string()),
            "step": pa.array([step for _, step in rows], pa.int32()),
            "first_samples": pa.array([first_samples] * len(rows), pa.int32()),
        }
    )


def _buckets(evidence: Evidence, caps: Sequence[int]) -> pa.Table:
    """The bucket of every number of tokens that a sample can have: the first cap that it keeps."""
    most = max(benchmark.max_new_tokens for benchmark in evidence.study.data.benchmarks.values())
    tokens = np.arange(max(most, caps[-1]) + 1)
    return pa.table(
        {
            "generated_tokens": pa.array(tokens, pa.int32()),
            "bucket": pa.array(np.searchsorted(np.asarray(caps), tokens, side="left"), pa.int32()),
        }
    )


@contextmanager
def _relation(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> Iterator[None]:
    connection.register(name, table)
    try:
        yield
    finally:
        connection.unregister(name)
