"""Public benchmark files, read as a user would declare them. The environment names the folder they are in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.tasks.resolve import load_task
from prereg.problems import Refused
from prereg.sources import FileTask

FOLDER = Path(os.environ.get("HARNESS_REAL_DATA", ""))

pytestmark = pytest.mark.skipif(
    "HARNESS_REAL_DATA" not in os.environ, reason="HARNESS_REAL_DATA names no folder with real data"
)


@pytest.mark.parametrize(
    ("name", "problem", "rows", "first"),
    [
        ("aime24", "prompt", 30, None),
        ("aime25", "prompt", 30, None),
        ("aime26", "prompt", 30, None),
        ("hmmt25", "prompt", 30, "103"),
        ("amc23", "problem", 40, "27"),
        ("math500", "problem", 500, None),
        ("gsm8k_test", "question", 1319, None),
    ],
)
def test_benchmarks(name: str, problem: str, rows: int, first: str | None) -> None:
    path = f"benchmarks/{name}.jsonl"
    if not (FOLDER / path).exists():
        pytest.skip(f"there is no {path} in the folder")
    task = load_task(FileTask(kind="jsonl", path=path, problem=problem), FOLDER)
    assert len(task.items) == rows
    assert first is None or task.items[0].answer == first
    assert all(item.problem.strip() and item.answer.strip() for item in task.items)
    assert ".0" not in {item.answer[-2:] for item in task.items} or name != "amc23"


def test_a_set_whose_answers_are_lists_is_refused_in_words() -> None:
    task = FileTask(
        kind="jsonl", path="benchmarks/olympiadbench.jsonl", problem="question", answer="final_answer"
    )
    with pytest.raises(
        Refused, match=r"olympiadbench\.jsonl:1: the column 'final_answer' holds a list, not text"
    ):
        load_task(task, FOLDER)


def test_a_set_whose_prompts_are_conversations_is_refused_in_words() -> None:
    task = FileTask(kind="parquet", path="train/dapo_math_train.parquet", problem="messages")
    with pytest.raises(Refused, match="row 1: the column 'messages' holds a list, not text"):
        load_task(task, FOLDER)
