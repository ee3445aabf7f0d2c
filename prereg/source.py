"""A study file, read with the place of everything in it, and refused in words where it is wrong."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from pydantic import ValidationError

from prereg.explain import Explained, explain
from prereg.problems import Problem, Refused
from prereg.sources import FileTask, LocalModel, NamedTask, TaskSource
from prereg.study import Study, merged_trainer
from prereg.trainer import Trainer
from prereg.yamlscalars import describe
from prereg.yamltree import Place, Where, YamlData, read_yaml

MAX_BYTES = 2**20
"""Size limit of a study file."""


@dataclass(frozen=True, slots=True)
class Positions:
    """Where the keys and the values of a study file stand."""

    keys: Mapping[Where, Place]
    values: Mapping[Where, Place]

    def of(self, path: Where, at_key: bool = False) -> Place | None:
        """The place of the value at `path` (or of its key); of its nearest ancestor if it is not in the file.

        A section's place is that of its key, since its value starts on the next line.
        """
        for length in range(len(path), -1, -1):
            part = path[:length]
            above = length < len(path)
            if (at_key or above) and part in self.keys:
                return self.keys[part]
            if part in self.values:
                return self.values[part]
        return None


@dataclass(frozen=True, slots=True)
class LoadedStudy:
    """A valid study and the file that it came from."""

    study: Study
    path: Path
    digest: str
    """SHA-256 of the file's bytes."""
    positions: Positions

    @property
    def folder(self) -> Path:
        """The study's folder: every path in the study is relative to it."""
        return self.path.parent

    def problem(
        self, message: str, *path: str | int, hint: str | None = None, at_key: bool = False
    ) -> Problem:
        """A problem at a place of this study."""
        return placed(self.positions, str(self.path), path, message, hint, at_key)


def load_study(path: str | os.PathLike[str]) -> LoadedStudy:
    """Read and validate a study file.

    Raises Refused with every problem found, each with file, line and column.
    """
    file = Path(path)
    return parse_study(read_bytes(file), file)


def parse_study(content: bytes, path: Path) -> LoadedStudy:
    """`load_study` of a file's bytes; `path` names it, and its folder bounds the study's paths."""
    file = str(path)
    data = read_yaml(decode(content, file), file)
    positions = Positions(data.keys, data.values)
    problems = list(data.problems)
    study: Study | None = None
    if isinstance(data.data, dict):
        try:
            study = Study.model_validate_json(json.dumps(data.data))
        except ValidationError as error:
            problems += _study_problems(error, data, positions, file)
        problems += _arm_problems(data, positions, file)
    elif not problems:
        hint = "`harness prereg init` writes a commented one."
        problems.append(
            placed(positions, file, (), f"found {describe(data.data)}, expected a study's sections", hint)
        )
    if study is None or problems:
        raise Refused(*in_order(problems))
    loaded = LoadedStudy(study, path, hashlib.sha256(content).hexdigest(), positions)
    if outside := tuple(_outside_paths(loaded)):
        raise Refused(*outside)
    return loaded


def read_bytes(file: Path, hint: str = "`harness prereg init` writes a commented one.") -> bytes:
    """The bytes of a regular file within the size limit; `hint` helps where there is none."""
    name = str(file)
    try:
        with open(file, "rb", opener=_open_without_waiting) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise Refused(Problem("it is not a regular file", file=name))
            content = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise Refused(Problem("there is no such file", file=name, hint=hint)) from None
    except IsADirectoryError:
        raise Refused(Problem("it is a folder, expected a YAML file", file=name)) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Refused(Problem(f"the file cannot be read: {reason}", file=name)) from None
    if len(content) > MAX_BYTES:
        hint = "Problems and answers belong in a data file of their own."
        raise Refused(Problem(f"a study file has at most {MAX_BYTES // 1024} KiB", file=name, hint=hint))
    return content


def _open_without_waiting(path: str, flags: int) -> int:
    """A named pipe would otherwise be waited for."""
    return os.open(path, flags | os.O_NONBLOCK)


