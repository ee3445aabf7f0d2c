"""Local task files: what is read, and what is said of a file that cannot be."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.tasks.numbers import canonical_number
from harness.tasks.problems import TaskItem
from harness.tasks.resolve import load_task
from prereg.problems import Problem, Refused
from prereg.sources import BuiltinTask, FileTask


def write(folder: Path, rows: list[dict[str, Any]], name: str = "set.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def source(name: str = "set.jsonl", **fields: Any) -> FileTask:
    return FileTask(kind="parquet" if name.endswith("parquet") else "jsonl", path=name, **fields)


def refusal(folder: Path, task: FileTask) -> Problem:
    with pytest.raises(Refused) as caught:
        load_task(task, folder)
    return caught.value.problems[0]


ROWS = [{"problem": "1+1", "answer": "2"}, {"problem": "2+2", "answer": 4}, {"problem": "3+3", "answer": 6.0}]


def test_rows_keep_their_order_and_numbers_become_text(tmp_path: Path) -> None:
    write(tmp_path, ROWS)
    task = load_task(source(), tmp_path)
    assert task.items == (TaskItem("0", "1+1", "2"), TaskItem("1", "2+2", "4"), TaskItem("2", "3+3", "6"))
    assert task.name == "set"
    assert task.remarks == ("1 answers are numbers and were written as plain text, e.g. 6.0 as '6'.",)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("27.0", "27"), ("27", "27"), ("-0.0", "0"), ("1e3", "1000"), ("0.50", "0.5"), ("2.5E-3", "0.0025"),
        ("0.1", "0.1"), ("100", "100"), ("12345678901234567890123", "12345678901234567890123"),
        ("3.141592653589793238462643", "3.141592653589793238462643"), ("1e999999999", "1e999999999"),
        ("9" * 5000, "9" * 5000),
    ],
)  # fmt: skip
def test_canonical_numbers(written: str, text: str) -> None:
    assert canonical_number(written) == text


def test_the_same_content_has_the_same_digest_in_either_format(tmp_path: Path) -> None:
    write(tmp_path, [{"problem": "1+1", "answer": 2.0}, {"problem": "½?", "answer": 0.5}])
    pq.write_table(pa.table({"problem": ["1+1", "½?"], "answer": [2.0, 0.5]}), tmp_path / "set.parquet")
    assert load_task(source(), tmp_path).digest == load_task(source("set.parquet"), tmp_path).digest


def test_the_digest_is_over_ids_problems_answers_and_order(tmp_path: Path) -> None:
    variants = [
        [{"problem": "a", "answer": "b", "id": "x"}, {"problem": "c", "answer": "d", "id": "y"}],
        [{"problem": "c", "answer": "d", "id": "y"}, {"problem": "a", "answer": "b", "id": "x"}],
        [{"problem": "a", "answer": "b", "id": "z"}, {"problem": "c", "answer": "d", "id": "y"}],
        [{"problem": "ab", "answer": "b", "id": "x"}, {"problem": "c", "answer": "d", "id": "y"}],
    ]
    digests = set()
    for rows in variants:
        write(tmp_path, rows)
        digests.add(load_task(source(id="id"), tmp_path).digest)
    assert len(digests) == 4
    # Worked out apart: printf '["x","a","b"]\n["y","c","d"]\n' | sha256sum
    write(tmp_path, variants[0])
    assert load_task(source(id="id"), tmp_path).digest == (
        "dc232636e7597b04c70911fd4afb5a41db45742fde3a76e07c776557676be6d1"
    )


def test_named_columns_and_ids(tmp_path: Path) -> None:
    write(tmp_path, [{"question": "q", "final": "1", "key": 7, "noise": [1, {"a": None}]}])
    task = load_task(source(problem="question", answer="final", id="key"), tmp_path)
    assert task.items == (TaskItem("7", "q", "1"),)


def test_a_subset_depends_on_its_seed_and_not_on_the_rest(tmp_path: Path) -> None:
    rows = [{"problem": f"{i}+{i}", "answer": str(2 * i), "id": f"p{i}"} for i in range(50)]
    write(tmp_path, rows)
    ten = load_task(source(id="id", limit=10), tmp_path)
    assert len(ten.items) == 10
    numbers = [int(item.id[1:]) for item in ten.items]
    assert numbers == sorted(numbers)
    assert numbers != list(range(10))
    assert load_task(source(id="id", limit=10), tmp_path) == ten
    assert load_task(source(id="id", limit=10, subset_seed=1), tmp_path).items != ten.items
    assert set(ten.items) < set(load_task(source(id="id", limit=11), tmp_path).items)
    write(tmp_path, rows[::-1])
    assert set(load_task(source(id="id", limit=10), tmp_path).items) == set(ten.items)
    problem = refusal(tmp_path, source(limit=51))
    assert problem.message == "`limit` asks for 51 rows, but the file holds 50"


def test_long_problems_are_left_out_before_the_subset_is_drawn(tmp_path: Path) -> None:
    """Characters are counted, not bytes: the second problem has five, in nine bytes."""
    texts = ["1+1=", "ééééa", "123456", "1234567"]
    rows = [json.dumps({"problem": text, "answer": "2"}, ensure_ascii=False) for text in texts]
    (tmp_path / "set.jsonl").write_text("\n".join(rows), encoding="utf-8")
    short = load_task(source(max_characters=5), tmp_path)
    assert [item.id for item in short.items] == ["0", "1"]
    assert short.too_long == 2
    assert short.remarks == ("2 of 4 problems have more than 5 characters and were left out.",)
    all_short = load_task(source(max_characters=5, limit=2), tmp_path)
    assert all_short.digest == short.digest
    assert "no problem is left" in refusal(tmp_path, source(max_characters=3)).message
    assert load_task(source(max_characters=7), tmp_path).digest == load_task(source(), tmp_path).digest


def test_byte_order_marks_blank_lines_and_windows_line_ends(tmp_path: Path) -> None:
    text = '\r\n{"problem": "é", "answer": "1"}\r\n\r\n{"problem": "b", "answer": "2"}'
    (tmp_path / "set.jsonl").write_bytes(codecs.BOM_UTF8 + text.encode())
    assert [item.problem for item in load_task(source(), tmp_path).items] == ["é", "b"]


@pytest.mark.parametrize(
    ("content", "line", "column", "message"),
    [
        (b"", None, None, "holds no rows"),
        (b"\n \n", None, None, "holds no rows"),
        (b'{"problem": "a", "answer": "1"}\n{"problem": "b" "answer": "2"}\n', 2, 17, "not JSON: Expec"),
        (b'{"problem": "a", "answer": "1"}\n[1]\n', 2, 1, "a JSON object was expected, found a list"),
        (b'{"problem": "a", "answer": "1"}\n\n{"problem": "b"}\n', 3, None, "is missing in this row"),
        (b'{"problem": "a", "answer": null}\n', 1, None, "column 'answer' is null"),
        (b'{"problem": "a", "answer": NaN}\n', 1, None, "column 'answer' is null"),
        (b'{"problem": "a", "answer": "  "}\n', 1, None, "column 'answer' is empty"),
        (b'{"problem": "", "answer": "1"}\n', 1, None, "column 'problem' is empty"),
        (b'{"problem": "a", "answer": true}\n', 1, None, "holds true or false, not text"),
        (b'{"problem": "a", "answer": ["1"]}\n', 1, None, "holds a list, not text"),
        (b'{"problem": 5, "answer": "1"}\n', 1, None, "column 'problem' holds a number, not text"),
        (b'{"problem": "a", "answer": "1", "answer": "2"}\n', 1, None, "the key 'answer' stands twice"),
        (b'{"problem": "a", "answer": "\\ud800"}\n', 1, None, "lone surrogate"),
        (b'{"problem": "a\xff", "answer": "1"}\n', 1, 15, "not UTF-8: byte 0xff"),
        (b"\x7fELF\x00\x01\x02", None, None, "a binary file"),
        (codecs.BOM_UTF16_LE + '{"problem"'.encode("utf-16-le"), None, None, "encoded as UTF-16"),
        (b"PAR1....", None, None, "a Parquet file, not JSON lines"),
        (b'{"a": ' + b"[" * 100_000 + b"\n", 1, None, "nested too deeply"),
    ],
)  # fmt: skip
def test_bad_content_is_named_with_its_place(
    tmp_path: Path, content: bytes, line: int | None, column: int | None, message: str
) -> None:
    (tmp_path / "set.jsonl").write_bytes(content)
    problem = refusal(tmp_path, source())
    assert message in problem.message
    assert (problem.file, problem.line, problem.column) == (str(tmp_path / "set.jsonl"), line, column)


def test_one_json_array_gets_a_hint(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text('[\n  {"problem": "a"}\n]')
    assert "one JSON array" in (refusal(tmp_path, source()).hint or "")


def test_a_missing_file_is_named_with_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, ROWS, "problems.jsonl")
    problem = refusal(tmp_path, source("problem.jsonl"))
    assert (problem.message, problem.hint) == ("there is no such file", "Did you mean 'problems.jsonl'?")
    assert problem.file == str(tmp_path / "problem.jsonl")
    assert refusal(tmp_path, source("nowhere/problem.jsonl")).message == "there is no such file"
    (tmp_path / "folder").mkdir()
    assert refusal(tmp_path, source("folder")).message == "a folder, not a file"


@pytest.mark.parametrize("path", ["/etc/passwd", "../set.jsonl", "a/../../set.jsonl"])
def test_a_path_that_leaves_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    assert "leaves the study's folder" in refusal(tmp_path, source(path)).message


@pytest.mark.parametrize("name", ["set.jsonl", "set.parquet"])
def test_a_missing_column_is_named_with_the_nearest(tmp_path: Path, name: str) -> None:
    write(tmp_path, ROWS)
    pq.write_table(pa.table({"problem": ["a"], "answer": ["b"]}), tmp_path / "set.parquet")
    problem = refusal(tmp_path, source(name, answer="answers"))
    assert problem.message == "there is no column 'answers'; the columns are 'problem', 'answer'"
    assert problem.hint == "Did you mean 'answer'?"


def test_ids_that_stand_twice(tmp_path: Path) -> None:
    write(tmp_path, [{"problem": "a", "answer": "1", "id": 5}, {"problem": "b", "answer": "2", "id": "5"}])
    problem = refusal(tmp_path, source(id="id"))
    assert (problem.line, problem.message) == (2, "the id '5' stands already on line 1")


def test_problems_that_stand_twice_are_remarked_on(tmp_path: Path) -> None:
    write(tmp_path, [
        {"problem": "a  b", "answer": "1"}, {"problem": "c", "answer": "1"},
        {"problem": "a\nb", "answer": "2"},
    ])  # fmt: skip
    task = load_task(source(), tmp_path)
    assert len(task.items) == 3
    assert task.remarks == ()
    assert task.faults == ("1 problems stand with different answers: ids 0, 2",)


def test_many_faulty_rows_are_listed_and_counted(tmp_path: Path) -> None:
    write(tmp_path, [{"problem": "a", "answer": None}] * 25)
    with pytest.raises(Refused) as caught:
        load_task(source(), tmp_path)
    assert [p.line for p in caught.value.problems] == [*range(1, 11), None]
    assert caught.value.problems[-1].message == "15 more rows are at fault"


def test_faulty_parquet(tmp_path: Path) -> None:
    path = tmp_path / "set.parquet"
    pq.write_table(pa.table({"problem": ["a", "b"], "answer": ["1", None]}), path)
    assert refusal(tmp_path, source("set.parquet")).message == "row 2: the column 'answer' is null"
    pq.write_table(pa.table({"problem": ["a"], "answer": [float("inf")]}), path)
    assert refusal(tmp_path, source("set.parquet")).message == "row 1: the column 'answer' is infinite"
    pq.write_table(pa.table({"problem": [[1]], "answer": ["1"]}), path)
    assert (
        "row 1: the column 'problem' holds a list, not text"
        in refusal(tmp_path, source("set.parquet")).message
    )
    pq.write_table(
        pa.table({"problem": pa.array([], pa.string()), "answer": pa.array([], pa.string())}), path
    )
    assert refusal(tmp_path, source("set.parquet")).message == "the file holds no rows"
    path.write_bytes(path.read_bytes()[:-20])
    assert "not a Parquet file that can be read" in refusal(tmp_path, source("set.parquet")).message
    path.write_bytes(b"")
    assert "not a Parquet file that can be read" in refusal(tmp_path, source("set.parquet")).message


def test_the_built_in_task() -> None:
    task = load_task(BuiltinTask(kind="builtin", split="easy", size=20, seed=3), Path("unused"))
    assert (task.name, len(task.items)) == ("arithmetic-easy", 20)
    other = load_task(BuiltinTask(kind="builtin", split="easy", size=20, seed=4), Path("unused"))
    assert task.digest != other.digest
    with pytest.raises(Refused, match="fewer than 2000 distinct"):
        load_task(BuiltinTask(kind="builtin", split="easy", size=2000), Path("unused"))
