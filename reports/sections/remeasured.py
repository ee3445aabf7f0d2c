"""The noise of measuring, from policies that were evaluated twice."""

from __future__ import annotations

from math import isnan, sqrt

from reports.content import Block, Column, Table, Value
from reports.remeasured import Remeasured, expected_spread, root_mean_square, second_score
from reports.scores import Evidence, benchmark_score, score


def blocks(evidence: Evidence, again: Remeasured) -> list[Block]:
    """The table; nothing where no policy was evaluated twice."""
    planned = {run.run_id for run in evidence.runs}
    policies = sorted({(run, step) for run, step, _ in again if run in planned})
    if not policies:
        return []
    weights = evidence.study.weights()
    rows: list[tuple[Value, ...]] = []
    expected: dict[str, list[float]] = {}
    for name in weights:
        pairs = [
            (again[run, step, name] - benchmark_score(evidence, run, step, name),
             expected_spread(evidence, run, step, name))
            for run, step in policies
            if (run, step, name) in again
        ]  # fmt: skip
        expected[name] = [spread for _, spread in pairs]
        rows.append(_row(name, [one for one, _ in pairs], root_mean_square(_known(expected[name]))))
    means = [second_score(evidence, again, run, step) - score(evidence, run, step) for run, step in policies]
    both = [
        sqrt(sum((w * expected_spread(evidence, run, step, name)) ** 2 for name, w in weights.items()))
        for run, step in policies
    ]
    rows.append(_row("mean of the benchmarks", means, root_mean_square(_known(both))))
    return [
        Table(
            "measurement_noise",
            "The same policy measured twice",
            (
                Column("benchmark", "Benchmark"),
                Column("policies", "Policies", "integer"),
                Column("mean", "Second less first, mean", "points", 2),
                Column("spread", "Its spread", "decimal", 2),
                Column("reading", "Of one reading", "decimal", 2),
                Column("expected", "Spread expected", "decimal", 2),
            ),
            tuple(rows),
            "Percentage points. The start policies and those at the budgets were evaluated a second time "
            "under other sampling noise; no other table uses it. Spread: root mean square of the "
            "differences, since both have one expectation. Of one reading: the spread over the root of "
            "two, the error that any accuracy here has from sampling answers alone. Expected: from the "
            "samples' own variance within problems. Runs of one seed share their noise, so these policies "
            "are not independent. A difference between arms also shares it in part, and has less than the "
            "root of two times this error.",
        )
    ]


def _row(name: str, differences: list[float], expected: float) -> tuple[Value, ...]:
    known = _known(differences)
    spread = root_mean_square(known)
    mean = sum(known) / len(known) if known else float("nan")
    return name, len(known), mean, spread, spread / sqrt(2), expected


def _known(values: list[float]) -> list[float]:
    return [value for value in values if not isnan(value)]
