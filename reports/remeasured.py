"""A/A re-evaluation: the same policy measured twice, under different noise, tells the noise of measuring.

The two expectations are equal, so the spread of a difference is its root mean square, and a single reading
has 1/sqrt(2) of it. A mean subtracted from few differences would take away noise as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum, nan, sqrt

import duckdb

from reports.querying import run_query
from reports.scores import Evidence, block_reason

Remeasured = Mapping[tuple[str, int, str], float]
"""Percent correct in the second evaluation, by run, step and benchmark; NaN where it is not whole."""


def read_again(connection: duckdb.DuckDBPyConnection) -> Remeasured:
    """Read every second evaluation; its problems weigh the same."""
    shares: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    for row in run_query(connection, "reevaluations").to_pylist():
        share = nan if row["failed"] or not row["samples"] else row["correct"] / row["samples"]
        shares[row["run_id"], row["step"], row["benchmark"]].append(share)
    return {key: 100 * fsum(found) / len(found) for key, found in shares.items()}


def second_score(evidence: Evidence, again: Remeasured, run_id: str, step: int) -> float:
    """The second accuracy over all benchmarks by their weights, in percent; NaN if one of them has none."""
    return fsum(w * again.get((run_id, step, name), nan) for name, w in evidence.study.weights().items())


def root_mean_square(values: Sequence[float]) -> float:
    """The spread of values that are 0 in expectation; NaN without any."""
    return sqrt(fsum(value * value for value in values) / len(values)) if values else nan


def expected_spread(evidence: Evidence, run_id: str, step: int, benchmark: str) -> float:
    """The standard deviation of a difference of two evaluations, from the first's samples; points.

    sqrt(2 sum_i p_i (1 - p_i) / (n - 1)) / N. NaN if the cell is blocked or has one sample a problem.
    """
    if block_reason(evidence, run_id, step, benchmark) is not None:
        return nan
    cell = evidence.ledger.cells[run_id, step, benchmark]
    if (cell.samples < 2).any():
        return nan
    share = cell.correct / cell.samples
    variance = fsum((share * (1 - share) / (cell.samples - 1)).tolist())
    return 100 * sqrt(2 * variance) / len(share)
