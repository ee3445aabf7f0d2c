"""The JSON Schema of study files, by which an editor completes and explains fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from prereg.fielddocs import field_docs
from prereg.sources import Benchmark, Training
from prereg.study import Arm, Study
from prereg.trainer import Trainer

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def study_schema() -> dict[str, Any]:
    """The schema, with a description of every section and field that has one.

    An editor finds it by a comment in the study file: `# yaml-language-server: $schema=study.schema.json`.
    It says less than the lock checks: what fields must fit together is in `prereg.checks`.
    """
    schema = Study.model_json_schema(mode="validation")
    definitions: dict[str, Any] = schema["$defs"]
    for section in _sections(Study):
        target = schema if section is Study else definitions[section.__name__]
        target["title"] = section.__name__
        for name, text in field_docs(section).items():
            target["properties"][name]["description"] = text
    # An arm states some of the trainer's fields. None of those is required, so the trainer's own schema fits.
    arm = definitions[Arm.__name__]["properties"]["trainer"]
    definitions[Arm.__name__]["properties"]["trainer"] = {
        "$ref": f"#/$defs/{Trainer.__name__}",
        "description": arm["description"],
    }
    for section in (Training, Benchmark):
        own = definitions[section.__name__]
        own["required"].remove("grader")
        own["if"] = {"properties": {"source": {"properties": {"kind": {"const": "named"}}}}}
        own["else"] = {"required": ["grader"]}
    return {"$schema": DIALECT, **_for_editors(schema)}


def schema_text() -> str:
    """The schema as a file."""
    return json.dumps(study_schema(), indent=2, ensure_ascii=False) + "\n"


def _sections(start: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Every section that a study can hold, each once."""
    seen: set[type[BaseModel]] = set()
    waiting = [start]
    while waiting:
        section = waiting.pop()
        if section in seen:
            continue
        seen.add(section)
        yield section
        for info in section.model_fields.values():
            waiting.extend(_models_in(info.annotation))


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _for_editors(node: Any) -> Any:
    """A schema node as editors need it.

    `oneOf` becomes `anyOf`, since an arm may change a field of a section without its `kind` and so fit
    several; and where names follow a pattern, other names are refused.
    """
    if isinstance(node, dict):
        result = {("anyOf" if key == "oneOf" else key): _for_editors(value) for key, value in node.items()}
        return result | {"additionalProperties": False} if "patternProperties" in result else result
    return [_for_editors(value) for value in node] if isinstance(node, list) else node
