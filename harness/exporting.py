"""`prereg export`: the locked plan, or a draft of one, in the forms of others."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from typing import Literal

from harness.chain import read_chain
from harness.now import utc_now
from harness.orchestrate import make_folder
from harness.versions import DISTRIBUTION
from prereg.digests import digest_file
from prereg.exports import aspredicted, osf, rocrate
from prereg.exports.answers import as_json, as_markdown
from prereg.layout import StudyLayout
from prereg.lock import Lock
from prereg.problems import Problem, Refused
from prereg.source import load_study
from prereg.sources import FileTask
from prereg.study import Study
from prereg.whole import write_whole

Format = Literal["osf", "aspredicted", "ro-crate"]

_KINDS = {
    ".json": "application/json", ".jsonl": "application/jsonl", ".yaml": "application/yaml",
    ".yml": "application/yaml", ".html": "text/html", ".pdf": "application/pdf", ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet", ".log": "text/plain", ".pem": "application/x-pem-file",
}  # fmt: skip


def export_study(path: Path, format: Format, out: Path | None) -> tuple[Path, ...]:
    """Write the export and return what was written.

    Of a locked study it is the locked plan that is exported, not what the file says now. Raises Refused or
    LockMismatch if study or lock cannot be read, or if a place cannot be written to.
    """
    layout = StudyLayout.of(path)
    lock = read_chain(layout)[-1] if layout.lock.exists() else None
    study = load_study(path).study if lock is None else lock.study
    if format == "ro-crate":
        if out is not None:
            hint = "Leave `--out` away: an RO-Crate describes the folder that it lies in."
            raise Refused(Problem("an RO-Crate is written into the study's folder", hint=hint))
        return (_write(path.parent / rocrate.NAME, _crate(layout, study, lock)),)
    form = osf if format == "osf" else aspredicted
    folder = out or path.parent
    make_folder(folder)
    answers = form.answers(study, lock)
    title = f"{form.FORM}: {study.title}"
    return (
        _write(folder / f"{path.stem}.{format}.md", as_markdown(title, answers)),
        _write(folder / f"{path.stem}.{format}.json", as_json(form.FORM, answers)),
    )


def _crate(layout: StudyLayout, study: Study, lock: Lock | None) -> str:
    try:
        version = installed(DISTRIBUTION)
    except PackageNotFoundError:
        version = "(not installed)"
    files = tuple(_files(layout, study))
    return rocrate.crate(study, lock, files, version, utc_now().strftime("%Y-%m-%d"))


def _files(layout: StudyLayout, study: Study) -> Iterator[rocrate.CrateFile]:
    folder = layout.study.parent
    for path, what in _named(layout, study):
        if path.is_file():
            yield rocrate.CrateFile(
                path.relative_to(folder).as_posix(),
                what,
                _KINDS.get(path.suffix, "application/octet-stream"),
                path.stat().st_size,
                digest_file(path),
            )


def _named(layout: StudyLayout, study: Study) -> Iterator[tuple[Path, str]]:
    """Every file of a study and what it is, in an order that does not depend on the disk."""
    folder = layout.study.parent
    yield layout.study, "The study file"
    yield layout.lock, "The lock"
    number = 1
    while layout.earlier_lock(number).exists():
        yield layout.earlier_lock(number), f"The lock that amendment {number} replaced"
        number += 1
    yield layout.receipts, "Receipts of the lock"
    yield layout.events, "The event log"
    sources = [study.data.training.source, *(b.source for b in study.data.benchmarks.values())]
    for name in sorted({source.path for source in sources if isinstance(source, FileTask)}):
        yield folder / name, "Problems"
    for place, what in (
        (layout.report, "The report"),
        (layout.runs, "A run's records"),
        *((layout.earlier_runs(n), f"Records of a run set aside by amendment {n}") for n in range(1, number)),
    ):
        for path in sorted(p for p in place.rglob("*") if p.is_file() and not p.is_symlink()):
            if not any(part.startswith(".") for part in path.relative_to(place).parts):
                yield path, what


def _write(path: Path, text: str) -> Path:
    try:
        write_whole(path, text.encode("utf-8"))
    except OSError as error:
        raise Refused(Problem(f"it cannot be written: {error.strerror or error}", file=str(path))) from None
    return path
