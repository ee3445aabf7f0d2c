"""Loading a method of one's own from an installed package.

The entry point names a class. Its attribute `Settings` is a `prereg.fields.Section` with the method's fields;
it is made as `Method(settings)` for credit, `Method(setting, settings)` for a reward, and
`Method(setting, settings, rewards_of)` for a selection.
"""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from traceback import extract_tb
from typing import Any

from pydantic import ValidationError

from prereg.fields import Section
from prereg.installed import Group, InstalledMethod
from prereg.problems import Problem, Refused


def find_method(group: Group, name: str) -> EntryPoint:
    """The entry point of this name. Raises Refused, naming what is installed, if there is none."""
    found = entry_points(group=f"harness.{group}")
    for entry in found:
        if entry.name == name:
            return entry
    known = ", ".join(sorted(entry.name for entry in found)) or "none"
    raise Refused(
        Problem(
            f"no installed package offers a {group} method `{name}`",
            hint=f"Installed: {known}. A package offers one as an entry point of `harness.{group}`.",
        )
    )


def load_method(group: Group, spec: InstalledMethod) -> tuple[Any, Section]:
    """The method's class and its checked settings. Raises Refused where either cannot be had."""
    entry = find_method(group, spec.name)
    try:
        method = entry.load()
    except Exception as error:
        raise Refused(
            Problem(
                f"the {group} method `{spec.name}` ({entry.value}) cannot be loaded: "
                f"{type(error).__name__}: {error}{_place(error)}",
                hint="A file is loaded as a whole, whichever of its methods a study names.",
            )
        ) from error
    settings = getattr(method, "Settings", None)
    if not (isinstance(settings, type) and issubclass(settings, Section)):
        hint = "Declare its fields as a class `Settings(Section)` inside it, with `prereg.fields.Section`."
        raise Refused(Problem(f"the {group} method `{spec.name}` has no `Settings`", hint=hint))
    try:
        return method, settings.model_validate_json(json.dumps(spec.settings))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        known = ", ".join(f"`{name}`" for name in settings.model_fields)
        message = f"the settings of `{spec.name}` do not fit: {where}: {first['msg']}"
        raise Refused(Problem(message, hint=f"Its fields: {known or 'none'}.")) from error


def _place(error: Exception) -> str:
    """Where in the package's own code an import failed; empty where it failed before any was read."""
    if isinstance(error, SyntaxError):
        return ""  # its text says so
    ours = [f for f in extract_tb(error.__traceback__) if "importlib" not in f.filename][1:]
    return f" (line {ours[-1].lineno} of {Path(ours[-1].filename).name}: {ours[-1].line})" if ours else ""
