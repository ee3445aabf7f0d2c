"""How far a study is, read from its folders; works while it runs, and from another process."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any, Literal

from harness.cells import Cell
from harness.executors import CellStatus
from harness.folders import RunFolder, read_json
from prereg.study import Study

STALE_SECONDS = 300.0
"""Age of a progress file beyond which its run is taken to have stopped; an evaluation may take minutes."""


@dataclass(frozen=True, slots=True)
class CellState:
    """One cell, as it stands."""

    run_id: str
    arm: str
    model: str
    seed: int
    state: Literal["planned", "running", "stopped", "finished", "failed"]
    fraction: float
    """Of its furthest-off budget, 0..1."""
    updates: int
    generated_tokens: int
    device_seconds: float
    message: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def cell_state(folder: RunFolder, cell: Cell, study: Study, status: CellStatus | None = None) -> CellState:
    """The state of a cell; `status` is the executor's word where there is one."""
    progress = read_json(folder.progress) or {}
    failure = read_json(folder.failure)
    message: str | None = None
    state: Literal["planned", "running", "stopped", "finished", "failed"]
    if folder.finished:
        state = "finished"
    elif failure is not None and status != "running":
        state, message = "failed", str(failure.get("message"))
    elif status == "running" or (status is None and _is_alive(progress)):
        state = "running"
    else:
        state = "stopped" if progress else "planned"
    return CellState(
        cell.run_id, cell.arm, cell.model, cell.seed, state,
        1.0 if state == "finished" else float(progress.get("fraction", 0.0)),
        int(progress.get("updates", 0)), int(progress.get("generated_tokens", 0)),
        float(progress.get("device_seconds", 0.0)), message,
    )  # fmt: skip


def _is_alive(progress: dict[str, Any]) -> bool:
    """Whether a progress file is recent and its process exists (on this machine)."""
    process = progress.get("process")
    if not isinstance(process, int) or time.time() - float(progress.get("at", 0)) > STALE_SECONDS:
        return False
    import psutil

    return bool(psutil.pid_exists(process))
