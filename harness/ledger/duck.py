"""The ledgers of many runs as one DuckDB connection with a view a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from harness.ledger.reader import RunLedger
from harness.ledger.schema import TABLES

_NAMES = {
    pa.string(): "VARCHAR",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.binary(8): "BLOB",
}


def connect(runs: Iterable[RunLedger], *, threads: int = 1) -> duckdb.DuckDBPyConnection:
    """An in-memory DuckDB connection with one view for each table of the ledger, over all `runs`.

    A table without rows is there with its column types. Rows of a view have no order of their own: sort by
    run_id, step and so on. `texts` has each text once, whatever number of runs hold it.
    """
    connection = duckdb.connect(":memory:", config={"threads": threads})
    connection.execute("SET autoinstall_known_extensions = false")
    listed = list(runs)
    for table in TABLES:
        paths = [path for run in listed for path in run.files[table]]
        connection.execute(f"CREATE VIEW {table} AS {view_sql(table, paths)}")
    return connection


def view_sql(table: str, paths: Sequence[Path]) -> str:
    """The query behind a view. Names come from the schema, and paths are quoted."""
    columns = ", ".join(c.name for c in TABLES[table])
    if not paths:
        typed = ", ".join(f"CAST(NULL AS {sql_type(c.type)}) AS {c.name}" for c in TABLES[table])
        return f"SELECT {typed} WHERE false"
    source = f"read_parquet([{', '.join(_quoted(path) for path in paths)}])"
    if table == "texts":
        return f"SELECT text_digest, any_value(text) AS text FROM {source} GROUP BY text_digest"  # noqa: S608
    return f"SELECT {columns} FROM {source}"  # noqa: S608


def sql_type(type_: pa.DataType) -> str:
    """DuckDB's name of a column's type."""
    return f"{_NAMES[type_.value_type]}[]" if pa.types.is_list(type_) else _NAMES[type_]


def _quoted(path: Path) -> str:
    """A path as an SQL literal in which DuckDB finds no wildcard."""
    literal = "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
    return "'" + literal.replace("'", "''") + "'"
