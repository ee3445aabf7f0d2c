"""How rows become problems and answers: nested columns, rules for the answer, instructions that are cut,
CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.tasks.hub import files_of_split, kind_of
from harness.tasks.resolve import load_task
from prereg.namedsets import NAMED
from prereg.problems import Refused
from prereg.sources import FileTask, NamedTask


def jsonl(folder: Path, rows: list[dict[str, Any]], name: str = "d.jsonl") -> None:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_nested_columns_and_the_rules_for_answers(tmp_path: Path) -> None:
    row = {
        "prompt": [{"role": "user", "content": "p"}],
        "solution": r"first \boxed{1}, no: \boxed{\frac{1}{2}}",
        "worked": "2*9=18\n#### 18",
        "answers": ["$7$"],
        "reward": {"truth": 12.50},
    }
    jsonl(tmp_path, [row])
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "d.parquet")
    for kind in ("jsonl", "parquet"):
        for column, rule, answer in [
            ("solution", "last_box", r"\frac{1}{2}"),
            ("worked", "after_hashes", "18"),
            ("answers", "only_entry", "$7$"),
            ("reward.truth", "whole", "12.5"),
        ]:
            source = FileTask.model_validate(
                {"kind": kind, "path": f"d.{kind}", "problem": "prompt.0.content", "answer": column,
                 "answer_rule": rule}
            )  # fmt: skip
            assert [(i.problem, i.answer) for i in load_task(source, tmp_path).items] == [("p", answer)]


@pytest.mark.parametrize(
    ("value", "rule", "message"),
    [
        ("no box", "last_box", r"holds no \\boxed answer"),
        (r"\boxed{}", "last_box", r"holds no \\boxed answer"),
        ("18", "after_hashes", "holds no answer after ####"),
        ("#### ", "after_hashes", "holds no answer after ####"),
        (["1", "2"], "only_entry", "lists 2 answers, not one"),
        ([], "only_entry", "lists 0 answers, not one"),
        ("1", "only_entry", "holds text, not a list"),
        ([None], "only_entry", "is null"),
        (" ", "whole", "is empty"),
    ],
)
def test_answers_that_are_not_there_are_refused_with_their_line(
    tmp_path: Path, value: Any, rule: Any, message: str
) -> None:
    jsonl(tmp_path, [{"problem": "p", "answer": value}])
    with pytest.raises(Refused, match=rf"d\.jsonl:1: the column 'answer' {message}"):
        load_task(FileTask(kind="jsonl", path="d.jsonl", answer_rule=rule), tmp_path)


def test_csv(tmp_path: Path) -> None:
    text = '\ufeffproblem,answer\r\n"a, ""b""\nc",1\r\n\r\nd,"2,000"\r\n'
    (tmp_path / "d.csv").write_text(text, encoding="utf-8", newline="")
    items = load_task(FileTask(kind="csv", path="d.csv"), tmp_path).items
    assert [(i.id, i.problem, i.answer) for i in items] == [("0", 'a, "b"\nc', "1"), ("1", "d", "2,000")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"problem,answer\na,1\nb,2,3\n", r"d\.csv:3: 3 values, but 2 columns"),
        (b'problem,answer\n"a\nb",1\nc\n', r"d\.csv:4: 1 values, but 2 columns"),
        (b"problem,problem\na,1\n", r"d\.csv:1: the column 'problem' stands twice"),
        (b"problem,answer\n\xff,1\n", r"d\.csv:2: not UTF-8: byte 0xff"),
        (b'problem,answer\n"a"b,1\n', r"d\.csv:2: not CSV"),
        (b"problem,answer\n", "holds no rows"),
        (b"", "holds no rows"),
        (b"question,answer\na,1\n", "there is no column 'problem'"),
        (b"PAR1", "a Parquet file, not CSV"),
    ],
)
def test_csv_that_cannot_be_read(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "d.csv").write_bytes(content)
    with pytest.raises(Refused, match=message):
        load_task(FileTask(kind="csv", path="d.csv"), tmp_path)


def test_a_named_set_is_read_in_the_layout_that_it_comes_in(tmp_path: Path) -> None:
    layout = NAMED["aime24"].layouts[1]
    rows = [{"prompt": f"Find {i}.{layout.after}", "answer": i} for i in range(30)]
    jsonl(tmp_path, rows)
    source = NamedTask(kind="named", name="aime24", path="d.jsonl")
    assert [(i.problem, i.answer) for i in load_task(source, tmp_path).items][7] == ("Find 7.", "7")
    jsonl(tmp_path, [{"problem": f"Find {i}.", "answer": i} for i in range(30)])
    assert load_task(source, tmp_path).items[7].problem == "Find 7."
    jsonl(tmp_path, rows[:29])
    with pytest.raises(Refused, match="AIME 2024 has 30 problems, but this file holds 29"):
        load_task(source, tmp_path)
    jsonl(tmp_path, [{"prompt": layout.after, "answer": i} for i in range(30)])
    with pytest.raises(Refused, match="holds an instruction and no problem"):
        load_task(source, tmp_path)


def test_the_training_set_drops_repeats_unless_the_study_says_otherwise(tmp_path: Path) -> None:
    layout = NAMED["dapo_math"].layouts[0]
    answers = [("a", "1"), ("a", "1"), ("b", "2"), ("c", "3"), ("c", "4")]
    rows = [
        {
            "prompt": [{"content": layout.before + p + layout.after, "role": "user"}],
            "reward_model": {"ground_truth": a},
        }
        for p, a in answers
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "d.parquet")
    task = load_task(NamedTask(kind="named", name="dapo_math", path="d.parquet"), tmp_path)
    assert [(i.id, i.problem, i.answer) for i in task.items] == [("0", "a", "1"), ("2", "b", "2")]
    source = NamedTask(
        kind="named", name="dapo_math", path="d.parquet", repeats="keep", contradictions="keep"
    )
    assert len(load_task(source, tmp_path).items) == 5


def test_the_files_of_a_split_by_the_conventions_of_the_hub() -> None:
    names = [
        "README.md", "data/train-00001-of-00002.parquet", "data/train-00000-of-00002.parquet",
        "data/test-00000-of-00001.parquet", "main/test-00000-of-00001.parquet", "test.jsonl", "load.py",
        "trainer.csv",
    ]  # fmt: skip
    assert files_of_split(names, "default", "train") == names[2:0:-1]
    assert files_of_split(names, "main", "test") == ["main/test-00000-of-00001.parquet"]
    assert files_of_split(["test.jsonl", "train.jsonl"], "default", "test") == ["test.jsonl"]
    assert files_of_split(names, "main", "train") == []
    assert files_of_split(["load.py", "train.pkl"], "default", "train") == []


@pytest.mark.parametrize("name", ["load.py", "data.pkl", "data.pickle", "model.bin", "data.arrow", "data"])
def test_scripts_and_pickles_are_never_read(name: str) -> None:
    with pytest.raises(Refused, match="is not a data file"):
        kind_of(name)


def test_every_named_set_has_a_full_revision_and_a_file_that_is_read() -> None:
    for named in NAMED.values():
        assert len(named.revision) == 40
        assert int(named.revision, 16) >= 0
        assert kind_of(named.file) in {"jsonl", "parquet"}
