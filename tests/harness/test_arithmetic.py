"""The built-in task: right answers, disjoint splits, and the same problems on every machine."""

from __future__ import annotations

import pytest

from harness.tasks.arithmetic import OPERATIONS, generate, solve, worked_answer


def test_answers_agree_with_pythons_own_arithmetic() -> None:
    for split in OPERATIONS:
        for item in generate(split, 100, 3):
            assert item.answer == str(eval(item.problem.rstrip("=")))
            assert all(0 <= int(result) <= 99 for result in solve(item.problem))


def test_the_worked_answer_of_the_documented_example() -> None:
    assert worked_answer("5+5-1=") == "5+5=10,10-1=9,#9"


@pytest.mark.parametrize("seed", [0, 7])
def test_splits_of_one_seed_share_no_problem(seed: int) -> None:
    splits = {split: {i.problem for i in generate(split, 250, seed)} for split in ("easy", "medium", "hard")}
    splits["train"] = {i.problem for i in generate("train", 4000, seed)}
    names = list(splits)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            assert not splits[a] & splits[b]


def test_problems_depend_on_split_and_seed_alone() -> None:
    assert generate("easy", 50, 0) == generate("easy", 50, 0)
    assert generate("easy", 20, 0) == generate("easy", 50, 0)[:20]
    assert generate("easy", 50, 0) != generate("easy", 50, 1)


@pytest.mark.slow
def test_more_problems_than_there_are_is_an_error() -> None:
    with pytest.raises(ValueError, match="fewer than"):
        generate("easy", 100_000, 0)
