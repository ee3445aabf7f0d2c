"""Samples counted in DuckDB, against the same counted one by one; and in few or many queries alike."""

from __future__ import annotations

import random
from collections import defaultdict

import duckdb
import pytest

from reports import cells
from reports.querying import run_query

COLUMNS = (
    "run_id VARCHAR, step INTEGER, benchmark VARCHAR, problem_id VARCHAR, sample INTEGER, correct BOOLEAN, "
    "grader_state VARCHAR, finish_reason VARCHAR, generated_tokens INTEGER, text_digest BLOB"
)
Row = tuple[str, int, str, str, int, bool, str, str, int, bytes]


def rows() -> list[Row]:
    """Samples beyond number 61, some twice, some texts repeated, in no order."""
    rng = random.Random(3)
    found: list[Row] = []
    for run in ("a", "b", "c", "d"):
        for problem in ("p1", "p10", "p2"):
            for sample in [*range(70), 5, 64, 64, 200]:
                right = rng.random() < 0.5
                state = "correct" if right else "incorrect"
                text = bytes([rng.randrange(40)]) * 8
                found.append((run, 0, "easy", problem, sample, right, state, "stop", rng.randrange(9), text))
    rng.shuffle(found)
    return found


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect(":memory:")
    made.execute(f"CREATE TABLE samples ({COLUMNS})")
    made.executemany("INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows())
    return made


def test_distinct_samples_and_texts_are_exact(connection: duckdb.DuckDBPyConnection) -> None:
    by_problem: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows():
        by_problem[row[0], row[3]].append(row)
    found = run_query(connection, "problems", "a", "d").to_pylist()
    assert len(found) == 12
    for one in found:
        own = by_problem[one["run_id"], one["problem_id"]]
        assert one["samples"] == len(own) == 74
        assert one["distinct_samples"] == len({row[4] for row in own}) == 71
        assert one["distinct_texts"] == len({row[9] for row in own})
        assert one["correct"] == sum(row[5] for row in own)
        assert one["tokens"] == sum(row[8] for row in own)


@pytest.mark.parametrize("at_once", [1, 3])
def test_the_number_of_runs_in_a_query_changes_nothing(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    whole = cells.read_cells(connection)
    monkeypatch.setattr(cells, "RUNS_AT_ONCE", at_once)
    parts = cells.read_cells(connection)
    assert list(parts) == list(whole) == [(run, 0, "easy") for run in "abcd"]
    for key, cell in whole.items():
        assert parts[key].problem_ids == cell.problem_ids == ("p1", "p10", "p2")
        assert parts[key].distinct_texts.tolist() == cell.distinct_texts.tolist()
        assert parts[key].correct.tolist() == cell.correct.tolist()
