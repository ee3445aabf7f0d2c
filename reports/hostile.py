"""Text that came from a model, a file or a person, made safe to stand in any file of a report."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

T = TypeVar("T")

_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    r"\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
"""Controls, marks that would turn the direction of a line, halves of surrogate pairs, non-characters."""


def clean(text: str) -> str:
    """The text with each unsafe character replaced by U+FFFD. Escaping is the renderers' work."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def cleaned(value: T) -> T:
    """A copy of nested dataclasses and tuples with every text in it cleaned."""
    result: Any = value
    if isinstance(value, str):
        result = clean(value)
    elif isinstance(value, tuple):
        result = tuple(cleaned(item) for item in value)
    elif is_dataclass(value) and not isinstance(value, type):
        result = replace(value, **{f.name: cleaned(getattr(value, f.name)) for f in fields(value)})
    return cast(T, result)
