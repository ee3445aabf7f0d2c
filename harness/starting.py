"""`prereg init`: the files of a new study, written where none stands."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Literal

from prereg.problems import Problem, Refused
from prereg.schema import schema_text
from prereg.starter import starter_files

Example = Literal["own", "builtin"]
"""`own`: a study on problems in JSONL files. `builtin`: the study that comes with the harness."""


def write_starter(path: Path, example: Example) -> list[Path]:
    """Write a study at `path` and what goes with it into the same folder; returns what was written.

    Raises Refused, and writes nothing, if one of the files exists or the folder cannot be written to.
    """
    contents = _contents(example)
    targets = {path if name == "study.yaml" else path.parent / name: text for name, text in contents.items()}
    present = [target for target in targets if target.exists()]
    if present:
        hint = "Nothing is overwritten: move it away, or name another folder."
        raise Refused(*(Problem("the file exists already", file=str(p), hint=hint) for p in present))
    for target, text in targets.items():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        except OSError as error:
            message = f"the file cannot be written: {error.strerror or error}"
            raise Refused(Problem(message, file=str(target))) from None
    return list(targets)


def _contents(example: Example) -> dict[str, str]:
    if example == "own":
        return starter_files("files")
    study = files("harness").joinpath("builtin", "arithmetic.yaml").read_text(encoding="utf-8")
    return {"study.yaml": study, "study.schema.json": schema_text()}
