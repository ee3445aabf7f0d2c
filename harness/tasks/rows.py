"""Reading the rows of a data file, each with its place, before anything is asked of their content."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.tasks.numbers import canonical_number
from prereg.problems import Problem, Refused

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_PARQUET = b"PAR1"


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a data file, as text: exactly what the file says, in canonical form."""

    text: str
    as_written: str


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its number from 0, the line it stands on (None in Parquet), and its values."""

    number: int
    line: int | None
    values: dict[str, Any]

    def problem(self, file: str, message: str, hint: str | None = None) -> Problem:
        """A problem with this row."""
        if self.line is None:
            message = f"row {self.number + 1}: {message}"
        return Problem(message, file=file, line=self.line, hint=hint)


def read_jsonl(path: Path) -> Iterator[Row]:
    """The rows of a JSON Lines file; blank lines are passed over, and a byte order mark too."""
    data = path.read_bytes()
    if data.startswith(_PARQUET):
        raise Refused(Problem("a Parquet file, not JSON lines", file=str(path), hint="Say `kind: parquet`."))
    if data.startswith(_UTF16):
        hint = "Save the file as UTF-8."
        raise Refused(Problem("encoded as UTF-16, but JSON lines are UTF-8", file=str(path), hint=hint))
    if b"\0" in data[:65536]:
        raise Refused(Problem("a binary file, not JSON lines", file=str(path)))
    number = 0
    for line, raw in enumerate(data.removeprefix(_BOM).split(b"\n"), start=1):
        if raw.strip():
            yield Row(number, line, _parse_line(path, line, raw))
            number += 1


def read_parquet(path: Path, columns: Callable[[list[str]], list[str]]) -> Iterator[Row]:
    """The rows of a Parquet file; `columns` is told the names there are and says which are wanted."""
    try:
        with pq.ParquetFile(path) as file:
            wanted = columns(file.schema_arrow.names)
            number = 0
            for batch in file.iter_batches(columns=wanted, use_threads=False):
                for values in batch.to_pylist():
                    yield Row(number, None, {name: _plain(value) for name, value in values.items()})
                    number += 1
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        message = f"not a Parquet file that can be read: {str(error).splitlines()[0]}"
        raise Refused(Problem(message, file=str(path), hint="Say `kind: jsonl` if it is one.")) from None


def read_csv(path: Path) -> Iterator[Row]:
    """The rows of a CSV file (RFC 4180, UTF-8) whose first line names the columns; every value is text."""
    data = path.read_bytes()
    if data.startswith(_PARQUET):
        raise Refused(Problem("a Parquet file, not CSV", file=str(path), hint="Say `kind: parquet`."))
    try:
        text = data.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"not UTF-8: byte 0x{data[error.start]:02x}"
        raise Refused(Problem(message, file=str(path), line=line, hint="Save the file as UTF-8.")) from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    names: list[str] | None = None
    number = 0
    begins = 1
    try:
        for values in reader:
            line, begins = begins, reader.line_num + 1
            if not values:
                continue
            if names is None:
                names = values
                if repeated := [name for name in names if names.count(name) > 1]:
                    message = f"the column {repeated[0]!r} stands twice"
                    raise Refused(Problem(message, file=str(path), line=line))
                continue
            if len(values) != len(names):
                message = f"{len(values)} values, but {len(names)} columns"
                hint = "Put a value with a comma, a quote or a line break between double quotes."
                raise Refused(Problem(message, file=str(path), line=line, hint=hint))
            yield Row(number, line, dict(zip(names, values, strict=True)))
            number += 1
    except csv.Error as error:
        raise Refused(Problem(f"not CSV: {error}", file=str(path), line=begins)) from None


def _parse_line(path: Path, line: int, raw: bytes) -> dict[str, Any]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{raw[error.start]:02x}"
        raise Refused(Problem(message, file=str(path), line=line, column=error.start + 1)) from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_int=_number,
            parse_float=_number,
            parse_constant=lambda _: None,
        )
    except json.JSONDecodeError as error:
        hint = "Each line must hold one JSON object."
        if line == 1 and text.lstrip().startswith("["):
            hint = "It looks like one JSON array; write its objects one a line."
        raise Refused(Problem(f"not JSON: {error.msg}", (), str(path), line, error.colno, hint)) from None
    except _DuplicateKeyError as error:
        raise Refused(Problem(f"the key {error.args[0]!r} stands twice", file=str(path), line=line)) from None
    except RecursionError:
        raise Refused(Problem("nested too deeply", file=str(path), line=line)) from None
    if not isinstance(value, dict):
        message = f"a JSON object was expected, found {type_name(value)}"
        raise Refused(Problem(message, file=str(path), line=line, column=1))
    return value


class _DuplicateKeyError(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _DuplicateKeyError(next(name for name in names if names.count(name) > 1))
    return found


def _number(text: str) -> Number:
    return Number(canonical_number(text), text)


def _plain(value: Any) -> Any:
    """A Parquet value as JSON would have it."""
    if isinstance(value, float):
        return None if math.isnan(value) else _number(repr(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return _number(str(value))
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    return value


def type_name(value: Any) -> str:
    """The kind of a value, in words."""
    names = {bool: "true or false", str: "text", Number: "a number", list: "a list", dict: "an object"}
    return "null" if value is None else names.get(type(value), type(value).__name__)
