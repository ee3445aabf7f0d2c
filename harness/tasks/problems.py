"""A problem with its gold answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskItem:
    """A problem: its id within the task, the text that the prompt template wraps, and the gold answer."""

    id: str
    problem: str
    answer: str
