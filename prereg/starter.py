"""What `harness prereg init` writes: a commented study that can be locked and run as it stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Literal

from prereg.schema import schema_text

Variant = Literal["files", "builtin", "dense-rewards"]
"""`files`: problems in two JSON lines files of one's own. `builtin`, `dense-rewards`: the generated task."""

_ON_THE_GENERATED_TASK = {"builtin": "study-builtin.yaml", "dense-rewards": "study-dense-rewards.yaml"}

TRAIN_ROWS = 120
TEST_ROWS = 24


def starter_files(variant: Variant = "files") -> dict[str, str]:
    """The files to write, by name: the study, its schema for editors and, for `files`, example problems."""
    if variant in _ON_THE_GENERATED_TASK:
        return {"study.yaml": _template(_ON_THE_GENERATED_TASK[variant]), "study.schema.json": schema_text()}
    rows = list(_chains())
    return {
        "study.yaml": _template("study.yaml"),
        "study.schema.json": schema_text(),
        "train.jsonl": _json_lines(rows[TEST_ROWS : TEST_ROWS + TRAIN_ROWS]),
        "test.jsonl": _json_lines(rows[:TEST_ROWS]),
    }


def _template(name: str) -> str:
    return files("prereg").joinpath("templates", name).read_text(encoding="utf-8")


def _chains() -> Iterator[dict[str, str]]:
    """Sums such as `7+5-3=` with their answers, each once, in an order that looks mixed.

    The numbers run through all triples of 1 to 9 in steps that share no factor with 729.
    """
    for position in range(9**3):
        code = position * 431 % 9**3
        a, b, c = code // 81 + 1, code // 9 % 9 + 1, code % 9 + 1
        if a + b >= c:
            yield {"problem": f"{a}+{b}-{c}=", "answer": str(a + b - c)}


def _json_lines(rows: list[dict[str, str]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
