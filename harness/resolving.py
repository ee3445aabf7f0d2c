"""Resolving every source of a study to a digest, and measuring how much training and benchmarks overlap."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import PurePosixPath

from harness.grading.build import make_grader
from harness.methods import resolve_methods
from harness.modelcheck import model_problems
from harness.models import model_folder, wanted_files
from harness.tasks.problems import Task, TaskItem
from harness.tasks.resolve import identity_of_source, load_task
from prereg.contamination import above_limit, measured
from prereg.digests import digest_file, digest_folder
from prereg.lock import Overlap, SourceDigest
from prereg.problems import Problem, Refused, Unreachable
from prereg.source import LoadedStudy
from prereg.sources import (
    Benchmark,
    BuiltinModel,
    BuiltinTask,
    FileTask,
    HubModel,
    Model,
    TaskSource,
    Training,
)


@dataclass(frozen=True, slots=True)
class Resolved:
    """Every source of a study, as it is now."""

    sources: dict[str, SourceDigest]
    """By the dotted field that names it."""
    problems: tuple[Problem, ...]
    """Why the study cannot be locked: unusable gold answers, contaminated benchmarks."""
    notes: tuple[str, ...]
    """What was found and allowed, a sentence each."""

    @property
    def owed(self) -> tuple[str, ...]:
        """The sources of which only the identity could be had."""
        return tuple(name for name, source in self.sources.items() if source.owed)


_CONTRADICTION = (
    "One of the two is wrong. Mend the data, or say `contradictions: drop` (all of them) or `keep`."
)
_GOLD = "Mend the answer in the data, leave the problem out, or choose the grader that reads such answers."


@contextmanager
def placed_in(loaded: LoadedStudy, *path: str) -> Iterator[None]:
    """Name, beside what is wrong with a source, the line of the study that names the source."""
    try:
        yield
    except Refused as error:
        named = loaded.problem("this source cannot be used as it is; see below", *path, at_key=True)
        raise type(error)(named, *error.problems) from None


def resolve_sources(loaded: LoadedStudy) -> Resolved:
    """Read every model folder and task of the study. Raises Refused where one cannot be had or used.

    A source of the Hub that cannot be fetched from here is owed: its digest is that of its identity alone.
    """
    study = loaded.study
    sources = {f"models.{name}": _model_digest(loaded, name, model) for name, model in study.models.items()}
    parts: dict[tuple[str, ...], Training | Benchmark] = {("data", "training"): study.data.training}
    parts |= {("data", "benchmarks", name): b for name, b in study.data.benchmarks.items()}
    problems: list[Problem] = []
    texts: dict[tuple[str, ...], list[str]] = {}
    prompts: list[tuple[str, int]] = []
    most = max(study.trainer_of(arm).max_new_tokens for arm in study.arms)
    notes: list[str] = []
    for path, part in parts.items():
        name = ".".join(path)
        try:
            with placed_in(loaded, *path, "source"):
                task = load_task(part.source, loaded.folder)
        except Unreachable:
            if isinstance(part.source, BuiltinTask | FileTask):
                raise
            sources[name] = _owed(identity_of_source(part.source))
            sources[f"{name}.grader"], _ = _grader_digest(part, ())
            notes.append(f"{name}: {_OWED_NOTE}")
            continue
        sources[name] = _task_digest(part.source, task)
        sources[f"{name}.grader"], unreadable = _grader_digest(part, task.items)
        problems.extend(
            loaded.problem(fault, *path, "source", hint=_CONTRADICTION, at_key=True) for fault in task.faults
        )
        problems.extend(
            loaded.problem(
                f"the gold answer of {task.items[i].id!r} cannot be used: {why}",
                *path,
                hint=_GOLD,
                at_key=True,
            )
            for i, why in list(unreadable.items())[:10]
        )
        texts[path] = [item.problem for item in task.items]
        cap = part.max_new_tokens if isinstance(part, Benchmark) else most
        prompts.extend((problem, cap) for problem in texts[path])
        notes.extend(f"{name}: {remark}" for remark in task.remarks)
    if (wanted := study.receipts.timestamp) is not None:
        sources["receipts.timestamp.roots"] = _roots_digest(loaded, wanted.roots)
    found, unusable = resolve_methods(loaded)
    sources |= found
    problems.extend(unusable)
    trained = texts.pop(("data", "training"), None)
    benchmarks = {path[-1]: problems_of for path, problems_of in texts.items()}
    for name, texts_of in benchmarks.items():
        if trained is None:
            break
        overlap = measured(trained, texts_of)
        field = f"data.benchmarks.{name}"
        sources[field] = sources[field].model_copy(update={"overlap": overlap})
        notes.append(f"{field}: {_said(overlap)}")
        problems.extend(above_limit(loaded, name, overlap))
    for name, model in study.models.items():
        if sources[f"models.{name}"].owed:
            notes.append(f"models.{name}: {_OWED_NOTE}")
            continue
        problems.extend(_model_problems(loaded, name, model, prompts))
    return Resolved(sources, tuple(problems), tuple(notes))


def _model_problems(
    loaded: LoadedStudy, name: str, model: Model, prompts: Sequence[tuple[str, int]]
) -> list[Problem]:
    """Why a model cannot serve the study. Loading is tried where its files can be read at all."""
    folder = model_folder(model, loaded.folder)
    if found := list(model_problems(loaded, name, folder, prompts)):
        return found
    if isinstance(model.source, BuiltinModel):
        return []  # it is part of the project, whose tests load it
    from harness.modelload import loading_problems  # it takes seconds to import

    return list(loading_problems(loaded, name, folder, prompts))


def _roots_digest(loaded: LoadedStudy, path: str) -> SourceDigest:
    """The certificates that are trusted for time-stamps, as a source."""
    place = ("receipts", "timestamp", "roots")
    with placed_in(loaded, *place):
        digest = digest_file(loaded.folder / path)
    return SourceDigest(what=f"the trusted certificates in {path}", sha256=digest)


_OWED_NOTE = (
    "its content cannot be had from here, so the lock holds its identity and owes its digest; the first run "
    "that can read it records the digest, checks it as the lock would have, and later ones compare"
)


def _owed(identity: str) -> SourceDigest:
    """A source of which only the identity is known."""
    return SourceDigest(what=identity, sha256=hashlib.sha256(identity.encode()).hexdigest(), owed=True)


def _grader_digest(
    part: Training | Benchmark, items: Sequence[TaskItem]
) -> tuple[SourceDigest, dict[int, str]]:
    """The grader's version as a source, and the gold answers that it cannot use."""
    with make_grader(part.grader) as grader:
        digest = hashlib.sha256(grader.version.encode()).hexdigest()
        unreadable = grader.unreadable([item.answer for item in items])
        return SourceDigest(what=f"the grader {grader.version}", sha256=digest), unreadable


