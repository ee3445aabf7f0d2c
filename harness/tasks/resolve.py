"""From a task's source in a study to its problems."""

from __future__ import annotations

from pathlib import Path

from harness.tasks.arithmetic import generate
from harness.tasks.files import read_hub_task, read_named_task, read_task_file
from harness.tasks.problems import Task, digest_of
from prereg.namedsets import NAMED
from prereg.problems import Problem, Refused, Unreachable
from prereg.sources import BuiltinTask, HubTask, NamedTask, TaskSource


def load_task(source: TaskSource, study_folder: Path) -> Task:
    """The problems of a task. Raises Refused, with the place, if they cannot be had as the study says."""
    if isinstance(source, BuiltinTask):
        return _builtin(source)
    if isinstance(source, HubTask):
        return read_hub_task(source)
    if isinstance(source, NamedTask):
        return read_named_task(source, study_folder)
    return read_task_file(source, study_folder)


def size_of(source: TaskSource, study_folder: Path) -> int:
    """The number of problems of a task, also where a set that is known by name cannot be fetched."""
    try:
        return len(load_task(source, study_folder).items)
    except Unreachable:
        if (known := declared_size(source)) is not None:
            return known
        raise


def declared_size(source: TaskSource) -> int | None:
    """The number of problems that a source's own words give, unread: published, or the rows of `limit`.

    Problems that `max_characters` will leave out are still counted. None where neither is known.
    """
    if isinstance(source, BuiltinTask):
        return source.size
    if isinstance(source, NamedTask) and (published := NAMED[source.name].problems):
        return min(published[0], source.limit or published[0])
    return source.limit


def identity_of_source(source: HubTask | NamedTask) -> str:
    """What a source on the Hub is, in words that name every byte of it: `owner/name@revision: file`."""
    if isinstance(source, NamedTask):
        named = NAMED[source.name]
        return f"{named.id}@{source.revision or named.revision}: {named.file}"
    part = source.file or f"split {source.split} of {source.config}"
    return f"{source.id}@{source.revision}: {part}"


def _builtin(source: BuiltinTask) -> Task:
    try:
        items = tuple(generate(source.split, source.size, source.seed))
    except ValueError as error:
        raise Refused(Problem(str(error), hint="Ask for a smaller `size`.")) from None
    return Task(f"{source.name}-{source.split}", items, digest_of(items))
