"""Grading stored texts again: both verdicts stay, failures become usable, and the report says what
changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.cells import cells_of
from harness.ledger.duck import connect
from harness.ledger.reader import content_digest, read_run
from harness.opinions import PER_RUN, graded_again, second_opinions
from harness.orchestrate import run_study
from harness.progress import PlainView
from harness.regrading import SCHEMA, attach, regrade_study, regrades_of
from harness.reporting import report_study
from harness.roots import open_root
from prereg.problems import LockMismatch, Refused
from prereg.study import Study
from tests.harness.studies import benchmark, tiny, write_study

PROBLEMS = [f"{a}+{b}-1=" for a in (2, 3, 4) for b in (5, 6)]


def write_problems(folder: Path, answers: list[str]) -> None:
    rows = [{"problem": p, "answer": a} for p, a in zip(PROBLEMS, answers, strict=True)]
    (folder / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exploratory study that ran while the gold answers of one benchmark could not be read."""
    folder = tmp_path_factory.mktemp("regrade")
    write_problems(folder, ["six"] * len(PROBLEMS))
    sums = {
        "source": {"kind": "jsonl", "path": "sums.jsonl"}, "grader": {"kind": "exact"}, "samples": 2,
        "max_new_tokens": 48,
    }  # fmt: skip
    plan = tiny()
    boxed = sums | {"source": {"kind": "jsonl", "path": "boxed.jsonl"}, "grader": {"kind": "math"}}
    (folder / "boxed.jsonl").write_text('{"problem": "x+x=", "answer": "2x"}\n')
    data = plan["data"] | {"benchmarks": {"easy": benchmark("easy", 3, 2), "sums": sums, "boxed": boxed}}
    path = write_study(
        folder, data=data, budget={"updates": 2, "clock": "counted"}, seeds=[1],
        evaluation={"pass_k": [1]}, hypotheses=[], kind="pilot",
    )  # fmt: skip
    run_study(open_root(path, exploratory=True), only=["arm=grpo"], slots=1, view=PlainView())
    return path


def states(path: Path) -> dict[str, int]:
    """The states of the benchmark `sums` as the report reads them."""
    root = open_root(path, exploratory=True)
    runs = [run for cell in cells_of(root.loaded.study) if (run := read_run(root.folder(cell).path))]
    with connect(runs) as connection:
        attach(connection, runs)
        rows = connection.execute(
            "SELECT grader_state, count(*) FROM samples WHERE benchmark = 'sums' GROUP BY ALL"
        ).fetchall()
    return dict(rows)


def content_digests(folders: list[Path]) -> list[str]:
    return [content_digest(run) for folder in folders if (run := read_run(folder)) is not None]


def test_failures_become_usable_and_nothing_is_overwritten(ran: Path) -> None:
    before = states(ran)
    assert set(before) == {"grader_error"}
    root = open_root(ran, exploratory=True)
    folders = [root.folder(cell).path for cell in cells_of(root.loaded.study) if cell.arm == "grpo"]
    digests = content_digests(folders)

    unchanged = regrade_study(ran, exploratory=True)
    assert [(one.number, one.changed, one.usable) for one in unchanged.done] == [(1, 0, 0)]
    assert states(ran) == before

    write_problems(ran.parent, [str(a + b - 1) for a in (2, 3, 4) for b in (5, 6)])
    mended = regrade_study(ran, exploratory=True)
    assert all(one.number == 2 and one.usable == one.changed > 0 for one in mended.done)
    assert "grader_error" not in states(ran)
    assert sum(states(ran).values()) == sum(before.values())

    second = regrade_study(ran, which="second", exploratory=True)
    assert all(one.number == 3 for one in second.done)
    # The second grader wants a box, and this model writes none: it has no opinion, and changes nothing.
    assert all(one.samples > 0 and one.changed == 0 for one in second.done)
    assert "grader_error" not in states(ran)

    assert digests == content_digests(folders)
    facts = regrades_of(folders[0])
    assert [one["grader"] for one in facts] == ["study", "study", "second"]
    assert facts[0]["versions"]["sums"].startswith("exact-1")
    # What `exact` grades has no boxes: the second grader leaves it alone.
    assert list(facts[2]["versions"]) == ["boxed"]
    assert facts[2]["versions"]["boxed"].startswith("second-2")
    report_study(ran, exploratory=True, folder=ran.parent / "report")
    page = (ran.parent / "report" / "report.html").read_text()
    assert "What grading the same texts again changed" in page

    damaged = next((folders[0] / "regrades").glob("*.parquet"))
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-1])
    with pytest.raises(LockMismatch, match="not as it was written"):
        states(ran)
    damaged.write_bytes(content)


