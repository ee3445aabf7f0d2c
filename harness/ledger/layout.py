"""Where things stand in a run's folder.

commits/000001/{sequences,...}.parquet, manifest.json, checkpoint/...    a commit
commits/000002.tmp-...                                                   one that was being written
tables/{sequences,...}.parquet, manifest.json, checkpoints/000002/...    a finished run, compacted
heartbeat.json                                                           while it runs
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path

from harness.ledger.manifest import NAME as MANIFEST
from harness.ledger.manifest import load
from prereg.problems import Problem, Refused

COMMITS = "commits"
CHECKPOINT = "checkpoint"
TABLES = "tables"
CHECKPOINTS = "checkpoints"

_NUMBER = re.compile(r"\d{6,}")


def commit_name(number: int) -> str:
    """The name of a commit's folder."""
    return f"{number:06d}"


def commit_folder(folder: Path, number: int) -> Path:
    """The folder of a commit."""
    return folder / COMMITS / commit_name(number)


def commit_numbers(folder: Path) -> list[int]:
    """Numbers of the commits in place, ascending; what is still being written is not among them."""
    try:
        names = os.listdir(folder / COMMITS)
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if _NUMBER.fullmatch(name))


def is_compacted(folder: Path) -> bool:
    """Whether the run's tables are in place."""
    return (folder / TABLES).is_dir()


def remove_leftovers(folder: Path) -> None:
    """Remove what an interrupted writer or compaction left half-written. Only for the one who writes."""
    for place in (folder, folder / COMMITS):
        for path in place.glob("*.tmp-*"):
            if path.is_dir():
                shutil.rmtree(path)


def rename_new(aside: Path, final: Path) -> None:
    """Give a finished folder its name. Refused if another process has taken it."""
    if final.exists():
        message = f"{final.name} was written by another process at the same time"
        raise Refused(Problem(message, file=str(final), hint="Only one run may write to a ledger."))
    os.rename(aside, final)


def prune_checkpoint(folder: Path, number: int) -> None:
    """Delete the checkpoint of a commit, but for the files that it keeps."""
    commit = commit_folder(folder, number)
    if not (commit / CHECKPOINT).is_dir():
        return
    kept = set(load(commit / MANIFEST)[0].kept)
    for path in sorted((commit / CHECKPOINT).rglob("*"), reverse=True):
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.relative_to(commit / CHECKPOINT).as_posix() not in kept:
            path.unlink()
    if not kept:
        (commit / CHECKPOINT).rmdir()


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
