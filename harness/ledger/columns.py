"""Rows held in memory between two commits, column by column, and their conversion to Arrow.

Appending keeps references and copies, no more; all conversion waits for the commit, since a run appends
a few dozen small batches a second.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harness.ledger.schema import TABLES, Column, arrow_schema


class LedgerInvariantError(Exception):
    """What was handed to the ledger contradicts itself or the schema: a bug in the caller, never the user."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """Lists of different lengths: `values` of all rows, one after another, and each row's length."""

    values: NDArray[Any]
    lengths: NDArray[Any]

    def __len__(self) -> int:
        return len(self.lengths)


_SCALARS = (str, bytes, int, float, bool, type(None), np.generic)


class TableBuffer:
    """The rows of one table since the last commit.

    A column of a batch is a sequence, a NumPy array, a `Ragged` (list columns), or one scalar that holds
    for every row of the batch. `run_id` is filled in.
    """

    def __init__(self, table: str, run_id: str) -> None:
        self._table = table
        self._columns = {c.name: c for c in TABLES[table]}
        self._fixed = {"run_id": run_id} if "run_id" in self._columns else {}
        self._expected = frozenset(self._columns) - frozenset(self._fixed)
        self._batches: list[tuple[int, dict[str, Any]]] = []
        self.rows = 0

    def append(self, columns: Mapping[str, Any]) -> int:
        """Add a batch of rows; returns their number. LedgerInvariantError: a wrong column or length."""
        if columns.keys() != self._expected:
            self._refuse_names(frozenset(columns))
        batch = {name: _own(value) for name, value in columns.items()}
        lengths = {len(value) for value in batch.values() if not isinstance(value, _SCALARS)}
        if len(lengths) > 1:
            found = {n: len(v) for n, v in batch.items() if not isinstance(v, _SCALARS)}
            raise LedgerInvariantError(f"{self._table}: columns of different lengths: {found}")
        count = lengths.pop() if lengths else 1
        if count:
            self._batches.append((count, batch))
            self.rows += count
        return count

    def clear(self) -> None:
        """Forget all rows."""
        self._batches.clear()
        self.rows = 0

    def to_arrow(self) -> pa.Table:
        """The rows under the table's schema, rounded as it says.

        Raises LedgerInvariantError on a value that the schema does not allow.
        """
        arrays = []
        for name, column in self._columns.items():
            if name in self._fixed:
                arrays.append(pa.repeat(pa.scalar(self._fixed[name], column.type), self.rows))
                continue
            parts = [(batch[name], count) for count, batch in self._batches]
            try:
                array = _list_array(column, parts) if pa.types.is_list(column.type) else _array(column, parts)
            except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
                raise LedgerInvariantError(f"{self._table}.{name}: {error}") from error
            _check(self._table, column, array)
            arrays.append(array)
        return pa.Table.from_arrays(arrays, schema=arrow_schema(self._table))

    def _refuse_names(self, given: frozenset[str]) -> None:
        parts = []
        for name in sorted(given - self._expected):
            near = difflib.get_close_matches(name, self._expected, 1)
            parts.append(f"no column {name!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
        if missing := sorted(self._expected - given):
            parts.append(f"missing {', '.join(missing)}")
        raise LedgerInvariantError(f"{self._table}: {'; '.join(parts)}")


def transposed(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Rows as columns. Raises LedgerInvariantError if the rows do not all have the same names."""
    names = rows[0].keys() if rows else ()
    if any(row.keys() != names for row in rows):
        raise LedgerInvariantError("rows of one batch have different columns")
    return {name: [row[name] for row in rows] for name in names}


def _own(value: Any) -> Any:
    """A copy that later changes by the caller cannot reach."""
    if isinstance(value, (*_SCALARS, tuple)):
        return value
    if isinstance(value, Ragged):
        values, lengths = np.array(value.values), np.array(value.lengths)
        if values.ndim != 1 or lengths.ndim != 1 or int(lengths.sum()) != len(values):
            raise LedgerInvariantError(f"ragged column: {len(values)} values for lengths {lengths.sum()}")
        return Ragged(values, lengths)
    if hasattr(value, "__array__"):
        return np.array(value)
    return list(value)


def _array(column: Column, parts: list[tuple[Any, int]]) -> pa.Array:
    kinds = {type(value) for value, _ in parts}
    if kinds == {np.ndarray}:
        return _typed(column, np.concatenate([value for value, _ in parts]))
    if kinds.isdisjoint((np.ndarray, list, tuple)):
        once = _from_values(column, [value for value, _ in parts])
        return once.take(pa.array(np.repeat(np.arange(len(parts)), [count for _, count in parts])))
    values: list[Any] = []
    for value, count in parts:
        if isinstance(value, _SCALARS):
            values.extend([value] * count)
        else:
            values.extend(value.tolist() if isinstance(value, np.ndarray) else value)
    return _from_values(column, values)


def _from_values(column: Column, values: list[Any]) -> pa.Array:
    if column.type == pa.string():
        return _text_array(values)
    if pa.types.is_integer(column.type):
        # Told the type, Arrow would cut a fraction off without a word.
        return pa.array(values).cast(column.type)
    return pa.array(values, column.type)


def _list_array(column: Column, parts: list[tuple[Any, int]]) -> pa.Array:
    flat, lengths = [], []
    for value, count in parts:
        if isinstance(value, _SCALARS):
            raise TypeError(f"a list a row was expected, found {value!r}")
        if isinstance(value, Ragged):
            flat.append(value.values)
            lengths.append(value.lengths)
        else:
            rows = [np.asarray(row) for row in value]
            flat.extend(row for row in rows if len(row))
            lengths.append(np.fromiter(map(len, rows), np.int64, count))
    offsets = np.zeros(sum(map(len, lengths)) + 1, np.int64)
    np.cumsum(np.concatenate([*lengths, np.empty(0, np.int64)]), out=offsets[1:])
    element = Column(column.name, column.type.value_type, column.meaning, binary_places=column.binary_places)
    values = _typed(element, np.concatenate(flat) if flat else np.empty(0))
    return pa.ListArray.from_arrays(pa.array(offsets).cast(pa.int32()), values, type=column.type)


def _typed(column: Column, values: NDArray[Any]) -> pa.Array:
    """Arrow values of the column's type; a conversion that would lose an integer is an error."""
    if column.binary_places is not None:
        scale = np.float32(2**column.binary_places)
        values = np.rint(values.astype(np.float32) * scale) / scale
    if pa.types.is_floating(column.type):
        return pa.array(values.astype(column.type.to_pandas_dtype()))
    return pa.array(values).cast(column.type)


def _text_array(values: list[Any]) -> pa.Array:
    """Text; a lone surrogate, which a decoder may emit and UTF-8 cannot hold, becomes a question mark."""
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        clean = [v.encode("utf-8", "replace") if isinstance(v, str) else v for v in values]
        return pa.array(clean, pa.string())


def _check(table: str, column: Column, array: pa.Array) -> None:
    if array.null_count and not column.nullable:
        raise LedgerInvariantError(f"{table}.{column.name}: a value is missing")
    if column.values and (strange := set(array.unique().to_pylist()) - {*column.values, None}):
        raise LedgerInvariantError(f"{table}.{column.name}: {sorted(strange)} is none of {column.values}")
