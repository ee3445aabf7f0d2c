"""CSV and JSON of every table, and the writing of files that are whole or absent."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from reports.content import Column, Estimate, HypothesisResult, ReportContent, Table, Value

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A text cell that starts so would be run as a formula by a spreadsheet."""


def write_tables(content: ReportContent, folder: Path) -> tuple[Path, ...]:
    """`<table>.csv` and `<table>.json` for every table, and `verdicts.json`; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for table in content.tables():
        for suffix, text in ((".csv", as_csv(table)), (".json", as_json(table))):
            paths.append(folder / f"{table.name}{suffix}")
            write_whole(paths[-1], text.encode())
    paths.append(folder / "verdicts.json")
    write_whole(paths[-1], _dump([_verdict(one) for one in content.hypotheses]).encode())
    return tuple(paths)


def as_csv(table: Table) -> str:
    """The table with raw numbers; an estimate takes three columns, and what is missing is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([name for column in table.columns for name in _names(column)])
    for row in table.rows:
        writer.writerow(
            [text for column, value in zip(table.columns, row, strict=True) for text in _texts(column, value)]
        )
    return out.getvalue()


def as_json(table: Table) -> str:
    """The table as one object: its title, its note and a list of rows by column."""
    rows = [
        {column.key: _plain(value) for column, value in zip(table.columns, row, strict=True)}
        for row in table.rows
    ]
    return _dump({"name": table.name, "title": table.title, "note": table.note, "rows": rows})


def write_whole(path: Path, data: bytes) -> None:
    """Write to a temporary file beside `path`, flush it to the disk, and rename it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _verdict(one: HypothesisResult) -> dict[str, Any]:
    plain: dict[str, Any] = _finite(asdict(one))
    return plain


def _names(column: Column) -> tuple[str, ...]:
    key = column.key
    return (key, f"{key}_low", f"{key}_high") if column.kind == "estimate" else (key,)


def _texts(column: Column, value: Value) -> tuple[str, ...]:
    if column.kind == "estimate":
        parts = (value.value, value.low, value.high) if isinstance(value, Estimate) else (None,) * 3
        return tuple(_text(part) for part in parts)
    return (_text(value),)


def _text(value: Value) -> str:
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return repr(value)


def _plain(value: Value) -> Any:
    return _finite(asdict(value)) if isinstance(value, Estimate) else _finite(value)


def _finite(value: Any) -> Any:
    """Without NaN and infinity, which JSON does not have."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def _dump(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
