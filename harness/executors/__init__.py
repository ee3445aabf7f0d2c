"""Executors: where cells run. A cell is a command; an executor submits it, polls it and can cancel it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

CellStatus = Literal["waiting", "running", "ended"]


@dataclass(frozen=True, slots=True)
class CellCommand:
    """A cell as a command line, and where its output goes."""

    run_id: str
    command: tuple[str, ...]
    log: Path
    environment: dict[str, str]
    """Variables set in addition to the present ones."""


@dataclass(frozen=True, slots=True)
class Handle:
    """A submitted cell; plain data, so that another process can pick it up."""

    run_id: str
    executor: str
    reference: str
    """What the executor calls it, e.g. a process id."""


class Executor(Protocol):
    """Runs commands. Whether a cell is done is decided by its completion marker, never by the executor."""

    def submit(self, commands: Sequence[CellCommand]) -> list[Handle]:
        """Queue commands, in order."""

    def poll(self) -> dict[str, CellStatus]:
        """The state of every submitted cell, by run id; starts what can be started."""

    def cancel(self) -> None:
        """Ask every running cell to stop cleanly, and forget the waiting ones."""

    def logs(self, handle: Handle) -> str:
        """What the cell printed so far."""
