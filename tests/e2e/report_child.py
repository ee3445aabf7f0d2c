"""`harness report`, with a given number of DuckDB threads and the runs' files in a given order."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import duckdb

from harness import reporting
from harness.cli import main
from harness.ledger.reader import RunLedger

threads, order = int(sys.argv[1]), sys.argv[2]
connect = reporting.connect


def ordered(runs: Iterable[RunLedger], *, threads: int) -> duckdb.DuckDBPyConnection:
    listed = list(runs)
    return connect(listed[::-1] if order == "reversed" else listed, threads=threads)


reporting.connect = ordered
reporting._threads = lambda: threads
sys.argv = ["harness", "report"]
main()
