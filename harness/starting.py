"""Writing the files that `harness prereg init` begins a study with."""

from __future__ import annotations

from pathlib import Path

from prereg.layout import StudyLayout
from prereg.problems import Problem, Refused
from prereg.starter import Variant, starter_files


def write_starter(path: Path, variant: Variant) -> list[Path]:
    """Write a study to `path` and the files that it names beside it; returns all paths.

    Raises Refused, and writes nothing, if any of them exists or the folder cannot be written to.
    """
    StudyLayout.of(path)
    texts = starter_files(variant)
    targets = {path if name == "study.yaml" else path.parent / name: text for name, text in texts.items()}
    for target in targets:
        if target.exists():
            raise Refused(
                Problem(
                    "the file exists already; nothing was written",
                    file=str(target),
                    hint="choose another place",
                )
            )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for target, text in targets.items():
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refused(Problem(f"the study cannot be written: {error.strerror}", file=str(path))) from error
    return list(targets)
