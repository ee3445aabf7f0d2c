"""Writing a simulated run: the folder of a finished run in the ledger's own format, made at once.

It is what the writer's commits and their compaction leave, with the same checks of conservation, manifest and
digests. Nothing is flushed to the disk: a simulation that a crash tore can be made again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from harness.folders import RunFolder
from harness.ledger import digest, layout
from harness.ledger.encoding import parquet_bytes
from harness.ledger.invariants import Totals, advance
from harness.ledger.manifest import NAME as MANIFEST
from harness.ledger.manifest import FileFact, Manifest


def write_run(
    folder: RunFolder, run_id: str, tables: Mapping[str, pa.Table], updates: int, facts: Mapping[str, Any],
    crash: str | None,
) -> None:  # fmt: skip
    """Write a run's tables, and its marker, or `crash` as the reason why it failed.

    Replaces what stands there. Raises LedgerInvariantError if the tables contradict each other.
    """
    if folder.path.exists():
        shutil.rmtree(folder.path)
    place = folder.path / layout.TABLES
    place.mkdir(parents=True)
    totals = advance(Totals(), tables)
    files: dict[str, FileFact] = {}
    for name, table in tables.items():
        data = parquet_bytes(name, table)
        (place / f"{name}.parquet").write_bytes(memoryview(data))
        files[f"{name}.parquet"] = FileFact(hashlib.sha256(data).hexdigest(), data.size, len(table))
    content = digest.of_tables(tables)
    manifest = Manifest(
        run_id=run_id,
        commit=1,
        step=updates,
        previous=hashlib.sha256(f"simulated {run_id}".encode()).hexdigest(),
        files=files,
        checkpoint={},
        kept=(),
        totals=totals,
        content=content,
    )
    (place / MANIFEST).write_bytes(manifest.to_bytes())
    _write(folder.facts, dict(facts))
    if crash is None:
        _write(folder.marker, {"run": run_id, "content_digest": content, "simulated": True})
    else:
        _write(folder.failure, {"message": crash})


def _write(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=1, sort_keys=True, allow_nan=False), encoding="utf-8")
