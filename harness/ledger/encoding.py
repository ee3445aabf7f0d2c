"""One table as the bytes of one Parquet file."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from harness.ledger.schema import TABLES

COMPRESSION_LEVEL = 1
ROW_GROUP_VALUES = 16 * 2**20
"""Values of the longest list column in a row group, which bounds what a reader must hold at once."""


def parquet_bytes(table_name: str, table: pa.Table) -> pa.Buffer:
    """The table as Parquet: zstd; byte-stream split where the schema says so, a dictionary elsewhere."""
    columns = TABLES[table_name]
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        row_group_size=_rows_in_group(table),
        compression="zstd",
        compression_level=COMPRESSION_LEVEL,
        use_dictionary=[c.name for c in columns if not c.split_bytes],
        use_byte_stream_split=[_path(c.name, c.type) for c in columns if c.split_bytes],
        write_statistics=[c.name for c in columns if not c.split_bytes],
        store_schema=True,
    )
    return sink.getvalue()


def _path(name: str, type_: pa.DataType) -> str:
    return f"{name}.list.element" if pa.types.is_list(type_) else name


def _rows_in_group(table: pa.Table) -> int:
    """Rows a group: a million, or fewer where the lists in them are long."""
    lists = [table[f.name] for f in table.schema if pa.types.is_list(f.type)]
    values = max((sum(len(chunk.values) for chunk in column.chunks) for column in lists), default=0)
    return max(1, min(2**20, len(table) * ROW_GROUP_VALUES // max(values, 1)))
