"""Numbers in data files as the text of a gold answer."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

_LONGEST = 40
"""Digits up to which a number is written out; beyond, it stays as the file has it."""


def canonical_number(text: str) -> str:
    """A JSON number as plain text: `27.0` is `27`, `1e3` is `1000`, `0.50` is `0.5`, `-0.0` is `0`.

    The digits are those of the file: nothing passes through a float. A number that would need more than
    40 digits is returned as it is.
    """
    try:
        value = Decimal(text)
    except InvalidOperation:
        return text
    if not value.is_finite() or max(abs(value.adjusted()), len(value.as_tuple().digits)) > _LONGEST:
        return text
    if value == 0:
        return "0"
    plain = format(value, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
