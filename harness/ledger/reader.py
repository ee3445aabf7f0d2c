"""Reading a ledger that is known to be whole: every file is checked against its manifest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from harness.ledger import digest, layout
from harness.ledger.durable import disk_errors_explained
from harness.ledger.invariants import Totals
from harness.ledger.manifest import NAME as MANIFEST
from harness.ledger.manifest import FileFact, Manifest, damaged, load
from harness.ledger.schema import TABLES, arrow_schema
from prereg.problems import Refused

COMMITS_WITH_CHECKPOINT = 2
"""The newest commits whose checkpoint is whole: the last, and one before it in case it is damaged."""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of a checkpoint that outlives the commits after it."""

    commit: int
    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class RunLedger:
    """The verified ledger of one run, as of its last commit."""

    folder: Path
    run_id: str
    compacted: bool
    commit: int
    """Number of the last commit."""
    step: int
    """Updates that the policy in the last checkpoint has had."""
    head: str
    """SHA-256 of the last manifest of the chain."""
    totals: Totals
    files: Mapping[str, tuple[Path, ...]]
    """Parquet files by table, in the order of the commits; an empty tuple where a table has no rows."""
    checkpoint: Path
    """Folder of the last checkpoint."""
    kept: tuple[KeptFile, ...]
    """Files of checkpoints kept for good, in the order of the commits."""

    @property
    def resumes(self) -> int:
        """Times that the run was opened again after it had begun."""
        return self.totals.rows.get("lost", 0)

    def table(self, name: str) -> pa.Table:
        """All rows of a table."""
        parts = [
            pq.read_table(path, schema=arrow_schema(name), use_threads=False) for path in self.files[name]
        ]
        return pa.concat_tables(parts) if parts else arrow_schema(name).empty_table()


def last_commit(folder: Path) -> int:
    """Number of the last commit in place, unverified; 0 if there is none."""
    if layout.is_compacted(folder):
        return load(folder / layout.TABLES / MANIFEST)[0].commit
    return max(layout.commit_numbers(folder), default=0)


def read_run(folder: Path, *, verified: bool = True) -> RunLedger | None:
    """The ledger in a run's folder; None if nothing was committed yet.

    With `verified` every file's SHA-256 is compared; without, only the chain of manifests and the sizes.
    What was never finished is not looked at. Raises Refused, naming the file, if one is missing, truncated
    or altered, or if a commit is missing from the chain.
    """
    with disk_errors_explained(folder, "the ledger cannot be read"):
        while True:
            before = _state(folder)
            try:
                return _read(folder, verified)
            except (Refused, FileNotFoundError):
                # A run that is still going takes old checkpoints away, and its compaction the commits.
                if _state(folder) == before:
                    raise


def verify(folder: Path) -> RunLedger | None:
    """Check every file of a ledger; what `read_run` does."""
    return read_run(folder)


def content_digest(run: RunLedger) -> str:
    """SHA-256 over what the run did, without when and how fast (see `digest`)."""
    return digest.of_files(run.files)


def _state(folder: Path) -> tuple[bool, list[int]]:
    return layout.is_compacted(folder), layout.commit_numbers(folder)


def _read(folder: Path, verified: bool) -> RunLedger | None:
    if layout.is_compacted(folder):
        return _read_tables(folder, verified)
    numbers = layout.commit_numbers(folder)
    if not numbers:
        return None
    head: str | None = None
    manifests: list[Manifest] = []
    files: dict[str, list[Path]] = {table: [] for table in TABLES}
    kept: list[KeptFile] = []
    for number in range(1, numbers[-1] + 1):
        place = layout.commit_folder(folder, number)
        if number not in numbers:
            raise damaged(place, f"commit {number} is missing, though {numbers[-1]} is there")
        manifest, own = load(place / MANIFEST)
        if manifest.commit != number or manifest.previous != head:
            raise damaged(place / MANIFEST, "it does not continue the commit before it")
        if manifests and manifest.run_id != manifests[0].run_id:
            raise damaged(place / MANIFEST, f"of run {manifest.run_id}, not {manifests[0].run_id}")
        head = own
        manifests.append(manifest)
        _check_files(place, manifest.files, verified)
        whole = number > numbers[-1] - COMMITS_WITH_CHECKPOINT
        expected = {n: f for n, f in manifest.checkpoint.items() if whole or n in manifest.kept}
        _check_files(place / layout.CHECKPOINT, expected, verified)
        for table in _tables_of(place, manifest):
            files[table].append(place / f"{table}.parquet")
        kept.extend(KeptFile(number, n, place / layout.CHECKPOINT / n) for n in manifest.kept)
    last = manifests[-1]
    assert head is not None
    return RunLedger(
        folder,
        last.run_id,
        False,
        last.commit,
        last.step,
        head,
        last.totals,
        {table: tuple(paths) for table, paths in files.items()},
        layout.commit_folder(folder, last.commit) / layout.CHECKPOINT,
        tuple(kept),
    )


def _read_tables(folder: Path, verified: bool) -> RunLedger:
    place = folder / layout.TABLES
    manifest, _ = load(place / MANIFEST)
    if manifest.previous is None:
        raise damaged(place / MANIFEST, "it does not name the commits that it replaces")
    _check_files(place, manifest.files, verified)
    _check_files(place / layout.CHECKPOINTS, manifest.checkpoint, verified)
    present = _tables_of(place, manifest)
    checkpoints = place / layout.CHECKPOINTS
    kept = []
    for name in manifest.kept:
        commit, _, file = name.partition("/")
        kept.append(KeptFile(int(commit), file, checkpoints / name))
    return RunLedger(
        folder,
        manifest.run_id,
        True,
        manifest.commit,
        manifest.step,
        manifest.previous,
        manifest.totals,
        {table: (place / f"{table}.parquet",) if table in present else () for table in TABLES},
        checkpoints / layout.commit_name(manifest.commit),
        tuple(kept),
    )


def _tables_of(place: Path, manifest: Manifest) -> list[str]:
    tables = [name.removesuffix(".parquet") for name in manifest.files]
    if unknown := sorted(set(tables) - set(TABLES)):
        raise damaged(place / MANIFEST, f"it names an unknown table {unknown[0]!r}")
    return tables


def _check_files(place: Path, facts: Mapping[str, FileFact], verified: bool) -> None:
    for name, fact in facts.items():
        path = place / name
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            raise damaged(path, "the file is missing") from None
        if size != fact.bytes:
            raise damaged(path, f"{size} bytes, but {fact.bytes} were written")
        if verified and layout.sha256_of(path) != fact.sha256:
            raise damaged(path, "its SHA-256 differs from the one in its manifest")


def runs_in(folders: Iterable[Path], *, verified: bool = True) -> list[RunLedger]:
    """The ledgers of several runs; what is no folder, and runs without a commit, are left out."""
    found = (read_run(folder, verified=verified) for folder in folders if folder.is_dir())
    return [run for run in found if run is not None]
