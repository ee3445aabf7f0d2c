"""A small study of forty runs' worth of seeds, and a truth for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.harness.studies import benchmark, hypothesis, tiny

COST = {"seconds": 0.01, "seconds_per_token": 1e-4, "flops_per_token": 1e6}
LENGTHS = {"start": 20, "end": 30, "spread": 0.2}


def arm(**changes: Any) -> dict[str, Any]:
    return {"gain": 1.0, "rate": 0.05, "lengths": LENGTHS, "cost": COST} | changes


def truth(**changes: Any) -> dict[str, Any]:
    return {
        "benchmarks": {"easy": {"start": 0.5}, "hard": {"start": 0.2, "spread": 0.5}},
        "arms": {"grpo": arm(), "mcpo": arm(gain=1.6)},
        "variance": {"seeds": 0.2, "runs": 0.1, "problems": 0.2},
    } | changes


def study(**changes: Any) -> dict[str, Any]:
    document = tiny(
        seeds=list(range(1, 9)),
        budget={"updates": 30, "generated_tokens": 9_000, "device_seconds": 1.0},
        evaluation={"grid": {"axis": "updates", "every": 10}, "pass_k": [1, 4]},
        hypotheses=[hypothesis()],
    )
    sizes = {"easy": benchmark("easy", 60, 8), "hard": benchmark("hard", 40, 8)}
    document["data"] = document["data"] | {"benchmarks": sizes}
    return document | changes


def write(folder: Path, plan: dict[str, Any] | None = None, **changes: Any) -> tuple[Path, Path]:
    """Study and truth in a folder (JSON is YAML)."""
    paths = folder / "study.yaml", folder / "truth.yaml"
    paths[0].write_text(json.dumps(plan or study(), indent=1), encoding="utf-8")
    paths[1].write_text(json.dumps(truth(**changes), indent=1), encoding="utf-8")
    return paths
