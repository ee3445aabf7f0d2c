"""Exact grading: what counts as an answer, and what does not."""

from __future__ import annotations

import time

import pytest

from harness.grading.build import make_grader
from harness.ledger.schema import GRADER_STATES
from prereg.sources import ExactGrader
from trainers.types import Grade


def grade(gold: str, completion: str, *, finished: bool = True, **spec: str) -> Grade:
    with make_grader(ExactGrader(kind="exact", **spec)) as grader:
        return grader([gold], [completion], [finished])[0]


@pytest.mark.parametrize(
    ("gold", "completion", "state", "answer"),
    [
        ("9", "5+5=10,10-1=9,#9", "correct", "9"),
        ("9", "#8,#9", "correct", "9"),
        ("8", "#8,#9", "incorrect", "9"),
        ("9", "# 9 \n", "correct", "9"),
        ("9", "#+9", "correct", "9"),
        ("9", "#009", "correct", "9"),
        ("-9", "#-9", "correct", "-9"),
        ("9", "#-9", "incorrect", "-9"),
        ("0", "#-0", "correct", "0"),
        ("9", "#9.0", "unparseable", None),
        ("9", "#9 apples", "unparseable", None),
        ("9", "#- 9", "unparseable", None),
        ("9", "#--9", "unparseable", None),
        ("9", "#1_0", "unparseable", None),
        ("9", "#٩", "unparseable", None),
        ("9", "#", "unparseable", None),
        ("9", "9", "unparseable", None),
        ("9", "", "unparseable", None),
        ("nine", "#9", "grader_error", None),
    ],
)
def test_integers(gold: str, completion: str, state: str, answer: str | None) -> None:
    assert grade(gold, completion) == Grade(state, answer)


def test_a_truncated_completion_is_unparseable_even_if_an_answer_stands_in_it() -> None:
    assert grade("9", "#9", finished=False) == Grade("unparseable", None)


def test_text() -> None:
    assert grade("Paris", "It is: Paris ", answer_type="text", marker=":").state == "correct"
    assert grade("Paris", "It is: paris", answer_type="text", marker=":").state == "incorrect"
    assert grade("Paris", "It is: ", answer_type="text", marker=":").state == "unparseable"


def test_a_gold_answer_may_hold_the_marker_itself() -> None:
    assert grade("She pays 2*9=18.\n#### 18", "so #### 18", marker="####").state == "correct"


def test_megabytes_are_compared_as_text() -> None:
    begun = time.monotonic()
    huge = "9" * 2_000_000
    assert grade(huge, f"#{huge}").state == "correct"
    assert grade("9", "#" + "0" * 2_000_000 + "9").state == "correct"
    assert grade("9", "#" + "0" * 2_000_000 + "x").state == "unparseable"
    assert len(grade("9", f"#{huge}").answer or "") == 1001
    assert time.monotonic() - begun < 2


def test_gold_answers_that_cannot_be_used_are_named() -> None:
    with make_grader(ExactGrader(kind="exact")) as grader:
        assert grader.unreadable(["1", "x=2", "#### 3", ""]) == {
            1: "'x=2' is not an integer",
            3: "'' is not an integer",
        }


def test_every_state_is_one_that_the_ledger_knows() -> None:
    from harness.grading import protocol

    states = {
        protocol.CORRECT,
        protocol.INCORRECT,
        protocol.UNPARSEABLE,
        protocol.LIMIT,
        protocol.GRADER_ERROR,
    }
    assert states == set(GRADER_STATES)


def test_the_version_tells_graders_apart() -> None:
    specs = [ExactGrader(kind="exact"), ExactGrader(kind="exact", marker="##"),
             ExactGrader(kind="exact", answer_type="text")]  # fmt: skip
    assert len({make_grader(spec).version for spec in specs}) == 3
