"""The queries that a report asks of the ledger: integer counts and joins, each a file of SQL."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import duckdb
import pyarrow as pa

from prereg.problems import Problem, Refused


@cache
def query(name: str) -> str:
    """The text of `queries/<name>.sql`."""
    return files("reports").joinpath("queries", f"{name}.sql").read_text(encoding="utf-8")


def run_query(connection: duckdb.DuckDBPyConnection, name: str, *values: str) -> pa.Table:
    """The rows of `queries/<name>.sql`, with `values` in the place of its question marks.

    Raises Refused if the ledger lacks a view or a column.
    """
    try:
        return connection.sql(query(name), params=list(values)).to_arrow_table()
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise Refused(
            Problem(
                f"the ledger cannot be read by queries/{name}.sql: {str(error).splitlines()[0]}",
                hint="the views and their columns must be those of docs/ledger.md",
            )
        ) from error


def query_rows(connection: duckdb.DuckDBPyConnection, name: str) -> list[dict[str, Any]]:
    """The same as one mapping a row."""
    rows: list[dict[str, Any]] = run_query(connection, name).to_pylist()
    return rows
