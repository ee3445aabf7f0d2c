"""The commits of a finished run as one file a table, so that a study of many runs stays a few thousand files.

The tables are built aside, flushed, compared with the commits, and take their place by one rename; only
then are the commits deleted. Cut off at any moment, the ledger is readable and compaction can be repeated.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from harness.ledger import layout
from harness.ledger.columns import LedgerInvariantError
from harness.ledger.digest import of_table
from harness.ledger.durable import disk_errors_explained, flush, flush_tree, write_file
from harness.ledger.heartbeat import NAME as HEARTBEAT
from harness.ledger.manifest import NAME as MANIFEST
from harness.ledger.manifest import FileFact, Manifest
from harness.ledger.reader import RunLedger, content_digest, read_run
from harness.ledger.schema import TABLES
from harness.ledger.writer import write_table
from prereg.problems import Problem, Refused


def compact(folder: Path, final: Sequence[str] | None = None) -> RunLedger:
    """Replace the commits of a finished run by one file a table; returns the ledger as it then stands.

    `final` names the files of the last checkpoint that are kept besides those kept for good; None keeps
    them all. Does nothing but tidy up if the run is compacted already. Nobody may be writing to the ledger.
    Raises Refused if the ledger is damaged or has no commit, or the disk does not take it.
    """
    with disk_errors_explained(folder, "the finished run cannot be compacted"):
        layout.remove_leftovers(folder)
        run = read_run(folder)
        if run is None:
            raise Refused(
                Problem("nothing was committed yet, so there is nothing to compact", file=str(folder))
            )
        if not run.compacted:
            _build(run, final)
        _remove_commits(folder)
        compacted = read_run(folder)
    assert compacted is not None
    return compacted


def _build(run: RunLedger, final: Sequence[str] | None) -> None:
    place = run.folder / layout.TABLES
    aside = place.with_name(f"{place.name}.tmp-{os.getpid()}-{uuid.uuid4().hex[:8]}")
    aside.mkdir()
    files: dict[str, FileFact] = {}
    for name in TABLES:
        table = _merged(name, run.table(name))
        if len(table):
            files[f"{name}.parquet"] = write_table(aside, name, table)
            if of_table(pq.read_table(aside / f"{name}.parquet", use_threads=False)) != of_table(table):
                raise LedgerInvariantError(f"{aside}: the compacted table {name} differs from the commits")
    checkpoint, kept = _copy_checkpoints(run, aside / layout.CHECKPOINTS, final)
    manifest = Manifest(
        run_id=run.run_id,
        commit=run.commit,
        step=run.step,
        previous=run.head,
        files=files,
        checkpoint=checkpoint,
        kept=kept,
        totals=run.totals,
        content=content_digest(run),
    )
    write_file(aside / MANIFEST, manifest.to_bytes())
    flush_tree(aside)
    layout.rename_new(aside, place)
    flush(run.folder)


def _merged(name: str, table: pa.Table) -> pa.Table:
    """A text stands once, though two processes of one run may both have written it."""
    if name != "texts":
        return table.combine_chunks()
    return table.group_by("text_digest", use_threads=False).aggregate([("text", "first")]).rename_columns(
        ["text_digest", "text"]
    ).cast(table.schema)  # fmt: skip


def _copy_checkpoints(
    run: RunLedger, place: Path, final: Sequence[str] | None
) -> tuple[dict[str, FileFact], tuple[str, ...]]:
    wanted = {f"{layout.commit_name(k.commit)}/{k.name}": k.path for k in run.kept}
    kept = tuple(wanted)
    for path in sorted(run.checkpoint.rglob("*")):
        name = path.relative_to(run.checkpoint).as_posix()
        if path.is_file() and (final is None or name in final):
            wanted[f"{layout.commit_name(run.commit)}/{name}"] = path
    facts = {}
    for name, path in wanted.items():
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        facts[name] = FileFact(layout.sha256_of(target), target.stat().st_size)
    return facts, kept


def _remove_commits(folder: Path) -> None:
    if (folder / layout.COMMITS).exists():
        doomed = folder / f"{layout.COMMITS}.tmp-{uuid.uuid4().hex[:8]}"
        os.rename(folder / layout.COMMITS, doomed)
        shutil.rmtree(doomed)
    (folder / HEARTBEAT).unlink(missing_ok=True)
