"""The one writer of a run's ledger: rows are buffered in memory and become durable commit by commit.

A commit is a folder `commits/000001` that appears by one rename after everything in it is on the disk: one
Parquet file a table that has rows, the checkpoint that belongs to them, and a manifest, written last, with
the digest of each file and of the manifest before.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.ledger import layout
from harness.ledger.columns import LedgerInvariantError, TableBuffer, transposed
from harness.ledger.durable import disk_errors_explained, flush, flush_tree, write_file
from harness.ledger.encoding import parquet_bytes
from harness.ledger.heartbeat import Heartbeat
from harness.ledger.invariants import Totals, advance
from harness.ledger.manifest import NAME as MANIFEST
from harness.ledger.manifest import FileFact, Manifest
from harness.ledger.reader import COMMITS_WITH_CHECKPOINT, read_run
from harness.ledger.schema import TABLES
from prereg.problems import Problem, Refused

Checkpoint = Mapping[str, bytes | Path] | Callable[[Path], None]
"""A checkpoint's files by relative path, or what writes them into an empty folder."""


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """A commit that is on the disk."""

    number: int
    step: int
    folder: Path
    manifest_sha256: str
    bytes: int
    """Of its tables."""
    rows: Mapping[str, int]
    """By table, of this commit."""
    tokens: Mapping[str, int]
    """Generated tokens by purpose, of the run so far."""


