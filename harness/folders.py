"""What stands in a run's folder besides its ledger."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.ledger.durable import replace_file, write_file


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run."""

    path: Path

    @property
    def facts(self) -> Path:
        """What ran here: study, lock, settings, versions."""
        return self.path / "run.json"

    @property
    def progress(self) -> Path:
        """How far it is, for `status`; may be stale or missing."""
        return self.path / "progress.json"

    @property
    def marker(self) -> Path:
        """Written last: its presence means that the run is finished."""
        return self.path / "complete.json"

    @property
    def failure(self) -> Path:
        """Why the last attempt failed; removed by the next one."""
        return self.path / "failure.json"

    @property
    def log(self) -> Path:
        """What the run's process printed."""
        return self.path / "run.log"

    @property
    def lock(self) -> Path:
        """Held by the process that runs it."""
        return self.path / ".lock"

    @property
    def finished(self) -> bool:
        """Whether the run is complete."""
        return self.marker.is_file()


def write_json(path: Path, document: dict[str, Any], *, durable: bool = True) -> None:
    """Replace a small JSON file as a whole; `durable` flushes it to the disk first."""
    data = json.dumps(document, indent=1, sort_keys=True, allow_nan=False).encode()
    if not durable:
        replace_file(path, data)
        return
    aside = path.with_name(path.name + ".tmp")
    write_file(aside, data)
    aside.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """A small JSON file; None if it is missing or not whole."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None