def _said(overlap: Overlap) -> str:
    """What was measured of a benchmark, and what of it the declared limit lets through."""
    if not overlap.matched:
        return f"none of its {overlap.problems} problems stands among the training prompts"
    listed = "; ".join(overlap.listed[:5]) + ("; ..." if overlap.matched > 5 else "")
    return (
        f"{overlap.matched} of its {overlap.problems} problems stand among the training prompts, as allowed "
        f"({overlap.exact} exact, {overlap.normalised} normalised, {overlap.ngram} by a run of words): "
        f"{listed}"
    )


def _model_digest(loaded: LoadedStudy, name: str, model: Model) -> SourceDigest:
    source = model.source
    patterns = wanted_files(model)

    def is_wanted(path: PurePosixPath) -> bool:
        return any(fnmatch(path.name, pattern) for pattern in patterns)

    with placed_in(loaded, "models", name, "source"):
        try:
            folder = model_folder(model, loaded.folder)
        except Unreachable:
            if not isinstance(source, HubModel):
                raise
            return _owed(f"{source.id}@{source.revision}")
        found = digest_folder(folder, is_wanted, links_may_leave=isinstance(source, HubModel))
    if isinstance(source, BuiltinModel):
        what = f"the built-in model {source.name}"
    elif isinstance(source, HubModel):
        what = f"{source.id} at {source.revision}"
    else:
        what = f"the model folder {source.path}"
    return SourceDigest(what=what, sha256=found.sha256, files=found.files)


def _task_digest(source: TaskSource, task: Task) -> SourceDigest:
    items = len(task.items)
    if isinstance(source, BuiltinTask):
        what = (
            f"{items} problems of the built-in task {source.name}, split {source.split}, seed {source.seed}"
        )
    elif isinstance(source, FileTask):
        what = f"{items} problems of {source.path}"
    elif source.kind == "named" and source.path is not None:
        what = f"{items} problems of {source.name} in {source.path}"
    else:
        what = f"{items} problems of {identity_of_source(source)}"
    if task.too_long:
        what += f"; {task.too_long} longer ones left out"
    return SourceDigest(what=what, sha256=task.digest, items=items)
