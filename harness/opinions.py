"""What the second grader says of a sample of the evaluation samples, by arm, for the report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from harness.cells import Cell
from harness.golds import Golds
from harness.grading.second import VERSION, opinion
from prereg.study import Study
from reports.inputs import GradedAgain, RegradedFact, SecondOpinion

PER_RUN = 200
"""Samples of each run that are looked at, over its benchmarks and checkpoints."""

_DRAWN = """
WITH drawn AS (
    SELECT s.* FROM samples AS s WHERE list_contains(?, s.benchmark) AND s.grader_state <> 'grader_error'
    QUALIFY row_number() OVER (
        PARTITION BY s.run_id
        ORDER BY md5(concat_ws('/', ?, s.run_id, s.step, s.benchmark, s.problem_id, s.sample))
    ) <= ?
)
SELECT d.run_id, d.benchmark, d.problem_id, d.finish_reason, d.correct, t.text
FROM drawn AS d JOIN texts AS t USING (text_digest)
"""


def second_opinions(
    connection: duckdb.DuckDBPyConnection, study: Study, cells: Sequence[Cell], golds: Golds
) -> tuple[SecondOpinion, ...]:
    """A row an arm and model. Which samples are drawn depends on the study's id and theirs alone.

    Texts that were cut off or have no box are counted under no opinion: to agree that they are wrong is no
    agreement on grading. Only benchmarks that the math grader graded are looked at: what `exact` compares
    leaves no room for opinions.
    """
    names = [name for name, one in study.data.benchmarks.items() if one.grader.kind == "math"]
    if not names:
        return ()
    of = {cell.run_id: (cell.model, cell.arm) for cell in cells}
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for run, benchmark, problem, reason, correct, text in connection.execute(
        _DRAWN, [names, f"{study.id}/second", PER_RUN]
    ).fetchall():
        second = opinion(golds[benchmark][problem], text, reason == "stop")
        kept = counts[of[run]]
        kept["looked_at"] += 1
        kept["no_opinion"] += second is None
        kept["only_first"] += bool(correct) and second is False
        kept["only_second"] += not correct and second is True
    keys = ("looked_at", "no_opinion", "only_first", "only_second")
    return tuple(
        SecondOpinion(model, arm, *(one[key] for key in keys))
        for model in study.models for arm in study.arms if (one := counts.get((model, arm))) is not None
    )  # fmt: skip


def graded_again(
    opinions: tuple[SecondOpinion, ...], regrades: Sequence[Mapping[str, Any]], cells: Sequence[Cell]
) -> GradedAgain:
    """Second opinions and regradings as the report takes them; regradings of one number are summed by arm."""
    of = {cell.run_id: (cell.model, cell.arm) for cell in cells}
    sums: dict[tuple[str, str, int, str, str], list[int]] = {}
    for one in regrades:
        versions = "; ".join(dict.fromkeys(one["versions"].values()))
        key = (*of[one["run_id"]], int(one["number"]), str(one["grader"]), versions)
        total = sums.setdefault(key, [0, 0, 0])
        for index, name in enumerate(("samples", "changed", "usable")):
            total[index] += int(one[name])
    rows = tuple(
        RegradedFact(model, arm, number, grader, version, *total)
        for (model, arm, number, grader, version), total in sums.items()
    )
    return GradedAgain(VERSION, PER_RUN, opinions, rows)
