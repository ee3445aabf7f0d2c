"""YAML 1.2 scalars without their traps: what a person wrote is read as they meant it, or refused.

- `no`, `on`, `12:30`, `1_000` and dates are text; `1e-3` is a number; `0x1F` and `0o17` are 31 and 15;
- a whole number with a leading zero (`017` is 15 to YAML 1.1, 17 to YAML 1.2) is refused;
- NaN, infinity and whole numbers beyond 2^53 have no canonical JSON, and are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

MAX_WHOLE = 2**53 - 1
"""Largest whole number that canonical JSON (RFC 8785) can hold."""


_WHOLE = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0x[0-9a-fA-F]{1,16}|0o[0-7]{1,21}")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)|[-+]?(nan|NaN|inf|Infinity|-Infinity)")
_WORDS: Mapping[str, bool | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
REFUSED_CHARACTER = re.compile(
    r"[^\t\n\r\x20-\x7e\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""Control characters, and the separators and direction marks that make a file look other than it is."""

Resolved = tuple[Any, str | None, str | None]
"""The value, what is wrong with it, and what to do."""


def resolve_plain(text: str) -> Resolved:
    """The value of a plain scalar, what is wrong with it, and what to do."""
    if text in _WORDS:
        return _WORDS[text], None, None
    if _NOT_FINITE.fullmatch(text):
        return None, f"found `{text}`, expected a finite number", "Put it in quotes if it is text."
    if _WHOLE.fullmatch(text):
        digits = text.lstrip("+-")
        if len(digits) > 1 and digits[0] == "0":
            plain = digits.lstrip("0") or "0"
            return None, f"`{text}` starts with a zero, which some readers take as octal", (
                f"Write {plain}, or put it in quotes if it is text."
            )  # fmt: skip
        return (None, *_too_large(text)) if len(digits) > 16 else _whole(int(text), text)
    if _BASED.fullmatch(text):
        return _whole(int(text, 0), text)
    if _REAL.fullmatch(text):
        number = float(text)
        return (number, None, None) if math.isfinite(number) else (None, *_too_large(text))
    return checked_text(text)


def _whole(number: int, text: str) -> Resolved:
    return (number, None, None) if abs(number) <= MAX_WHOLE else (None, *_too_large(text))


def _too_large(text: str) -> tuple[str, str]:
    shown = text if len(text) <= 24 else f"{text[:24]}..."
    return f"the number {shown} is too large to be kept exactly", "Put it in quotes if it is text."


def checked_text(text: str) -> Resolved:
    """Text, unless an escape such as `\\e` put a character into it that may not stand in the file itself."""
    match = REFUSED_CHARACTER.search(text)
    if match is None:
        return text, None, None
    return None, f"the text holds the invisible character U+{ord(match.group()):04X}", "Take it out."


def describe(value: Any) -> str:
    """A value as a message names it: its kind, and its text where that is short."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        shown = value if len(value) <= 60 else f"{value[:57]}..."
        return f"the text {shown!r}"
    return "a list" if isinstance(value, list | tuple) else "a section (keys and values)"
