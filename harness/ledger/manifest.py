"""The manifest of a commit: what its files hold, their digests, and the digest of the manifest before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.ledger.invariants import Totals
from harness.ledger.schema import LEDGER_VERSION
from prereg.problems import Problem, Refused

NAME = "manifest.json"


@dataclass(frozen=True, slots=True)
class FileFact:
    """A file as it was written."""

    sha256: str
    bytes: int
    rows: int | None = None
    """Rows of a table; None for a checkpoint's file."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One commit, or the tables of a finished run (then `content` is set)."""

    run_id: str
    commit: int
    """Number of the commit, from 1; of compacted tables, the last commit that they hold."""
    step: int
    """Updates that the checkpoint's policy has had."""
    previous: str | None
    """SHA-256 of the manifest before; of compacted tables, the head of the chain that they replace."""
    files: Mapping[str, FileFact]
    """Tables, by file name."""
    checkpoint: Mapping[str, FileFact]
    """Files of the checkpoint, by path relative to its folder."""
    kept: tuple[str, ...]
    """Those of them that outlive the next commits."""
    totals: Totals
    content: str | None = None
    """Content digest; only of compacted tables."""

    def to_bytes(self) -> bytes:
        """Canonical JSON, one line a key, with a SHA-256 over the rest: any changed byte is noticed."""
        data = {
            "ledger_version": LEDGER_VERSION,
            "run_id": self.run_id,
            "commit": self.commit,
            "step": self.step,
            "previous": self.previous,
            "files": {name: _fact_json(fact) for name, fact in self.files.items()},
            "checkpoint": {name: _fact_json(fact) for name, fact in self.checkpoint.items()},
            "kept": list(self.kept),
            "totals": self.totals.to_json(),
        }
        if self.content is not None:
            data["content"] = self.content
        return _canonical(data | {"self": hashlib.sha256(_canonical(data)).hexdigest()})


def load(path: Path) -> tuple[Manifest, str]:
    """A manifest and its SHA-256. Raises Refused, naming the file, if it is missing or damaged."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise damaged(path, "the file is missing") from None
    try:
        parsed = json.loads(data)
        version = parsed["ledger_version"]
        if version != LEDGER_VERSION:
            message = f"a ledger of version {version}; this program reads and writes version {LEDGER_VERSION}"
            raise Refused(Problem(message, file=str(path), hint=_other_version(version)))
        manifest = _parse(parsed)
        if manifest.to_bytes() != data:
            raise damaged(path, "its SHA-256 differs from the one that it states")
        return manifest, hashlib.sha256(data).hexdigest()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(path, f"not a manifest of the ledger ({type(error).__name__})") from None


def _other_version(version: int) -> str:
    if version > LEDGER_VERSION:
        return "Use a newer version of the harness."
    return "Use the version of the harness that wrote it, or run the cell again in a new folder."


def damaged(path: Path, what: str) -> Refused:
    """The refusal of a ledger whose file is not as it was written."""
    hint = "The ledger is not as it was written. Restore the file, or run the cell again in a new folder."
    return Refused(Problem(what, file=str(path), hint=hint))


def _canonical(data: Mapping[str, Any]) -> bytes:
    return (json.dumps(data, sort_keys=True, indent=1) + "\n").encode()


def _parse(data: Mapping[str, Any]) -> Manifest:
    return Manifest(
        run_id=str(data["run_id"]),
        commit=int(data["commit"]),
        step=int(data["step"]),
        previous=data["previous"],
        files={name: FileFact(**fact) for name, fact in data["files"].items()},
        checkpoint={name: FileFact(**fact) for name, fact in data["checkpoint"].items()},
        kept=tuple(data["kept"]),
        totals=Totals.from_json(data["totals"]),
        content=data.get("content"),
    )


def _fact_json(fact: FileFact) -> dict[str, Any]:
    data: dict[str, Any] = {"sha256": fact.sha256, "bytes": fact.bytes}
    return data if fact.rows is None else data | {"rows": fact.rows}