def decode(content: bytes, file: str) -> str:
    """UTF-8 text; a byte-order mark of UTF-8 is read and dropped, as editors do."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        hint = "Save it again as UTF-8."
        raise Refused(Problem("the file is UTF-16, expected UTF-8", file=file, line=1, column=1, hint=hint))
    if (zero := content.find(b"\0")) >= 0:
        line, column = _place_of(content, zero)
        hint = "Save it as UTF-8 text."
        raise Refused(
            Problem("the file is binary, expected text", file=file, line=line, column=column, hint=hint)
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _place_of(content, error.start)
        message = f"the byte 0x{content[error.start]:02X} is not UTF-8"
        hint = "Save the file again as UTF-8."
        raise Refused(Problem(message, file=file, line=line, column=column, hint=hint)) from None


def _place_of(content: bytes, at: int) -> tuple[int, int]:
    """Line and column, from 1, of a byte."""
    before = content[:at]
    return before.count(b"\n") + 1, len(before) - before.rfind(b"\n")


def placed(
    positions: Positions, file: str, path: Where, message: str, hint: str | None, at_key: bool = False
) -> Problem:
    place = positions.of(path, at_key)
    line, column = (place.line, place.column) if place else (None, None)
    return Problem(message, path, file, line, column, hint)


def _study_problems(
    error: ValidationError, data: YamlData, positions: Positions, file: str
) -> Iterator[Problem]:
    """The errors of the study model, without those at a value that was already refused as YAML."""
    for found in explain(error, Study):
        if not already_refused(found, data, found.path):
            yield placed(
                positions, file, found.path, found.message, found.hint, found.at_key or found.missing
            )


def already_refused(found: Explained, data: YamlData, path: Where) -> bool:
    return any(path[:length] in data.bad for length in range(len(path) + 1))


def _arm_problems(data: YamlData, positions: Positions, file: str) -> Iterator[Problem]:
    """What does not fit when an arm's differences are laid over the shared trainer, at the arm's lines."""
    arms = data.data.get("arms")
    try:
        shared = Trainer.model_validate_json(json.dumps(data.data.get("trainer", {})))
    except ValidationError:
        return
    for name, arm in arms.items() if isinstance(arms, dict) else ():
        difference = arm.get("trainer") if isinstance(arm, dict) else None
        if not isinstance(difference, dict):
            continue
        try:
            merged_trainer(shared, difference)
        except ValidationError as error:
            for found in explain(error, Trainer):
                path = ("arms", name, "trainer", *found.path)
                if not already_refused(found, data, path):
                    yield placed(
                        positions, file, path, found.message, _arm_hint(found), found.at_key or found.missing
                    )


def _arm_hint(found: Explained) -> str | None:
    """An arm's section without `kind` is laid over the shared one, so its fields are those of that kind."""
    if "in a section of kind" not in found.message:
        return found.hint
    return "Write the section's `kind` here too if this arm uses another one than the shared trainer."


def _outside_paths(loaded: LoadedStudy) -> Iterator[Problem]:
    """Paths of the study that leave its folder: absolute, through `..`, or through a symbolic link."""
    study = loaded.study
    for name, model in study.models.items():
        if isinstance(model.source, LocalModel):
            yield from _outside(loaded, model.source.path, "models", name, "source", "path")
    parts: dict[tuple[str, ...], TaskSource] = {("training",): study.data.training.source}
    parts |= {("benchmarks", name): benchmark.source for name, benchmark in study.data.benchmarks.items()}
    for place, source in parts.items():
        if isinstance(source, FileTask | NamedTask) and source.path is not None:
            yield from _outside(loaded, source.path, "data", *place, "source", "path")
    if study.receipts.timestamp is not None:
        yield from _outside(loaded, study.receipts.timestamp.roots, "receipts", "timestamp", "roots")


def _outside(loaded: LoadedStudy, written: str, *where: str) -> Iterator[Problem]:
    hint = "Copy it into the study's folder, so that the lock can hold it and others can run the study."
    if PurePosixPath(written).is_absolute() or PureWindowsPath(written).drive or written.startswith("~"):
        yield loaded.problem(f"the path {written!r} is not relative to the study's folder", *where, hint=hint)
    elif ".." in PurePosixPath(written).parts:
        yield loaded.problem(f"the path {written!r} leaves the study's folder", *where, hint=hint)
    else:
        folder = Path(os.path.realpath(loaded.folder))
        target = Path(os.path.realpath(loaded.folder / written))
        if not target.is_relative_to(folder):
            yield loaded.problem(
                f"the path {written!r} leads out of the study's folder by a link", *where, hint=hint
            )


def in_order(problems: list[Problem]) -> list[Problem]:
    """By place in the file, each once."""
    return sorted(dict.fromkeys(problems), key=lambda p: (p.line or 0, p.column or 0))
