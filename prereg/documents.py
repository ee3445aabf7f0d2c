"""YAML files other than studies, read as strictly: each value with its place, each fault in words."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from prereg.explain import explain
from prereg.fields import Section
from prereg.problems import Problem, Refused
from prereg.source import Positions, already_refused, decode, in_order, placed, read_bytes
from prereg.yamlscalars import describe
from prereg.yamltree import read_yaml

Content = TypeVar("Content", bound=Section)


@dataclass(frozen=True, slots=True)
class Document(Generic[Content]):
    """A valid file and where everything in it stands."""

    content: Content
    path: Path
    positions: Positions

    def problem(
        self, message: str, *path: str | int, hint: str | None = None, at_key: bool = False
    ) -> Problem:
        """A problem at a place of this file."""
        return placed(self.positions, str(self.path), path, message, hint, at_key)


def read_document(path: Path, model: type[Content], hint: str) -> Document[Content]:
    """Read a file as a section of the given model.

    `hint` says how one comes by such a file. Raises Refused with every problem, each with line and column.
    """
    file = str(path)
    data = read_yaml(decode(read_bytes(path, hint), file), file)
    positions = Positions(data.keys, data.values)
    problems = list(data.problems)
    content: Any = None
    if isinstance(data.data, dict):
        try:
            content = model.model_validate_json(json.dumps(data.data))
        except ValidationError as error:
            problems += [
                placed(positions, file, one.path, one.message, one.hint, one.at_key or one.missing)
                for one in explain(error, model)
                if not already_refused(one, data, one.path)
            ]
    elif not problems:
        problems.append(placed(positions, file, (), f"found {describe(data.data)}, expected sections", hint))
    if content is None or problems:
        raise Refused(*in_order(problems))
    return Document(content, path, positions)
