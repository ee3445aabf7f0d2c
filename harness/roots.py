"""Where the runs of a study go: under its lock, or apart from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.cells import Cell
from harness.folders import RunFolder
from harness.locking import locked_study
from harness.overrides import overridden, remembered
from prereg.checks import check
from prereg.layout import StudyLayout
from prereg.source import LoadedStudy, load_study

RUNNING = ".lock"
"""Name of the file in the folder of runs that is held while the study runs."""


@dataclass(frozen=True, slots=True)
class StudyRoot:
    """Where the runs of a study go, under its lock or apart from it."""

    loaded: LoadedStudy
    runs: Path
    events: Path
    lock: str | None
    """SHA-256 of the lock; None for exploratory and simulated runs."""
    accepted: tuple[str, ...] = ()
    """SHA-256 of every lock whose runs are runs of this plan: this one, and those before an amendment that
    left them as they were."""
    simulated: bool = False
    """Whether the runs were made up from a declared truth."""

    @property
    def exploratory(self) -> bool:
        """Whether the runs stand outside a lock."""
        return self.lock is None

    def folder(self, cell: Cell) -> RunFolder:
        """A cell's folder."""
        return RunFolder(self.runs / cell.run_id)

    @classmethod
    def locked(cls, loaded: LoadedStudy, lock: str, accepted: tuple[str, ...] = ()) -> StudyRoot:
        """The root of runs under the lock with this SHA-256."""
        layout = StudyLayout.of(loaded.path)
        return cls(loaded, layout.runs, layout.events, lock, accepted or (lock,))

    @classmethod
    def of_runs(cls, loaded: LoadedStudy) -> StudyRoot:
        """The root of a study's runs for the one who only looks at how far they are: no lock is read."""
        return cls.locked(loaded, "")

    @classmethod
    def apart(cls, loaded: LoadedStudy) -> StudyRoot:
        """The root of exploratory runs, of the study with the overrides that they were started with."""
        layout = StudyLayout.of(loaded.path)
        changed = overridden(loaded, remembered(loaded.path))
        return cls(changed, layout.exploratory, layout.exploratory / "events.jsonl", None)

    @classmethod
    def made_up(cls, loaded: LoadedStudy, folder: Path | None = None) -> StudyRoot:
        """The root of simulated runs: a folder of their own beside the study, or the one given."""
        place = folder or StudyLayout.of(loaded.path).simulated
        return cls(loaded, place, place / "events.jsonl", None, simulated=True)


def open_root(path: Path, *, exploratory: bool) -> StudyRoot:
    """The root of a study's runs. Raises LockMismatch if it differs from its lock, unless exploratory."""
    if exploratory:
        loaded = load_study(path)
        if not remembered(path):
            check(loaded)
        return StudyRoot.apart(loaded)
    locked = locked_study(path)
    return StudyRoot.locked(locked.loaded, locked.lock.sha256, locked.accepted)
