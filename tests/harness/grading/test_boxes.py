"""Finding the answer, and refusing what is too large, without any algebra."""

from __future__ import annotations

import time

import pytest

from harness.grading.boxes import last_box, plain_integer, too_large


@pytest.mark.parametrize(
    ("text", "box"),
    [
        (r"\boxed{5}", "5"),
        (r"\boxed{5}. No: \boxed{7}.", "7"),
        (r"\boxed{\frac{3}{4}}", r"\frac{3}{4}"),
        (r"\boxed{\{1,2\}}", r"\{1,2\}"),
        (r"\boxed{5} and then \boxed{7", "5"),
        (r"\boxed{12", None),
        (r"\boxed{\frac{1}{2}", None),
        (r"\boxed{\}", None),
        (r"\boxed{a \boxed{b} c}", "b"),
        (r"a stray { and \boxed{3}", "3"),
        (r"a stray } and \boxed{3}", "3"),
        (r"\boxed {3}", "3"),
        (r"\boxed{}", ""),
        (r"\boxed", None),
        (r"\\boxed{3}", None),
        ("", None),
    ],
)
def test_last_box(text: str, box: str | None) -> None:
    assert last_box(text) == box


def test_time_grows_with_the_text_and_no_faster() -> None:
    begun = time.monotonic()
    assert last_box("\\boxed{" * 200_000) is None
    assert last_box("\\boxed{" * 100_000 + "1" + "}" * 100_000) == "1"
    assert last_box("\\boxed " * 200_000) is None
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize(
    ("latex", "integer"),
    [
        ("8000", "8000"), ("8,000", "8000"), (r"\$9{,}500", "9500"), ("$12$", "12"), ("-007", "-7"),
        ("+3", "3"),
        (r"1\!000", "1000"), ("1,2", None), ("1,2345", None), ("12,", None), ("1 000", None), ("5.0", None),
        ("x", None), ("", None),
    ],
)  # fmt: skip
def test_plain_integers(latex: str, integer: str | None) -> None:
    assert plain_integer(latex) == integer


def test_ceilings() -> None:
    assert too_large("1" * 300) is None
    assert too_large("1" * 301) == "a number of more than 300 digits"
    assert too_large("(" * 40 + ")" * 40) is None
    assert too_large("{[(" * 14) == "more than 40 brackets within one another"
    assert too_large("()" * 1000) is None
    assert too_large("x" * 2001) == "longer than 2000 characters"
