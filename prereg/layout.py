"""Where everything about a study lies: beside its file, under names made from the file's."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from prereg.problems import Problem, Refused

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class StudyLayout:
    """The files and folders of one study: for `study.yaml`, `study.lock.json` and so on beside it."""

    study: Path
    lock: Path
    events: Path
    """The event log."""
    runs: Path
    """Runs under the lock."""
    exploratory: Path
    """Runs outside the lock."""
    simulated: Path
    """Runs that were made up from a declared truth."""
    report: Path
    receipts: Path
    """What others say of the lock."""
    predictions: Path
    """Gradient tests, made before training or after."""

    @classmethod
    def of(cls, study: str | os.PathLike[str]) -> StudyLayout:
        """The layout of a study file, whether or not any of it exists."""
        path = Path(study)
        if path.suffix not in SUFFIXES or not path.stem:
            expected = " or ".join(SUFFIXES)
            raise Refused(Problem(f"the name of a study file ends with {expected}", file=str(path)))
        return cls(
            study=path,
            lock=path.with_suffix(".lock.json"),
            events=path.with_suffix(".events.jsonl"),
            runs=path.with_suffix(".runs"),
            exploratory=path.with_suffix(".exploratory"),
            simulated=path.with_suffix(".simulated"),
            report=path.with_suffix(".report"),
            receipts=path.with_suffix(".receipts.json"),
            predictions=path.with_suffix(".gradient.json"),
        )

    def earlier_lock(self, number: int) -> Path:
        """The lock that the amendment of this number, from 1, replaced."""
        return self.study.with_suffix(f".lock.{number}.json")

    def earlier_runs(self, number: int) -> Path:
        """The runs that the amendment of this number set aside."""
        return self.study.with_suffix(f".runs.{number}")


def _may_be_study(path: Path) -> bool:
    """Whether a file's name is one of a study; `truth.yaml` and `name.truth.yaml` are of simulations."""
    return path.suffix in SUFFIXES and bool(path.stem) and path.stem.split(".")[-1] != "truth"


def find_study(folder: str | os.PathLike[str] = ".") -> Path:
    """The study file of a folder: the only one, or the only one with a lock.

    Raises Refused, naming the candidates, where that leaves none or several.
    """
    where = Path(folder)
    try:
        files = sorted(p for p in where.iterdir() if _may_be_study(p) and p.is_file())
    except OSError as error:
        raise Refused(Problem(f"the folder cannot be read: {error.strerror}", file=str(where))) from None
    locked = [path for path in files if StudyLayout.of(path).lock.exists()]
    for candidates in (locked, files):
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            names = ", ".join(path.name for path in candidates[:10])
            state = "locked studies" if candidates is locked else "study files and no lock"
            message = f"there are {len(candidates)} {state} here: {names}"
            raise Refused(Problem(message, file=str(where), hint="Name the one you mean."))
    hint = "Name one, go to its folder, or write one with `harness prereg init`."
    raise Refused(Problem("there is no study file here", file=str(where), hint=hint))