class LedgerWriter:
    """Appends to the ledger in `folder`, going on after its last commit if it has any.

    Opening verifies what is there. If there was something, the run was cut off: what the heartbeat says of
    the work since the last commit becomes a row of `lost`, written with the next commit.

    Raises Refused if the ledger is damaged, belongs to another run, is finished, or cannot be written.
    """

    def __init__(self, folder: Path, run_id: str) -> None:
        self._folder = folder
        self._run_id = run_id
        with disk_errors_explained(folder, "the ledger cannot be written"):
            (folder / layout.COMMITS).mkdir(parents=True, exist_ok=True)
            layout.remove_leftovers(folder)
            run = read_run(folder)
            if run is not None and run.run_id != run_id:
                raise Refused(Problem(f"the ledger of run {run.run_id}, not of {run_id}", file=str(folder)))
            if run is not None and run.compacted:
                raise Refused(
                    Problem(f"the run {run_id} is finished; its ledger takes no more", file=str(folder))
                )
            self._buffers = {table: TableBuffer(table, run_id) for table in TABLES}
            self._head = run.head if run else None
            self._number = run.commit if run else 0
            self._step = run.step if run else 0
            self._totals = run.totals if run else Totals()
            self._texts = set(_known_texts(run.files["texts"])) if run else set()
            self.heartbeat, lost = Heartbeat.opened(folder, self._number, self._step)
        if lost:
            self._buffers["lost"].append(transposed(lost))

    @property
    def step(self) -> int:
        """Updates that the policy in the last checkpoint has had; 0 before the first commit."""
        return self._step

    @property
    def resumes(self) -> int:
        """Times that the run was opened again after it had begun."""
        return self._totals.rows.get("lost", 0) + self._buffers["lost"].rows

    @property
    def totals(self) -> Totals:
        """Totals as of the last commit."""
        return self._totals

    def append(self, table: str, rows: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        """Add rows to the next commit: a mapping of columns, or a sequence of rows.

        Of columns, each is a sequence, a NumPy array, a `Ragged` for lists, or a scalar that holds for all
        rows. `run_id` is filled in. Raises LedgerInvariantError on an unknown or missing column.
        """
        if table not in self._buffers:
            raise LedgerInvariantError(f"no table {table!r}; the tables are {', '.join(TABLES)}")
        self._buffers[table].append(rows if isinstance(rows, Mapping) else transposed(rows))

    def record_lost(
        self, *, steps: int, generated_tokens: int, device_seconds: float, wall_seconds: float
    ) -> None:
        """A row of `lost`: work that has to be done again, and is charged to no budget."""
        self.append(
            "lost",
            {
                "after_commit": self._number,
                "steps": steps,
                "generated_tokens": generated_tokens,
                "device_seconds": device_seconds,
                "wall_seconds": wall_seconds,
            },
        )

    def add_texts(self, texts: Iterable[str]) -> list[bytes]:
        """Store texts, each once a run, and return their keys for `text_digest`, in order."""
        keys, new = [], {}
        for text in texts:
            data = text.encode("utf-8", "replace")
            key = hashlib.sha256(data).digest()[:8]
            keys.append(key)
            if key not in self._texts:
                self._texts.add(key)
                new[key] = data
        self._buffers["texts"].append({"text_digest": list(new), "text": list(new.values())})
        return keys

    def commit(self, step: int, checkpoint: Checkpoint, keep: Sequence[str] = ()) -> CommitInfo:
        """Make all appended rows, and the checkpoint of the policy after `step` updates, durable as one.

        `keep` names the files of the checkpoint that are kept for good, e.g. the weights at a budget; the
        others are deleted once two newer commits exist.

        Raises LedgerInvariantError if conservation fails and Refused if the disk does not take it; then
        nothing is written and the rows are still in memory.
        """
        tables = {name: buffer.to_arrow() for name, buffer in self._buffers.items() if buffer.rows}
        if step < self._step:
            raise LedgerInvariantError(f"a commit of step {step} after one of step {self._step}")
        totals = advance(self._totals, tables)
        number = self._number + 1
        final = layout.commit_folder(self._folder, number)
        aside = final.with_name(f"{final.name}.tmp-{os.getpid()}-{uuid.uuid4().hex[:8]}")
        with disk_errors_explained(self._folder, f"commit {number} cannot be written"):
            try:
                aside.mkdir()
                saved = _save_checkpoint(aside / layout.CHECKPOINT, checkpoint)
                if unknown := sorted(set(keep) - set(saved)):
                    raise LedgerInvariantError(f"the checkpoint has no file {unknown[0]!r} to keep")
                manifest = Manifest(
                    run_id=self._run_id,
                    commit=number,
                    step=step,
                    previous=self._head,
                    files={
                        f"{name}.parquet": write_table(aside, name, table) for name, table in tables.items()
                    },
                    checkpoint=saved,
                    kept=tuple(sorted(keep)),
                    totals=totals,
                )
                data = manifest.to_bytes()
                write_file(aside / MANIFEST, data)
                flush(aside)
                layout.rename_new(aside, final)
                flush(final.parent)
            except BaseException:
                shutil.rmtree(aside, ignore_errors=True)
                raise
        self._head, self._number, self._step, self._totals = (
            hashlib.sha256(data).hexdigest(),
            number,
            step,
            totals,
        )
        for buffer in self._buffers.values():
            buffer.clear()
        self.heartbeat.committed(number, step)
        layout.prune_checkpoint(self._folder, number - COMMITS_WITH_CHECKPOINT)
        return CommitInfo(
            number,
            step,
            final,
            self._head,
            sum(fact.bytes for fact in manifest.files.values()),
            {name: len(table) for name, table in tables.items()},
            totals.tokens,
        )


def write_table(folder: Path, name: str, table: pa.Table) -> FileFact:
    """Write one table's file, flushed, and say what it holds."""
    data = parquet_bytes(name, table)
    write_file(folder / f"{name}.parquet", memoryview(data))
    return FileFact(hashlib.sha256(data).hexdigest(), data.size, len(table))


def _save_checkpoint(folder: Path, checkpoint: Checkpoint) -> dict[str, FileFact]:
    folder.mkdir()
    if callable(checkpoint):
        checkpoint(folder)
    else:
        for name, content in checkpoint.items():
            target = folder / PurePosixPath(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copyfile(content, target)
            else:
                target.write_bytes(content)
    flush_tree(folder)
    return {
        path.relative_to(folder).as_posix(): FileFact(layout.sha256_of(path), path.stat().st_size)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _known_texts(files: Iterable[Path]) -> Iterable[bytes]:
    for path in files:
        yield from pq.read_table(path, columns=["text_digest"], use_threads=False)["text_digest"].to_pylist()
