"""What differs between two plans, each a study file or a lock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prereg.difference import Difference, walk
from prereg.layout import SUFFIXES
from prereg.lock import read_lock
from prereg.source import load_study

_LOCKED = ("study", "sources", "code", "environment")
"""What is compared of two locks; of a study file there is only the study."""


def plan_differences(first: Path, second: Path) -> tuple[Difference, ...]:
    """Every field that differs, defaults written out; sources, code and environment only of two locks."""
    one, other = _plan(first), _plan(second)
    parts = [part for part in _LOCKED if part in one and part in other]
    return tuple(d for part in parts for d in walk(one[part], other[part], part))


def _plan(path: Path) -> dict[str, Any]:
    if path.suffix in SUFFIXES:
        return {"study": load_study(path).study.model_dump(mode="json")}
    lock = read_lock(path)
    return {part: value for part, value in lock.model_dump(mode="json").items() if part in _LOCKED}
