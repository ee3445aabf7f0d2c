"""Published problem sets, read by name and graded. The environment names the folder they are in."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from harness.grading.build import make_grader
from harness.grading.equal import Plain, equal_numbers, plain_number
from harness.grading.kinds import bare_gold
from harness.grading.math_worker import compare
from harness.grading.notation import tidy
from harness.tasks.resolve import load_task
from prereg.namedsets import NAMED
from prereg.problems import Refused
from prereg.sources import FileTask, MathGrader, NamedTask

FOLDER = Path(os.environ.get("HARNESS_REAL_DATA", ""))

pytestmark = pytest.mark.skipif(
    "HARNESS_REAL_DATA" not in os.environ, reason="HARNESS_REAL_DATA names no folder with real data"
)

BENCHMARKS = {
    "aime24": 30, "aime25": 30, "aime26": 30, "amc23": 40, "math500": 500, "minerva_math": 272,
    "olympiadbench": 675, "hmmt25": 30, "gsm8k": 1319,
}  # fmt: skip


def named(name: str) -> NamedTask:
    path = {"gsm8k": "benchmarks/gsm8k_test.jsonl", "dapo_math": "train/dapo_math_train.parquet"}.get(
        name, f"benchmarks/{name}.jsonl"
    )
    if not (FOLDER / path).exists():
        pytest.skip(f"there is no {path} in the folder")
    return NamedTask.model_validate({"kind": "named", "name": name, "path": path})


@pytest.mark.parametrize(("name", "problems"), BENCHMARKS.items())
def test_every_gold_answer_is_readable_and_right_by_its_own_default_grader(name: str, problems: int) -> None:
    task = load_task(named(name), FOLDER)
    assert len(task.items) == problems
    assert task.faults == ()
    assert not any("final answer within" in item.problem for item in task.items)
    golds = [item.answer for item in task.items]
    with make_grader(MathGrader(kind="math", answer_type=NAMED[name].answer_type)) as grader:
        assert grader.unreadable(golds) == {}
        boxed = [rf"So it is $\boxed{{{gold}}}$." for gold in golds]
        states = [grade.state for grade in grader(golds, boxed, [True] * len(golds))]
    wrong = [(item.id, item.answer, state) for item, state in zip(task.items, states, strict=True)
             if state != "correct"]  # fmt: skip
    assert wrong == []


def test_the_fast_path_says_what_the_algebra_says_of_real_answers() -> None:
    golds: dict[str, Plain] = {}
    for name in BENCHMARKS:
        for item in load_task(named(name), FOLDER).items:
            text = tidy(bare_gold(item.answer))
            if (number := plain_number(text)) is not None:
                golds[text] = number
    assert len(golds) > 500
    texts = list(golds)
    for gold, answer in [*zip(texts, texts, strict=True), *itertools.pairwise(texts)]:
        same = equal_numbers(golds[gold], golds[answer])
        assert same is None or compare(gold, answer) == ("correct" if same else "incorrect"), (gold, answer)


def test_the_training_set_loses_its_repeats_and_its_contradictions() -> None:
    task = load_task(named("dapo_math"), FOLDER)
    assert len(task.items) == 22285
    assert len({" ".join(item.problem.split()) for item in task.items}) == 22285
    assert [remark.split(" stand ")[0] for remark in task.remarks] == ["2698 problems", "27 problems"]
    assert not any(item.problem.startswith("Please solve") for item in task.items)


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
