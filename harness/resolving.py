"""Resolving every source of a study to a digest, and measuring how much training and benchmarks overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import PurePosixPath

from harness.models import WANTED_FILES, model_folder
from harness.tasks.resolve import load_task
from prereg.contamination import contaminated, find_matches
from prereg.digests import digest_folder
from prereg.lock import SourceDigest
from prereg.problems import Problem
from prereg.source import LoadedStudy
from prereg.sources import BuiltinModel, HubModel, Model, TaskSource


@dataclass(frozen=True, slots=True)
class Resolved:
    """Every source of a study, as it is now."""

    sources: dict[str, SourceDigest]
    """By the dotted field that names it."""
    contamination: tuple[Problem, ...]
    """Benchmarks that share more with the training prompts than the study allows."""
    notes: tuple[str, ...]
    """What was found and allowed, a sentence each."""


def resolve_sources(loaded: LoadedStudy) -> Resolved:
    """Read every model folder and task of the study. Raises Refused where one cannot be had."""
    study = loaded.study
    sources = {f"models.{name}": _model_digest(loaded, model) for name, model in study.models.items()}
    training = load_task(study.data.training.source, loaded.folder)
    sources["data.training"] = _task_digest(study.data.training.source, training.digest, len(training.items))
    trained = [item.problem for item in training.items]
    problems: dict[str, list[str]] = {}
    for name, benchmark in study.data.benchmarks.items():
        task = load_task(benchmark.source, loaded.folder)
        sources[f"data.benchmarks.{name}"] = _task_digest(benchmark.source, task.digest, len(task.items))
        problems[name] = [item.problem for item in task.items]
    refused = tuple(contaminated(loaded, trained, problems))
    notes = () if refused or not study.data.contamination_limit else tuple(_overlaps(trained, problems))
    return Resolved(sources, refused, notes)


def _overlaps(trained: list[str], problems: dict[str, list[str]]) -> Iterator[str]:
    """What the declared limit lets through, a sentence a benchmark."""
    for name, texts in problems.items():
        if matches := find_matches(trained, texts):
            counted = f"{len(matches)} of {len(texts)} problems of {name}"
            yield f"{counted} stand among the training prompts, as allowed"


def _model_digest(loaded: LoadedStudy, model: Model) -> SourceDigest:
    source = model.source
    folder = model_folder(source, loaded.folder)
    found = digest_folder(folder, _is_wanted, links_may_leave=isinstance(source, HubModel))
    if isinstance(source, BuiltinModel):
        what = f"the built-in model {source.name}"
    elif isinstance(source, HubModel):
        what = f"{source.id} at {source.revision}"
    else:
        what = f"the model folder {source.path}"
    return SourceDigest(what=what, sha256=found.sha256, files=found.files)


def _is_wanted(path: PurePosixPath) -> bool:
    return any(fnmatch(path.name, pattern) for pattern in WANTED_FILES)


def _task_digest(source: TaskSource, digest: str, items: int) -> SourceDigest:
    if source.kind == "builtin":
        what = (
            f"{items} problems of the built-in task {source.name}, split {source.split}, seed {source.seed}"
        )
    else:
        what = f"{items} problems of {source.path}"
    return SourceDigest(what=what, sha256=digest, items=items)
