"""Running a study scaled down: other models, smaller budgets, local data. Always exploratory, always marked.

The overrides lie beside the exploratory runs, so that every later command sees the same study; runs made
under other overrides are never mixed with them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.folders import read_json, write_json
from prereg.checks import RULES, budgets, methods, names, training
from prereg.layout import StudyLayout
from prereg.problems import Problem, Refused
from prereg.source import LoadedStudy, decode, read_bytes
from prereg.study import Study
from prereg.yamltree import read_yaml

NAME = "overrides.json"

MOST_NAMED = 6
"""Overrides that a report's mark spells out."""

_RUNNABLE = tuple(module.__name__ for module in (names, budgets, training, methods))
"""Rules that say whether runs can be made; the others are about claims, which no such run supports."""

Overrides = dict[str, Any]
"""A value for each dotted field, e.g. `budget.updates`."""


def parse_overrides(fields: Sequence[str], models: Sequence[str]) -> Overrides:
    """From `field=value` (JSON, or else a text) and `model=folder`. Raises Refused if one is malformed."""
    found: Overrides = {}
    for text in fields:
        field, equals, value = text.partition("=")
        if field == "id":
            hint = "The id says which plan exploratory runs belong to."
            raise Refused(Problem("--override id: the id of a study cannot be overridden", hint=hint))
        if not equals or not all(field.split(".")):
            raise Refused(Problem(f"--override {text!r} is not of the form field.of.the.study=value"))
        try:
            found[field] = json.loads(value)
        except ValueError:
            found[field] = value
    for text in models:
        name, equals, folder = text.partition("=")
        if not equals or not name:
            raise Refused(Problem(f"--model-override {text!r} is not of the form model=folder"))
        found[f"models.{name}.source"] = {"kind": "local", "path": str(Path(folder).absolute())}
    return found


def remember(path: Path, overrides: Overrides) -> None:
    """Keep the overrides of a study's exploratory runs.

    Raises Refused where runs under others lie there already, or the study with them is not valid.
    """
    folder = StudyLayout.of(path).exploratory
    before = read_json(folder / NAME) or {}
    if before == overrides:
        return
    if folder.is_dir() and any(folder.glob("*/run.json")):
        hint = f"move or remove {folder} first: runs under different overrides are never mixed"
        raise Refused(Problem("exploratory runs under other overrides are here", file=str(folder), hint=hint))
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / NAME, overrides)


def remembered(path: Path) -> Overrides:
    """The overrides of a study's exploratory runs; empty without any."""
    return read_json(StudyLayout.of(path).exploratory / NAME) or {}


def overridden(loaded: LoadedStudy, overrides: Mapping[str, Any]) -> LoadedStudy:
    """The study with other values in some fields. Raises Refused where it is then not valid."""
    if not overrides:
        return loaded
    file = str(loaded.path)
    data = read_yaml(decode(read_bytes(loaded.path), file), file).data
    for field, value in overrides.items():
        _set(data, field, value)
    try:
        study = Study.model_validate_json(json.dumps(data))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Refused(
            Problem(f"with the overrides the study is not valid: {place}: {first['msg']}", file=file)
        ) from None
    changed = replace(loaded, study=study)
    rules = [rule for rule in RULES if rule.__module__ in _RUNNABLE]
    if problems := [problem for rule in rules for problem in rule(changed)]:
        raise Refused(*problems)
    return changed


def in_words(overrides: Mapping[str, Any]) -> str:
    """`budget.updates=2, models.base.source={...}`, or how many they are where they are many."""
    if len(overrides) > MOST_NAMED:
        return f"{len(overrides)} fields of the study, listed in {NAME}"
    return ", ".join(f"{field}={json.dumps(value)}" for field, value in overrides.items())


def _set(data: Any, field: str, value: Any) -> None:
    parts = field.split(".")
    place = data
    for part in parts[:-1]:
        if isinstance(place, list) and part.isdigit() and int(part) < len(place):
            place = place[int(part)]
        elif isinstance(place, dict):
            place = place.setdefault(part, {})
        else:
            raise Refused(Problem(f"--override {field}: {part!r} names nothing in the study"))
    last = parts[-1]
    if isinstance(place, list) and last.isdigit() and int(last) < len(place):
        place[int(last)] = value
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise Refused(Problem(f"--override {field}: {last!r} names nothing in the study"))
