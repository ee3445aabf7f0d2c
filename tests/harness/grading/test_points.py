"""Expressions with variables that differ at two points are told apart without algebra, and no others."""

from __future__ import annotations

import pytest

from harness.grading.math_worker import compare, differ_at_points, read

EQUAL = [
    ("2(x+1)", "2x+2"),
    ("(a+b)^2", "a^2+2ab+b^2"),
    ("\\sin^2 x", "1-\\cos^2 x"),
    ("\\sqrt{x^2}", "|x|"),
    ("\\frac{x^2-1}{x-1}", "x+1"),
    ("0.5x", "\\frac{x}{2}"),
    ("\\ln(xy)", "\\ln x+\\ln y"),
    ("e^{a+b+c+d}", "e^a e^b e^c e^d"),
]
"""`|x|` and the logarithms are equal for real or positive variables only: the points are positive."""

DIFFERENT = [
    ("2(x+1)", "2x+1"),
    ("x^2", "x^3"),
    ("x^2", "2x-1"),  # equal at 1
    ("\\sin x", "2x"),  # equal at 0
    ("x y", "x+y"),  # equal at 0 and 2
    ("a+b+c+d", "a+b+c"),
    ("\\frac{1}{8}", "(1-3e^{-2t})u"),
    ("1.6", "x^8+x^7+1"),
]


@pytest.mark.parametrize(("gold", "answer"), EQUAL)
def test_equal_expressions_are_never_told_apart(gold: str, answer: str) -> None:
    assert not differ_at_points(read(gold), read(answer))


@pytest.mark.parametrize(("gold", "answer"), DIFFERENT)
def test_what_is_told_apart_is_wrong_by_algebra_as_well(gold: str, answer: str) -> None:
    from math_verify import verify

    left, right = read(gold), read(answer)
    assert differ_at_points(left, right)
    assert not verify(left, right, timeout_seconds=None)
    assert compare(gold, answer) == "incorrect"


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("x", "y"),  # a variable alone is compared as text
        ("x^2", "x"),
        ("x=2", "2+x"),  # an equation has no value
        ("\\{1,x\\}", "\\{2,x\\}"),
        ("f(x)", "f(x)+1"),  # a function that nobody knows
        ("\\frac{1}{x-x}", "x"),  # no finite value
        ("3", "4"),  # no variable
        # Sums and the like: their values at a point mean nothing, or take for ever.
        ("2^{n+1}-1", r"\sum_{k=0}^{n}2^{k}"),
        (r"\sum_{k=1}^{n}\frac{1}{k}", "n"),
        (r"\prod_{k=1}^{n}k", "n"),
        (r"\int_0^x t\,dt", "x"),
        ("n!", "n"),
        (r"\binom{n}{2}", "n"),
        (r"\lfloor x\rfloor", "x+1"),
    ],
)
def test_what_has_no_value_is_left_to_the_algebra(gold: str, answer: str) -> None:
    assert not differ_at_points(read(gold), read(answer))
