"""Interleaved timing, its summary, and the document that every benchmark prints."""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "transformers", "numpy", "pyarrow", "safetensors", "duckdb", "pydantic")

Document = dict[str, Any]


@dataclass(slots=True)
class Timing:
    """Seconds of one variant, one entry a round."""

    cpu: list[float] = field(default_factory=list)
    """Process CPU time, all threads."""
    wall: list[float] = field(default_factory=list)

    def summary(self) -> Document:
        """Median and quartiles of both."""
        return {"cpu_seconds": spread(self.cpu), "wall_seconds": spread(self.wall)}


def interleaved(
    variants: Mapping[str, Callable[[], object]], rounds: int, warm_up: int = 1
) -> dict[str, Timing]:
    """Time each variant once a round, in turn; every second round in the opposite order.

    `warm_up` rounds come first and are not counted. The garbage collector runs between measurements only.
    """
    timings = {name: Timing() for name in variants}
    for turn in range(-warm_up, rounds):
        order = list(variants) if turn % 2 == 0 else list(variants)[::-1]
        for name in order:
            cpu, wall = timed(variants[name])
            if turn >= 0:
                timings[name].cpu.append(cpu)
                timings[name].wall.append(wall)
    return timings


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds of one call."""
    gc.collect()
    gc.disable()
    try:
        cpu, wall = time.process_time(), time.perf_counter()
        action()
        return time.process_time() - cpu, time.perf_counter() - wall
    finally:
        gc.enable()


def ratios(ours: Sequence[float], peer: Sequence[float]) -> Document:
    """Median and quartiles of the rounds' ratios ours / peer."""
    return spread([a / b for a, b in zip(ours, peer, strict=True)])


def spread(values: Sequence[float]) -> Document:
    """Median, quartiles and count of measured values."""
    low, high = values[0], values[0]
    if len(values) > 1:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": statistics.median(values), "quartiles": [low, high], "rounds": len(values)}


def held(
    what: str, measured: float, *, at_most: float | None = None, at_least: float | None = None
) -> Document:
    """A figure beside the target it is held against; exactly one bound is given."""
    if at_most is not None:
        return {"what": what, "measured": measured, "target": f"<= {at_most:g}", "met": measured <= at_most}
    assert at_least is not None
    return {"what": what, "measured": measured, "target": f">= {at_least:g}", "met": measured >= at_least}


def machine() -> Document:
    """What was measured on, and what else it was doing."""
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "load_average": [round(value, 2) for value in os.getloadavg()],
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def one_thread() -> None:
    """One torch thread, deterministic kernels: what a run uses."""
    import torch

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def child_environment(folder: Path | None = None) -> dict[str, str]:
    """The environment of a child process: this project importable, one thread everywhere."""
    root = str(folder or Path(__file__).parent.parent)
    return {**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


def run_alone(measure: Callable[[], Document]) -> None:
    """The command line of one benchmark."""
    parser = argparse.ArgumentParser(description="Prints figures and the targets they are held against.")
    parser.add_argument("--json", action="store_true", help="the whole measurement as one JSON document")
    as_json = parser.parse_args().json
    document = measured(measure)
    print(json.dumps(document, indent=1) if as_json else as_text(document))


def measured(measure: Callable[[], Document]) -> Document:
    """A benchmark's document, with the machine's facts as they were when it began."""
    facts = machine()
    started = time.perf_counter()
    document = measure()
    return {"machine": facts, **document, "took_seconds": round(time.perf_counter() - started, 1)}


def as_text(document: Document) -> str:
    """The held figures, one a line."""
    facts = document["machine"]
    lines = [f"{facts['cpu']}, {facts['cores']} cores, load {facts['load_average'][0]}"]
    for row in document["held"]:
        mark = "met" if row["met"] else "MISSED"
        lines.append(f"{row['what']}: {row['measured']:.4g} (target {row['target']}: {mark})")
    return "\n".join(lines)


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
