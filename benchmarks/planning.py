"""What a plan costs before any run: power, lock and verify, by the number of hypotheses and of problems.

Each is a child process from start to end. The largest is the study of the target: 2 arms x 5 seeds x 6
benchmarks of 1,500 problems x 32 samples, 2,000 simulated studies.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measuring import Document, Timing, held, run_alone
from benchmarks.start_up import once

HYPOTHESES = (1, 4, 16)
PROBLEMS = (250, 1_500)
"""Problems of each of six benchmarks."""
BENCHMARKS, SAMPLES, SEEDS, SIMULATIONS = 6, 32, 5, 2_000


def measure() -> Document:
    """The document of this benchmark."""
    by_hypotheses = [_measure(count, PROBLEMS[0], sampled=False) for count in HYPOTHESES]
    by_problems = [_measure(1, problems, sampled=True) for problems in PROBLEMS]
    many, full = by_hypotheses[-1], by_problems[-1]
    return {
        "what": f"child processes from start to end; {SIMULATIONS:,} simulated studies on {SEEDS} seeds",
        "by_hypotheses": by_hypotheses,
        "by_problems": by_problems,
        "held": [
            held("power of 2 x 5 x 6 x 1,500 x 32, 2,000 simulations, s", full["power"], at_most=60),
            held("power of 16 hypotheses without sampled answers, s", many["power"], at_most=60),
            held("lock of 6 x 1,500 problems, answers sampled, s", full["lock"], at_most=10),
        ],
    }


def _measure(hypotheses: int, problems: int, *, sampled: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, hypotheses, problems, sampled)
        power = ("power", "--simulations", str(SIMULATIONS), "--seeds", str(SEEDS))
        found = {
            command[0]: once(Timing(), ["-m", "harness", "prereg", *command], folder)
            for command in (power, ("lock",), ("verify",))
        }
    return {"hypotheses": hypotheses, "problems": BENCHMARKS * problems, "answers_sampled": sampled, **found}


def _write(folder: Path, hypotheses: int, problems: int, sampled: bool) -> None:
    grader = {"kind": "exact"}
    benchmarks = {}
    for number in range(BENCHMARKS):
        lines = [
            json.dumps({"problem": f"{number}*{k}+7=", "answer": str(number * k + 7)})
            for k in range(problems)
        ]
        (folder / f"b{number}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        benchmarks[f"b{number}"] = {
            "source": {"kind": "jsonl", "path": f"b{number}.jsonl"}, "grader": grader, "samples": SAMPLES,
            "max_new_tokens": 48,
        }  # fmt: skip
    power = {"effect": 3.0, "sd": 1.0} | ({"base_accuracy": 0.5, "problem_sd": 5.0} if sampled else {})
    study = {
        "id": "planning", "title": "A plan", "authors": ["Nobody"], "kind": "confirmatory",
        "models": {"small": {"source": {"kind": "builtin"}}},
        "data": {
            "training": {"source": {"kind": "builtin", "split": "train", "size": 64}, "grader": grader},
            "benchmarks": benchmarks,
        },
        "trainer": {"prompts_per_update": 4, "samples_per_prompt": 4, "max_new_tokens": 48},
        "arms": {
            "grpo": {"role": "control"},
            "mcpo": {"role": "treatment", "trainer": {"credit": {"kind": "margin"}}},
        },
        "seeds": list(range(1, SEEDS + 1)), "budget": {"updates": 8},
        "hypotheses": [
            {
                "id": f"h{k}", "statement": "MCPO learns more.", "treatment": "mcpo", "control": "grpo",
                "matched_on": "updates", "direction": "greater", "test": {"kind": "paired_t"},
                "family": "all", "power": power, "acknowledge_underpowered": True,
            }
            for k in range(hypotheses)
        ],
        "families": {"all": {"method": "holm"}},
    }  # fmt: skip
    (folder / "study.yaml").write_text(json.dumps(study, indent=1), encoding="utf-8")


if __name__ == "__main__":
    run_alone(measure)
