"""Tasks from local JSONL and Parquet files with named columns."""

from __future__ import annotations

import difflib
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from harness.tasks.problems import Task, TaskItem, digest_of
from harness.tasks.rows import Number, Row, read_jsonl, read_parquet, type_name
from prereg.problems import Problem, Refused
from prereg.sources import FileTask

_SHOWN = 10
"""Faulty rows that are listed before the rest is only counted."""


def read_task_file(source: FileTask, study_folder: Path) -> Task:
    """The problems of a local file, in the file's order.

    Raises Refused, naming file and line, if the file or a column is missing, a row cannot be read, an id
    stands twice, or a problem or answer is empty. Numbers become text (27.0 is "27"); that and problems
    that stand twice are remarked on.
    """
    path = _locate(source.path, study_folder)
    try:
        rows = list(_rows(source, path))
    except OSError as error:
        raise Refused(Problem(f"cannot be read: {error.strerror or error}", file=str(path))) from None
    if not rows:
        raise Refused(Problem("the file holds no rows", file=str(path)))
    items, remarks = _items(source, path, rows)
    if source.limit is not None:
        items = _subset(items, source.limit, source.subset_seed, path)
    remarks.extend(_repeated_problems(items))
    return Task(path.stem, tuple(items), digest_of(items), tuple(remarks))


def _locate(name: str, study_folder: Path) -> Path:
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        hint = "Give a path relative to the study file, inside its folder."
        raise Refused(Problem(f"the path {name!r} leaves the study's folder", hint=hint))
    path = study_folder / relative
    if path.is_dir():
        raise Refused(Problem("a folder, not a file", file=str(path)))
    if path.exists() and not path.is_file():
        hint = "A pipe or a device gives no two readers the same rows; write them to a file."
        raise Refused(Problem("not a regular file", file=str(path), hint=hint))
    if not path.exists():
        there = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise Refused(Problem("there is no such file", file=str(path), hint=_nearest(path.name, there)))
    return path


def _nearest(name: str, names: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(name, list(names), 1)
    return f"Did you mean {near[0]!r}?" if near else None


def _rows(source: FileTask, path: Path) -> Iterable[Row]:
    wanted = [name for name in (source.problem, source.answer, source.id) if name is not None]

    def checked(there: list[str]) -> list[str]:
        for name in wanted:
            if name not in there:
                raise _no_column(path, name, there)
        return list(dict.fromkeys(wanted))

    if source.kind == "parquet":
        yield from read_parquet(path, checked)
        return
    for row in read_jsonl(path):
        if row.number == 0:
            checked(list(row.values))
        yield row


def _no_column(path: Path, name: str, there: Sequence[str], line: int | None = None) -> Refused:
    listed = ", ".join(repr(column) for column in there) or "none"
    message = f"there is no column {name!r}; the columns are {listed}"
    return Refused(Problem(message, file=str(path), line=line, hint=_nearest(name, there)))


def _items(source: FileTask, path: Path, rows: Sequence[Row]) -> tuple[list[TaskItem], list[str]]:
    faults: list[Problem] = []
    items: list[TaskItem] = []
    places: dict[str, Row] = {}
    rewritten: list[Number] = []
    for row in rows:
        try:
            identity = _identity(source, row)
            if identity in places:
                raise ValueError(f"the id {identity!r} stands already {_place(places[identity])}")
            problem = _text(row, source.problem)
            answer = _answer(row, source.answer, rewritten)
        except ValueError as error:
            faults.append(row.problem(str(path), str(error)))
            continue
        places[identity] = row
        items.append(TaskItem(identity, problem, answer))
    if faults:
        more = [Problem(f"{len(faults) - _SHOWN} more rows are at fault", file=str(path))]
        raise Refused(*faults[:_SHOWN], *(more if len(faults) > _SHOWN else []))
    remarks = []
    if changed := [n for n in rewritten if n.text != n.as_written]:
        example = f"{changed[0].as_written} as {changed[0].text!r}"
        remarks.append(f"{len(changed)} answers are numbers and were written as plain text, e.g. {example}.")
    return items, remarks


def _place(row: Row) -> str:
    return f"in row {row.number + 1}" if row.line is None else f"on line {row.line}"


def _value(row: Row, column: str) -> Any:
    if column not in row.values:
        raise ValueError(f"the column {column!r} is missing in this row")
    value = row.values[column]
    if value is None:
        raise ValueError(f"the column {column!r} is null")
    return value


def _identity(source: FileTask, row: Row) -> str:
    if source.id is None:
        return str(row.number)
    value = _value(row, source.id)
    return value.text if isinstance(value, Number) else _text(row, source.id)


def _text(row: Row, column: str) -> str:
    value = _value(row, column)
    if not isinstance(value, str):
        raise ValueError(f"the column {column!r} holds {type_name(value)}, not text")
    if not value.strip():
        raise ValueError(f"the column {column!r} is empty")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(f"the column {column!r} holds half of a character (a lone surrogate)")
    return value


def _answer(row: Row, column: str, numbers: list[Number]) -> str:
    value = _value(row, column)
    if isinstance(value, Number):
        numbers.append(value)
        if value.text.lower().lstrip("-") in {"inf", "infinity"}:
            raise ValueError(f"the column {column!r} is infinite")
        return value.text
    return _text(row, column)


def _subset(items: list[TaskItem], limit: int, seed: int, path: Path) -> list[TaskItem]:
    """`limit` items by the hash of seed and id, in the file's order: the others do not matter for which."""
    if limit > len(items):
        message = f"`limit` asks for {limit} rows, but the file holds {len(items)}"
        raise Refused(Problem(message, file=str(path), hint="Leave `limit` out to take all rows."))
    rank = {item.id: hashlib.sha256(f"{seed}/{item.id}".encode()).digest() for item in items}
    chosen = set(sorted(rank, key=lambda identity: rank[identity])[:limit])
    return [item for item in items if item.id in chosen]


def _repeated_problems(items: Sequence[TaskItem]) -> list[str]:
    same: defaultdict[str, list[TaskItem]] = defaultdict(list)
    for item in items:
        same[" ".join(item.problem.split())].append(item)
    repeated = [group for group in same.values() if len(group) > 1]
    if not repeated:
        return []
    remarks = [f"{len(repeated)} problems stand more than once, e.g. those with ids {_ids(repeated[0])}."]
    if differ := [group for group in repeated if len({item.answer for item in group}) > 1]:
        remarks.append(
            f"{len(differ)} of them with different answers, e.g. those with ids {_ids(differ[0])}."
        )
    return remarks


def _ids(group: Sequence[TaskItem]) -> str:
    return ", ".join(item.id for item in group[:5])
