"""The second grader: right and wrong answers by hand, no opinion where it cannot read, and no way to stop
it."""

from __future__ import annotations

import random
import time

import pytest

from harness.grading.second import boxed_answer, opinion
from tests.harness.grading.hostile import GOLDS, completion

RIGHT = [
    ("5", "5"),
    ("5", "5.0"),
    ("8000", "8,000"),
    (r"9500", r"\$9{,}500"),
    (r"\frac{71}{6}", r"11\frac{5}{6}"),
    (r"\frac12", "0.5"),
    (r"\frac{1}{3}", "0.3333333"),
    (r"\sqrt{8}", r"2\sqrt2"),
    ("2(x+1)", "2x+2"),
    (r"\{1,2,3\}", "3,1,2"),
    ("(1,2)", "(1, 2)"),
    ("y=2x+3", "2y-4x=6"),
    ("5", "x=5"),
    (r"336^\circ", "336"),
    (r"\text{even}", "Even"),
    (r"\text{(C)}", "C"),
    ("4.5e33", r"4.5\times10^{33}"),
    (r"6-5i", "-5i+6"),
    (r"2^{25}\cdot 26!", r"26!\cdot2^{25}"),
    (r"\log_{2} 8", "3"),
    (r"\ln 2+\frac{i\pi}{3}", r"\frac{\pi i}{3}+\ln(2)"),
    (r"15\mbox{ cm}^2", "15"),
    (r"\cot x", r"\frac{\cos x}{\sin x}"),
    ("f(x)=x+1", "1+x"),
    ("[2,5)", "[2,5)"),
    ("(a+5)(b+2)", "ab+2a+5b+10"),
    (r"\boxed{34}", "34"),
    ("e^{-x}", r"\frac{1}{e^x}"),
]
WRONG = [
    ("5", "500"),
    ("10000", "10001"),
    ("2(x+1)", "2x+1"),
    ("(1,2,3)", "(3,1,2)"),
    ("(1,2)", "[1,2]"),
    ("x=5", "y=5"),
    (r"\frac{1}{3}", "0.33"),
    ("2", r"2\frac{2}{3}"),
    (r"\sqrt{8}", r"2\sqrt{3}"),
    (r"\text{even}", "odd"),
    (r"\text{(C)}", "D"),
    ("5", "5,6"),
    (r"\{1,2\}", r"\{1,2,3\}"),
    ("y=2x", "y=3x"),
    ("2k", "2n"),
    ("1/2^{99}", "1/2^{98}"),
]


@pytest.mark.parametrize(("gold", "answer"), RIGHT)
def test_right(gold: str, answer: str) -> None:
    assert opinion(gold, rf"so \boxed{{{answer}}}.", True) is True


@pytest.mark.parametrize(("gold", "answer"), WRONG)
def test_wrong(gold: str, answer: str) -> None:
    assert opinion(gold, rf"so \boxed{{{answer}}}.", True) is False


@pytest.mark.parametrize(
    "answer", [r"\int_0^1 x\,dx", r"1<x<2", r"\frac{1}{0}", "9" * 400 + "x", r"\foo{2}", "2004!"]
)
def test_no_opinion(answer: str) -> None:
    assert opinion("5", rf"\boxed{{{answer}}}", True) is None


def test_on_what_is_no_answer_there_is_no_opinion() -> None:
    assert opinion("5", "5", True) is None
    assert opinion("5", r"\boxed{5}", False) is None
    assert opinion("5", r"\boxed{", True) is None


def test_many_open_boxes_cost_no_more_than_reading_them() -> None:
    # Looking for the end of each anew would take minutes.
    assert opinion("5", "\\boxed{" * 200_000, True) is None
    assert boxed_answer("\\boxed{" * 3000 + "5" + "}" * 3000) == "5"
    assert boxed_answer("\\boxed{5}" + "\\boxed{" * 3000) == "5"


def test_the_last_closed_box_counts() -> None:
    assert boxed_answer(r"\boxed{5} no: \boxed{\frac{1}{2}}") == r"\frac{1}{2}"
    assert boxed_answer(r"\boxed{5} and \boxed{7") == "5"
    assert boxed_answer(r"\boxed{\{1\}}") == r"\{1\}"


def test_hostile_completions_do_not_stop_it_and_none_is_right() -> None:
    rng = random.Random(3)
    begun = time.monotonic()
    for _ in range(600):
        text, gold = completion(rng), rng.choice(GOLDS)
        assert opinion(gold, text, True) is not True, text[:200]
    assert time.monotonic() - begun < 60
