"""A study at the size of a large paper: simulated, then reported, with time and memory by number of runs.

1,668 runs x 6 benchmarks of together 1,547 problems x 32 samples are 82.6 million rows of samples; texts and
the start policy's evaluation are left out. Each step is a process of its own, as a user starts it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measuring import Document, child_environment, held, run_alone

NAME = "scale"
ARMS = 12
SEEDS = (8, 34, 139)
"""96, 408 and 1,668 runs."""
PROBLEMS, SAMPLES, CAP, UPDATES = (258, 258, 258, 258, 258, 257), 32, 4096, 20

_CHILD = """
import json, resource, subprocess, sys, time
started = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"code": code, "wall_seconds": time.perf_counter() - started,
                  "cpu_seconds": used.ru_utime + used.ru_stime, "peak_gib": used.ru_maxrss / 2**20}))
"""
"""Runs a command and says what it and its children took; the peak is that of its largest process."""


def measure() -> Document:
    """The document of this benchmark."""
    sizes = [_measure(seeds) for seeds in SEEDS]
    small, large = sizes[0], sizes[-1]
    runs = large["runs"] / small["runs"]
    return {
        "benchmark": NAME,
        "sizes": sizes,
        "held": [
            held("simulate and report 1,668 runs, s", large["wall_seconds"], at_most=120),
            held("peak memory, GiB", large["peak_gib"], at_most=6),
            held("seconds of 1,668 runs over those of 96, for 17.4 times the runs",
                 large["cpu_seconds"] / small["cpu_seconds"], at_most=runs),
        ],
    }  # fmt: skip


def _measure(seeds: int) -> Document:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, seeds)
        simulate = _timed(folder, "simulate", "--truth", "truth.yaml")
        report = _timed(folder, "report", "--simulated")
    return {
        "runs": ARMS * seeds,
        "rows": ARMS * seeds * sum(PROBLEMS) * SAMPLES,
        "simulate": simulate,
        "report": report,
        "wall_seconds": simulate["wall_seconds"] + report["wall_seconds"],
        "cpu_seconds": simulate["cpu_seconds"] + report["cpu_seconds"],
        "peak_gib": max(simulate["peak_gib"], report["peak_gib"]),
    }


def _timed(folder: Path, *command: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, sys.executable, "-m", "harness", *command],
        cwd=folder, env=child_environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    if found["code"]:
        raise RuntimeError(f"harness {command[0]} ended with {found['code']}")
    return found


def write(folder: Path, seeds: int) -> None:
    """A study of `ARMS` arms and its truth."""
    grader = {"kind": "exact"}
    benchmarks = {}
    for number, size in enumerate(PROBLEMS):
        lines = [
            json.dumps({"problem": f"{number}*{k}+7=", "answer": str(number * k + 7)}) for k in range(size)
        ]
        (folder / f"b{number}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        benchmarks[f"b{number}"] = {
            "source": {"kind": "jsonl", "path": f"b{number}.jsonl"}, "grader": grader, "samples": SAMPLES,
            "max_new_tokens": CAP,
        }  # fmt: skip
    arms: dict[str, Any] = {"grpo": {"role": "control"}}
    for number in range(1, ARMS):
        rate = {"optimizer": {"learning_rate": 1e-3 * (number + 1)}}
        arms[f"method{number}"] = {"role": "treatment", "trainer": rate}
    study = {
        "id": "scale", "title": "The size of a large paper", "authors": ["Nobody"], "kind": "confirmatory",
        "models": {"small": {"source": {"kind": "builtin"}}},
        "data": {
            "training": {"source": {"kind": "builtin", "split": "train", "size": 64}, "grader": grader},
            "benchmarks": benchmarks,
        },
        "trainer": {
            "prompts_per_update": 8, "samples_per_prompt": 8, "max_new_tokens": CAP,
            "optimizer": {"learning_rate": 1e-3},
        },
        "arms": arms, "seeds": list(range(1, seeds + 1)), "budget": {"updates": UPDATES},
        "hypotheses": [{
            "id": "h1", "statement": "Method 1 learns more.", "treatment": "method1", "control": "grpo",
            "matched_on": "updates", "direction": "greater", "test": {"kind": "paired_t"},
        }],
    }  # fmt: skip
    truth = {
        "benchmarks": {name: {"start": 0.3} for name in benchmarks},
        "arms": {
            name: {
                "gain": 1.0 + 0.01 * number, "rate": 0.1, "lengths": {"start": 700, "end": 900},
                "cost": {"seconds_per_token": 1e-4, "flops_per_token": 1e9},
            }
            for number, name in enumerate(arms)
        },
        "variance": {"seeds": 0.1, "runs": 0.1},
        "start_evaluated": False,
    }  # fmt: skip
    (folder / "study.yaml").write_text(json.dumps(study, indent=1), encoding="utf-8")
    (folder / "truth.yaml").write_text(json.dumps(truth, indent=1), encoding="utf-8")


if __name__ == "__main__":
    run_alone(measure)
