"""A digest of what a run did, equal for two runs that did the same in other time or in other commits.

Left out is what depends on time alone: the columns that hold times (`TIME_COLUMNS`), the table `lost`, the
rows of `costs` whose phase comes as often as commits, waits and evaluations happen, readings on the axis of
seconds, evaluations made only for such a reading, and updates made after the last other budget was reached.
The table `texts` is left out too: what was generated stands in its keys. All other rows count in their order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.ledger.schema import LEDGER_VERSION, TABLES, TIME_COLUMNS

LEFT_OUT_TABLES = ("lost", "texts")
LEFT_OUT_PHASES = ("checkpoint", "evaluate", "idle")
TIME_AXIS = "device_seconds"


def of_files(files: Mapping[str, Sequence[Path]]) -> str:
    """SHA-256, hexadecimal, over Parquet files by table; how rows are split over files does not matter."""
    return _of_parts(lambda table, columns: _parts(files[table], columns))


def of_tables(tables: Mapping[str, pa.Table]) -> str:
    """The same over tables in memory; a table without rows may be left out."""
    return _of_parts(lambda table, columns: iter([tables[table].select(columns)] if table in tables else []))


def _of_parts(parts: Callable[[str, list[str]], Iterator[pa.Table]]) -> str:
    """`parts` gives these columns of a table, in as many pieces as it has."""
    whole = hashlib.sha256(f"ledger {LEDGER_VERSION}\n".encode())
    last_step = _last_counted_step(parts("readings", ["axis", "step", "crossing_cost"]))
    timed_steps = _steps_evaluated_for_time(parts("evaluations", ["step", "occasion"]))
    for table in sorted(TABLES.keys() - LEFT_OUT_TABLES):
        columns = [c.name for c in TABLES[table] if c.name not in TIME_COLUMNS]
        digests = {name: _ColumnDigest() for name in columns}
        for part in parts(table, columns):
            kept = _without_times(table, part, last_step, timed_steps)
            for name in columns:
                for chunk in kept[name].chunks:
                    digests[name].update(chunk)
        for name in columns:
            if name != "occasion":
                whole.update(f"{table}.{name} {digests[name].hexdigest()}\n".encode())
    return whole.hexdigest()


def of_table(table: pa.Table) -> str:
    """SHA-256 over every column of a table, bit for bit, so that NaN equals NaN."""
    whole = hashlib.sha256()
    for name in table.column_names:
        column = _ColumnDigest()
        for chunk in table[name].chunks:
            column.update(chunk)
        whole.update(f"{name} {column.hexdigest()}\n".encode())
    return whole.hexdigest()


def _parts(paths: Sequence[Path], columns: list[str]) -> Iterator[pa.Table]:
    for path in paths:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns=columns, use_threads=False)


def _last_counted_step(readings: Iterator[pa.Table]) -> int | None:
    """The update that closed the last budget that is not one of time; None if there is no such budget."""
    last: int | None = None
    for part in readings:
        for row in part.to_pylist():
            if row["axis"] != TIME_AXIS:
                step = row["step"] + (row["crossing_cost"] is not None)
                last = step if last is None else max(last, step)
    return last


def _steps_evaluated_for_time(evaluations: Iterator[pa.Table]) -> list[int]:
    """Steps whose policy was evaluated only because seconds ran out there."""
    steps: set[int] = set()
    for part in evaluations:
        steps.update(row["step"] for row in part.to_pylist() if row["occasion"] == TIME_AXIS)
    return sorted(steps)


def _without_times(table: str, part: pa.Table, last_step: int | None, timed_steps: list[int]) -> pa.Table:
    if table == "costs":
        part = part.filter(pc.invert(pc.is_in(part["phase"], pa.array(LEFT_OUT_PHASES))))
    if table == "readings":
        part = part.filter(pc.not_equal(part["axis"], TIME_AXIS))
    if table == "reevaluations":
        part = part.filter(pc.not_equal(part["occasion"], TIME_AXIS))
    if timed_steps and table in ("evaluations", "samples"):
        part = part.filter(pc.invert(pc.is_in(part["step"], pa.array(timed_steps, pa.int32()))))
    if last_step is not None:
        part = part.filter(pc.less_equal(part["step"], last_step))
    return part


class _ColumnDigest:
    """Digests of validity, lengths and values, each fed in the order of the rows."""

    def __init__(self) -> None:
        self._valid, self._lengths, self._values = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()

    def update(self, array: pa.Array) -> None:
        self._valid.update(_bytes(pc.is_valid(array).to_numpy(zero_copy_only=False), np.uint8))
        if pa.types.is_list(array.type):
            self._lengths.update(_bytes(pc.list_value_length(array).to_numpy(zero_copy_only=False), "<i4"))
            array = array.flatten()
        if pa.types.is_string(array.type) or pa.types.is_fixed_size_binary(array.type):
            array = pc.fill_null(array.cast(pa.large_binary()), b"")
            self._lengths.update(_bytes(pc.binary_length(array).to_numpy(zero_copy_only=False), "<i8"))
            self._values.update(_joined(array))
        elif pa.types.is_boolean(array.type):
            self._values.update(_bytes(pc.fill_null(array, False).to_numpy(zero_copy_only=False), np.uint8))
        else:
            values = pc.fill_null(array, pa.scalar(0, array.type)) if array.null_count else array
            dtype = np.dtype(array.type.to_pandas_dtype()).newbyteorder("<")
            self._values.update(_bytes(values.to_numpy(zero_copy_only=False), dtype))

    def hexdigest(self) -> str:
        parts = (self._valid, self._lengths, self._values)
        return "".join(part.hexdigest() for part in parts)


def _joined(array: pa.Array) -> memoryview:
    """The bytes of all values, in order, as they lie in memory. `array` is large_binary without nulls."""
    _, offsets, data = array.buffers()
    if data is None:
        return memoryview(b"")
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]


def _bytes(values: np.ndarray[Any, Any], dtype: Any) -> memoryview:
    return np.ascontiguousarray(values, dtype=dtype).data.cast("B")
