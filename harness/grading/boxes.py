"""Finding the boxed answer in a completion, and what can be said of it without any algebra."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.grading.exact import canonical_integer

MAX_LENGTH = 2000
"""Characters of an answer that may go to the algebra."""
MAX_DIGITS = 300
"""Digits of one number in it."""
MAX_NESTING = 40
"""Brackets within brackets in it."""
MAX_EXPONENT = 1_000_000
"""An exponent that is written as a number."""
MAX_TOWER = 3
"""Exponents within exponents."""
MAX_FACTORIAL = 100_000
"""A number of which a factorial is taken."""

_BRACE_OR_BOX = re.compile(r"\\boxed\s*\{|\\.|[{}]", re.DOTALL)
_DIGITS = re.compile(rf"[0-9]{{{MAX_DIGITS + 1}}}")
_EXPONENT = re.compile(r"\^\s*\{?\s*[+-]?([0-9]{7,})")
_FACTORIAL = re.compile(r"([0-9]{6,})[\s})]*!")
_FACTORIALS = re.compile(r"![\s})]*!")
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+")


def last_box(text: str) -> str | None:
    """What stands in the last `\\boxed{...}` whose braces are balanced; None if there is none.

    A box within a box wins over the outer one. Time grows with the length of the text and no faster.
    """
    opened: list[tuple[bool, int]] = []
    start, end = -1, -1
    for found in _BRACE_OR_BOX.finditer(text):
        piece = found.group()
        if piece.endswith("{") and piece != "\\{":
            opened.append((piece != "{", found.end()))
        elif piece == "}" and opened:
            is_box, begun = opened.pop()
            if is_box and begun > start:
                start, end = begun, found.start()
    return text[start:end].strip() if start >= 0 else None


def plain_integer(latex: str) -> str | None:
    """An integer in canonical form if the answer is nothing else: `8,000`, `\\$9{,}500`, `-007`, `$12$`."""
    text = latex.strip().removeprefix("\\$").strip("$").strip()
    text = text.replace("{,}", ",").replace("\\!", "")
    if "," in text:
        if not _GROUPED.fullmatch(text):
            return None
        text = text.replace(",", "")
    return canonical_integer(text)


def too_large(latex: str) -> str | None:
    """Why an answer may not go to the algebra: its size is a way to stop a grader. None if it may."""
    if len(latex) > MAX_LENGTH:
        return f"longer than {MAX_LENGTH} characters"
    if _DIGITS.search(latex):
        return f"a number of more than {MAX_DIGITS} digits"
    if max(_depths(latex), default=0) > MAX_NESTING:
        return f"more than {MAX_NESTING} brackets within one another"
    if any(int(found) > MAX_EXPONENT for found in _EXPONENT.findall(latex)):
        return f"an exponent above {MAX_EXPONENT}"
    if _tower(latex) > MAX_TOWER:
        return f"more than {MAX_TOWER} exponents on top of one another"
    if any(int(found) > MAX_FACTORIAL for found in _FACTORIAL.findall(latex)):
        return f"the factorial of a number above {MAX_FACTORIAL}"
    if _FACTORIALS.search(latex):
        return "a factorial of a factorial"
    return None


def _tower(latex: str) -> int:
    """How high exponents stand on one another: `5^{5^{5}}` is 2, `x^2y^2` is 1."""
    highest = height = 0
    above: list[int] = []
    pending = False
    for character in latex:
        if character == "^":
            height += 1
            pending = True
            highest = max(highest, height)
        elif character in "{(":
            above.append(height)
            pending = False
        elif character in "})":
            height = above.pop() if above else 0
            height = max(height - 1, above[-1] if above else 0) if height else 0
        elif not character.isspace() and pending:
            pending = False
            height = above[-1] if above else 0
    return highest


def _depths(latex: str) -> Iterator[int]:
    depth = 0
    for character in latex:
        if character in "({[":
            depth += 1
            yield depth
        elif character in ")}]":
            depth -= 1
