"""Writing the files that `harness prereg init` begins a study with."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from prereg.layout import StudyLayout
from prereg.problems import Problem, Refused
from prereg.schema import schema_text
from prereg.starter import Variant, starter_files


def write_starter(path: Path, variant: Variant) -> list[Path]:
    """Write a study to `path` and the files that it names beside it; returns all paths.

    `files` is a commented study on problems in JSONL files; `builtin` is the study that comes with the
    harness. Raises Refused, and writes nothing, if any of them exists or the folder cannot be written to.
    """
    StudyLayout.of(path)
    texts = _texts(variant)
    targets = {path if name == "study.yaml" else path.parent / name: text for name, text in texts.items()}
    for target in targets:
        if target.exists():
            message = "the file exists already; nothing was written"
            raise Refused(Problem(message, file=str(target), hint="choose another place"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for target, text in targets.items():
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"the study cannot be written: {error.strerror}"
        raise Refused(Problem(message, file=str(path))) from error
    return list(targets)


def _texts(variant: Variant) -> dict[str, str]:
    if variant == "files":
        return starter_files("files")
    study = files("harness").joinpath("builtin", "arithmetic.yaml").read_text(encoding="utf-8")
    return {"study.yaml": study, "study.schema.json": schema_text()}
