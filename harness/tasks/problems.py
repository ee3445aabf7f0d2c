"""A task: its problems with their gold answers, and a digest over what they say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskItem:
    """A problem: its id within the task, the text that the prompt template wraps, and the gold answer."""

    id: str
    problem: str
    answer: str


@dataclass(frozen=True, slots=True)
class Task:
    """The problems of one source, in their order."""

    name: str
    items: tuple[TaskItem, ...]
    digest: str
    """SHA-256 over ids, problems and answers in their order, whatever file format they came in."""
    remarks: tuple[str, ...] = ()
    """What a person should know of how the source was read, a sentence each."""
    faults: tuple[str, ...] = ()
    """What the lock refuses in the problems taken together, a sentence each."""
    too_long: int = 0
    """Problems that the source's `max_characters` left out."""


def digest_of(items: Iterable[TaskItem]) -> str:
    """SHA-256, hexadecimal, over one line of JSON an item: `["id","problem","answer"]`, escaped to ASCII."""
    whole = hashlib.sha256()
    for item in items:
        line = json.dumps([item.id, item.problem, item.answer], ensure_ascii=True, separators=(",", ":"))
        whole.update(line.encode() + b"\n")
    return whole.hexdigest()
