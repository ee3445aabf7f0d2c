"""From a task's source in a study to its problems."""

from __future__ import annotations

from pathlib import Path

from harness.tasks.arithmetic import generate
from harness.tasks.files import read_task_file
from harness.tasks.problems import Task, digest_of
from prereg.problems import Problem, Refused
from prereg.sources import BuiltinTask, TaskSource


def load_task(source: TaskSource, study_folder: Path) -> Task:
    """The problems of a task. Raises Refused, with the place, if they cannot be had as the study says."""
    if isinstance(source, BuiltinTask):
        return _builtin(source)
    return read_task_file(source, study_folder)


def _builtin(source: BuiltinTask) -> Task:
    try:
        items = tuple(generate(source.split, source.size, source.seed))
    except ValueError as error:
        raise Refused(Problem(str(error), hint="Ask for a smaller `size`.")) from None
    return Task(f"{source.name}-{source.split}", items, digest_of(items))