def test_a_study_without_boxes_is_not_for_the_second_grader(tmp_path: Path) -> None:
    path = write_study(tmp_path, kind="pilot", hypotheses=[])
    with pytest.raises(Refused, match="no benchmark of this study is graded by `math`"):
        regrade_study(path, which="second", exploratory=True)


def test_nothing_to_grade_again_is_said(tmp_path: Path) -> None:
    path = write_study(tmp_path, kind="pilot", hypotheses=[])
    with pytest.raises(Refused, match="no run is finished"):
        regrade_study(path, exploratory=True)


def samples(rows: list[dict[str, Any]]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("all_samples", pa.Table.from_pylist(rows))
    connection.execute("CREATE VIEW samples AS SELECT * EXCLUDE text FROM all_samples")
    connection.execute("CREATE VIEW texts AS SELECT DISTINCT text_digest, text FROM all_samples")
    return connection


def test_second_opinions_are_counted_by_arm() -> None:
    plan = tiny()
    named = {"kind": "jsonl", "path": "x.jsonl"}
    plan["data"]["benchmarks"]["easy"] |= {"source": named, "grader": {"kind": "math"}}
    study = Study.model_validate_json(json.dumps(plan))
    cells = cells_of(study)
    golds = {"easy": {"p": "2x"}, "hard": {}}
    texts = [
        (r"\boxed{x+x}", True), (r"\boxed{3x}", True), (r"\boxed{2x}", False), (r"\boxed{\int x}", False),
        (r"\boxed{3x}", False), ("no box", False),
    ]  # fmt: skip
    rows = [
        {
            "run_id": cell.run_id, "step": 1, "benchmark": "easy", "problem_id": "p", "sample": i,
            "finish_reason": "stop", "correct": correct,
            "grader_state": "correct" if correct else "incorrect",
            "text_digest": f"{i}".encode(), "text": text,
        }
        for cell in cells if cell.arm == "grpo" for i, (text, correct) in enumerate(texts)
    ]  # fmt: skip
    found = second_opinions(samples(rows), study, cells, golds)
    runs = sum(cell.arm == "grpo" for cell in cells)
    assert [(one.arm, one.looked_at, one.no_opinion, one.only_first, one.only_second) for one in found] == [
        ("grpo", 6 * runs, 2 * runs, runs, runs)
    ]
    # More texts that were cut off are more without an opinion, and no more agreement.
    cut = [row | {"finish_reason": "length"} for row in rows]
    found_cut = second_opinions(samples(cut), study, cells, golds)
    assert [(one.no_opinion, one.only_first, one.only_second) for one in found_cut] == [(6 * runs, 0, 0)]
    one = rows[0] | {"text_digest": b"0", "text": "no"}
    many = [one | {"sample": n} for n in range(PER_RUN + 50)]
    assert second_opinions(samples(many), study, cells, golds)[0].looked_at == PER_RUN
    assert graded_again(found, [], cells).regraded == ()


def test_the_schema_of_a_regrading_is_what_its_file_has(ran: Path) -> None:
    regrade_study(ran, exploratory=True)
    root = open_root(ran, exploratory=True)
    folder = root.folder(cells_of(root.loaded.study)[0]).path
    assert pq.read_schema(regrades_of(folder)[-1]["file"]).names == SCHEMA.names
