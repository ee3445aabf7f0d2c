"""Problems that stand twice, and problems with two answers: what is dropped, noted and refused."""

from __future__ import annotations

import pytest

from harness.tasks.findings import sift
from harness.tasks.problems import TaskItem
from prereg.sources import Contradictions, Repeats

ITEMS = [
    TaskItem("a", "What is 1+1?", "2"),
    TaskItem("b", "what is  1+1", "2"),
    TaskItem("c", "What is 1/2?", "0.5"),
    TaskItem("d", "What is 1/2?", r"\frac{1}{2}"),
    TaskItem("e", "What is 3?", "3"),
    TaskItem("f", "What is 3?", "4"),
    TaskItem("g", "What is 1-1?", "0"),
]


def kept(repeats: Repeats, contradictions: Contradictions) -> str:
    return "".join(item.id for item in sift(ITEMS, repeats, contradictions).items)


@pytest.mark.parametrize(
    ("repeats", "contradictions", "ids"),
    [
        ("keep", "keep", "abcdefg"),
        ("drop", "keep", "acefg"),
        ("keep", "drop", "abcdg"),
        ("drop", "drop", "acg"),
        ("drop", "refuse", "acefg"),
    ],
)
def test_what_is_kept(repeats: Repeats, contradictions: Contradictions, ids: str) -> None:
    assert kept(repeats, contradictions) == ids


def test_what_is_said() -> None:
    found = sift(ITEMS, "keep", "refuse")
    assert found.remarks == ("2 problems stand more than once with one answer: ids a, b; ids c, d.",)
    assert found.faults == ("1 problems stand with different answers: ids e, f",)
    assert sift(ITEMS, "keep", "drop").faults == ()


def test_signs_tell_problems_apart_and_a_rounded_answer_contradicts() -> None:
    assert sift([ITEMS[0], ITEMS[6]], "drop", "refuse").items == (ITEMS[0], ITEMS[6])
    pair = [TaskItem("1", "x", r"\frac{1}{3}"), TaskItem("2", "x", "0.33")]
    assert sift(pair, "drop", "refuse").faults != ()


def test_a_problem_of_no_words_is_compared_as_it_stands() -> None:
    items = [TaskItem("1", "??", "1"), TaskItem("2", "!!", "2"), TaskItem("3", "??", "1")]
    assert [item.id for item in sift(items, "drop", "refuse").items] == ["1", "2"]
