"""Numbers that can be read and compared exactly without any algebra: the graders' fast path.

Only plain notations are read here, and only where the algebra reads them in the same way (a test compares
the two on
every real answer and on generated pairs): whole numbers with digit grouping, decimals, and fractions of whole
numbers. Everything else is left to the algebra.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from harness.grading.boxes import MAX_DIGITS, plain_integer

_DECIMAL = re.compile(r"([+-]?)([0-9]*)\.([0-9]+)")
_FRACTION = re.compile(
    r"([+-]?)\\[dt]?frac\s*(?:\{\s*([+-]?[0-9]+)\s*\}|([0-9]))\s*(?:\{\s*([+-]?[0-9]+)\s*\}|([0-9]))"
)
_SLASH = re.compile(r"([+-]?)([0-9]+)/([0-9]+)")
_LONGEST = 60
"""Characters of a fraction or decimal that is read here."""

DECIMAL_TOLERANCE = Fraction(2, 10**6)
"""Relative difference up to which a decimal is a rounded form of another number that is not whole."""
_UNSURE = (DECIMAL_TOLERANCE * Fraction(99, 100), DECIMAL_TOLERANCE * Fraction(101, 100))
"""Between these the algebra's own rounding might decide, so it is asked."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A number that was read exactly."""

    value: Fraction
    decimal: bool
    """Whether it was written with a decimal point, and may be a rounded form of another number."""


def plain_number(latex: str) -> Plain | None:
    """The number that an answer is, if it is written in one of the plain notations; else None."""
    whole = plain_integer(latex)
    if whole is not None:
        return Plain(Fraction(int(whole)), False) if len(whole) <= MAX_DIGITS else None
    text = latex.strip().strip("$").strip()
    if len(text) > _LONGEST:
        return None
    if found := _DECIMAL.fullmatch(text):
        sign, before, after = found.groups()
        value = Fraction(int(before + after), 10 ** len(after))
        return Plain(-value if sign == "-" else value, True)
    if found := _FRACTION.fullmatch(text):
        sign, top, digit, bottom, low = found.groups()
        return _ratio(sign, int(top or digit), int(bottom or low))
    if found := _SLASH.fullmatch(text):
        sign, above, below = found.groups()
        return _ratio(sign, int(above), int(below))
    return None


def _ratio(sign: str, above: int, below: int) -> Plain | None:
    if below == 0:
        return None
    value = Fraction(above, below)
    return Plain(-value if sign == "-" else value, False)


def equal_numbers(gold: Plain, answer: Plain) -> bool | None:
    """Whether the answer is the gold answer; None where the algebra must be asked.

    Exactly, but for decimals beside a gold answer that is not whole: those may be rounded.
    """
    if gold.value == answer.value:
        return True
    if not (gold.decimal or answer.decimal) or gold.value.denominator == 1:
        return False
    apart = abs(gold.value - answer.value) / max(abs(gold.value), abs(answer.value))
    if _UNSURE[0] <= apart <= _UNSURE[1]:
        return None
    return apart < DECIMAL_TOLERANCE


def surely_equal(one: str, other: str) -> bool:
    """Whether two answers are certainly the same number; False where that cannot be told here."""
    first, second = plain_number(one), plain_number(other)
    return first is not None and second is not None and equal_numbers(first, second) is True
