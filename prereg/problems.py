"""An error that a person can act on: what is wrong, where it stands, and what to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a study or another input file."""

    message: str
    """What was found and what was expected."""
    path: tuple[str | int, ...] = ()
    """Keys and indices from the top of the study to the place."""
    file: str | None = None
    line: int | None = None
    """From 1."""
    column: int | None = None
    """From 1."""
    hint: str | None = None
    """What to do about it."""

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        field = ".".join(str(part) for part in self.path)
        head = ": ".join(part for part in (where, field) if part)
        body = f"{head}: {self.message}" if head else self.message
        return f"{body}\n    {self.hint}" if self.hint else body


class Refused(Exception):
    """A study or another input cannot be accepted. The command line prints it and exits with 3."""

    def __init__(self, *problems: Problem | str) -> None:
        self.problems = tuple(p if isinstance(p, Problem) else Problem(p) for p in problems)
        super().__init__("\n".join(str(p) for p in self.problems))


class Unreachable(Refused):
    """A source with a pinned identity cannot be fetched from here. A lock may owe its digest."""


class LockMismatch(Refused):
    """The study, its inputs or its records differ from the lock. The command line exits with 4."""
