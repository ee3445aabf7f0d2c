"""Mathematical grading with the real algebra: kinds of answers, and answers made to stop a grader."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from harness.grading.build import make_grader
from harness.grading.kinds import bare_gold
from harness.grading.math import MathGrader
from harness.grading.math_worker import compare
from harness.grading.protocol import Grader
from prereg.problems import Refused
from prereg.sources import MathGrader as MathSpec


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with make_grader(MathSpec(kind="math", timeout_seconds=10.0)) as made:
        yield made


CASES = [
    # Rounding to six decimal places would make these equal.
    (r"\frac{1}{2004!}", r"\frac{1}{2006!}", "incorrect"),
    ("1/2^{99}", "1/2^{98}", "incorrect"),
    ("1/2^{99}", "2^{-99}", "correct"),
    ("10000", "10001", "incorrect"),
    ("10000", "10000.01", "incorrect"),
    ("5", "5.0", "correct"),
    (r"\frac{1}{3}", "0.333333", "correct"),
    (r"\frac{1}{3}", "0.33", "incorrect"),
    (r"\sqrt{8}", r"2\sqrt{2}", "correct"),
    (r"\sqrt{8}", r"2\sqrt{3}", "incorrect"),
    # A mixed number is a sum, and not its whole part.
    ("2", r"2\frac{2}{3}", "incorrect"),
    (r"\frac{71}{6}", r"11\frac{5}{6}", "correct"),
    ("2(x+1)", "2x+1", "incorrect"),
    ("2(x+1)", "2x+2", "correct"),
    ("x=5", "y=5", "incorrect"),
    ("5", "x=5", "correct"),
    ("B", r"A \text{ or } B", "incorrect"),
    ("(2,5)", "2<x<5", "correct"),
    ("(2,5)", "5>x>2", "correct"),
    ("2<x<5", "(2,5)", "correct"),
    ("(1,2)", "[1,2]", "incorrect"),
    (r"\{1,2,3\}", r"\{3,1,2\}", "correct"),
    ("(1,2,3)", "(3,1,2)", "incorrect"),
    (r"336^\circ", "336", "correct"),
    ("5", "500", "incorrect"),
    ("5", r"\frac{1}{0}", "incorrect"),
    # An unclosed brace inside a box leaves the box unclosed.
    ("5", r"\frac{", "unparseable"),
    (r"\frac{", "5", "grader_error"),
]


def test_kinds_of_answers(grader: Grader) -> None:
    found = grader([c[0] for c in CASES], [rf"so \boxed{{{c[1]}}}" for c in CASES], [True] * len(CASES))
    wrong = [(case, grade.state) for case, grade in zip(CASES, found, strict=True) if grade.state != case[2]]
    assert wrong == []


def test_plain_rounding_would_call_tiny_numbers_equal() -> None:
    from math_verify import parse, verify

    gold, answer = parse(r"\boxed{1/2^{99}}"), parse(r"\boxed{1/2^{98}}")
    assert verify(gold, answer)
    assert compare("1/2^{99}", "1/2^{98}") == "incorrect"


def test_which_answer_counts(grader: Grader) -> None:
    completions = [
        r"\boxed{5}. Wrong; it is \boxed{7}.", r"\boxed{7}. Wrong; it is \boxed{5}.", r"\boxed{7", "7", "",
        r"\boxed{}", r"$\boxed{\boxed{7}}$",
    ]  # fmt: skip
    states = [g.state for g in grader(["7"] * 7, completions, [True] * 7)]
    assert states == [
        "correct",
        "incorrect",
        "unparseable",
        "unparseable",
        "unparseable",
        "unparseable",
        "correct",
    ]
    assert grader(["7"], [r"\boxed{7}"], [False])[0].state == "unparseable"


def test_hostile_answers_cost_one_answer_each_and_the_next_is_graded_as_usual() -> None:
    hostile = [
        "5^{5^{5^{5^5}}}",
        "9" * 20_000,
        "(" * 2000 + "1" + ")" * 2000,
        "(2^{2^{30}})!",
        "9" * 400 + ".5",
    ]
    begun = time.monotonic()
    with make_grader(MathSpec(kind="math", timeout_seconds=1.0)) as grader:
        for answer in hostile:
            first, second = grader(
                ["5", r"\frac{1}{2}"], [rf"\boxed{{{answer}}}", r"\boxed{0.5}"], [True, True]
            )
            assert first.state in {"incorrect", "limit"}
            assert second.state == "correct"
    assert time.monotonic() - begun < 15


def test_gold_answers_are_bared_and_checked(grader: Grader) -> None:
    assert [bare_gold(g) for g in (r"\boxed{34}", "$x^2$", " 5 ", r"$1$ or $2$")] == [
        "34",
        "x^2",
        "5",
        "$1$ or $2$",
    ]
    assert grader([r"\boxed{34}"], [r"\boxed{34}"], [True])[0].state == "correct"
    assert list(grader.unreadable([r"\frac{", "5", r"\boxed{34}", "$x^2$", "9" * 500 + ".5"])) == [0, 4]


def test_a_memory_limit_that_is_too_low_is_refused() -> None:
    with pytest.raises(Refused, match="fails its self-test") as caught:
        MathGrader(MathSpec(kind="math", memory_mb=20))
    assert "20 MiB" in str(caught.value)


def test_the_version_names_what_verdicts_depend_on(grader: Grader) -> None:
    for part in ("math-verify=", "sympy=", "timeout=10s", "memory=1024MiB"):
        assert part in grader.version
