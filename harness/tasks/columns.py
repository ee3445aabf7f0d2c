"""From the row of a data file to a problem and its gold answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.grading.boxes import last_box
from harness.tasks.rows import Number, Row, type_name
from prereg.namedsets import AnswerRule

HASHES = "####"
"""What stands before the answer in GSM8K's solutions."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns a problem is made of."""

    problem: str
    answer: str
    rule: AnswerRule = "whole"
    id: str | None = None
    before: str = ""
    """Text that is cut from the front of every problem that begins with it."""
    after: str = ""
    """Text that is cut from the end of every problem that ends with it."""

    @property
    def wanted(self) -> tuple[str, ...]:
        """Every column that is read."""
        return tuple(dict.fromkeys(c for c in (self.problem, self.answer, self.id) if c is not None))


def column_of(name: str, there: list[str]) -> str | None:
    """The column of a file in which a name stands: itself, or what comes before its first dot."""
    head = name.split(".", 1)[0]
    return name if name in there else head if head in there else None


def lookup(row: Row, name: str) -> Any:
    """The value under a name; dots lead into objects, and into lists by their number from 0.

    Raises ValueError, in words, if there is none.
    """
    if name in row.values:
        return _given(row.values[name], name)
    value: Any = row.values
    for step in name.split("."):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise ValueError(f"the column {name!r} is missing in this row")
    return _given(value, name)


def _given(value: Any, name: str) -> Any:
    if value is None:
        raise ValueError(f"the column {name!r} is null")
    return value


def identity_of(row: Row, columns: Columns) -> str:
    """The problem's id: its column, or the number of the row from 0."""
    if columns.id is None:
        return str(row.number)
    value = lookup(row, columns.id)
    return value.text if isinstance(value, Number) else text_of(value, columns.id)


def problem_of(row: Row, columns: Columns) -> str:
    """The problem without the instruction around it."""
    text = text_of(lookup(row, columns.problem), columns.problem)
    text = text.removeprefix(columns.before).removesuffix(columns.after)
    if not text.strip():
        raise ValueError(f"the column {columns.problem!r} holds an instruction and no problem")
    return text


def answer_of(row: Row, columns: Columns, numbers: list[Number]) -> str:
    """The gold answer by the columns' rule. Numbers that were met are added to `numbers`.

    Raises ValueError, in words, if there is none.
    """
    name, value = columns.answer, lookup(row, columns.answer)
    if columns.rule == "only_entry":
        if not isinstance(value, list):
            raise ValueError(f"the column {name!r} holds {type_name(value)}, not a list")
        if len(value) != 1:
            raise ValueError(f"the column {name!r} lists {len(value)} answers, not one")
        value = _given(value[0], name)
    if isinstance(value, Number):
        numbers.append(value)
        if value.text.lower().lstrip("-") in {"inf", "infinity"}:
            raise ValueError(f"the column {name!r} is infinite")
        return value.text
    text = text_of(value, name)
    if columns.rule == "last_box":
        box = last_box(text)
        if not box:
            raise ValueError(f"the column {name!r} holds no \\boxed answer")
        return box
    if columns.rule == "after_hashes":
        _, mark, rest = text.rpartition(HASHES)
        if not mark or not rest.strip():
            raise ValueError(f"the column {name!r} holds no answer after {HASHES}")
        return rest.strip()
    return text


def text_of(value: Any, name: str) -> str:
    """A value that must be text and not empty."""
    if not isinstance(value, str):
        raise ValueError(f"the column {name!r} holds {type_name(value)}, not text")
    if not value.strip():
        raise ValueError(f"the column {name!r} is empty")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(f"the column {name!r} holds half of a character (a lone surrogate)")
    return value
