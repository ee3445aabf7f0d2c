"""Small studies on the built-in task: seconds, not minutes, and everything in them is real."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from prereg.source import LoadedStudy, load_study


def benchmark(split: str, size: int = 5, samples: int = 4) -> dict[str, Any]:
    return {
        "source": {"kind": "builtin", "split": split, "size": size},
        "grader": {"kind": "exact"},
        "samples": samples,
        "max_new_tokens": 48,
    }


def hypothesis(**changes: Any) -> dict[str, Any]:
    return {
        "id": "h1", "statement": "MCPO beats GRPO at equal tokens.", "treatment": "mcpo", "control": "grpo",
        "matched_on": "generated_tokens", "direction": "greater", "test": {"kind": "paired_t"},
    } | changes  # fmt: skip


def tiny(**changes: Any) -> dict[str, Any]:
    """Two arms, two seeds, eight updates, a counted clock. Keys of `changes` replace whole sections."""
    return {
        "id": "tiny", "title": "A tiny study", "authors": ["Nobody"], "kind": "confirmatory",
        "models": {"small": {"source": {"kind": "builtin"}}},
        "data": {
            "training": {
                "source": {"kind": "builtin", "split": "train", "size": 64}, "grader": {"kind": "exact"}
            },
            "benchmarks": {"easy": benchmark("easy"), "hard": benchmark("hard")},
        },
        "trainer": {
            "prompts_per_update": 4, "samples_per_prompt": 4, "max_new_tokens": 48,
            "optimizer": {"learning_rate": 1e-3},
        },
        "arms": {
            "grpo": {"role": "control"},
            "mcpo": {"role": "treatment", "trainer": {"credit": {"kind": "margin"}}},
        },
        "seeds": [1, 2],
        "budget": {"updates": 8, "generated_tokens": 2600, "device_seconds": 0.1, "clock": "counted"},
        "evaluation": {"grid": {"axis": "updates", "every": 4}, "pass_k": [1, 2, 4]},
        "hypotheses": [hypothesis()],
        "environment": {"commit_seconds": 0.05, "acknowledge_dirty_code": True},
    } | changes  # fmt: skip


def write_study(folder: Path, name: str = "study.yaml", **changes: Any) -> Path:
    """Write a study (JSON is YAML) and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(tiny(**changes), indent=1), encoding="utf-8")
    return path


def loaded(folder: Path, **changes: Any) -> LoadedStudy:
    return load_study(write_study(folder, **changes))
