"""Tokens a second through vLLM's CPU build and through the trainer's own engine, on one model and batch.

Needs the environment that `nox -s vllm` makes, or another that VLLM_ENVIRONMENT names.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from benchmarks.measuring import Document, child_environment, held, ratios, run_alone, spread

ROOT = Path(__file__).parent.parent
ENVIRONMENT = Path(os.environ.get("VLLM_ENVIRONMENT", ROOT / ".nox" / "vllm"))


def measure(environment: Path = ENVIRONMENT) -> Document:
    """Tokens a wall second and a CPU second of both engines; the ratios are vLLM's over ours."""
    python = environment / "bin" / "python"
    if not python.exists():
        raise SystemExit(f"no environment at {environment}: run `nox -s vllm` first")
    child = subprocess.run(
        [str(python), "-m", "benchmarks.vllm_side"], cwd=ROOT, env=child_environment(), text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    line = next(line for line in child.stdout.splitlines() if line.startswith("MEASURED "))
    rows = json.loads(line.removeprefix("MEASURED "))
    by_wall = {name: [r["tokens"] / r["wall"] for r in found] for name, found in rows.items()}
    by_cpu = {name: [r["tokens"] / r["cpu"] for r in found] for name, found in rows.items()}
    ratio = ratios(by_wall["vllm"], by_wall["transformers"])
    return {
        "what": "256 completions of at most 48 tokens on the built-in model, in one batch",
        "tokens_a_wall_second": {name: spread(values) for name, values in by_wall.items()},
        "tokens_a_cpu_second": {name: spread(values) for name, values in by_cpu.items()},
        "wall_ratio_vllm_over_ours": ratio,
        "held": [
            held("our engine's tokens a second over vLLM's CPU build", 1 / ratio["median"], at_least=1.0)
        ],
    }


if __name__ == "__main__":
    run_alone(measure)
