"""What every grader is: verdicts on completions, one state each, never a silent zero."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from trainers.types import Grade

CORRECT: Final = "correct"
INCORRECT: Final = "incorrect"
UNPARSEABLE: Final = "unparseable"
"""No complete answer: none is there, it is not of the declared kind, or the completion was cut off."""
LIMIT: Final = "limit"
"""The answer was too large, or grading it took too long or too much memory."""
GRADER_ERROR: Final = "grader_error"
"""The grader failed, or the gold answer cannot be read: nothing is known of the completion."""

ANSWER_LENGTH = 1000
"""Characters of an answer that are recorded."""


class Grader(ABC):
    """Decides whether completions are right. Use it in a `with`, or close it."""

    version: str
    """Names everything that the verdicts depend on; part of the lock."""

    @abstractmethod
    def grade(self, gold: Sequence[str], completions: Sequence[str], finished: Sequence[bool]) -> list[Grade]:
        """A verdict for each completion, in order; `finished` is false for one that was cut at the cap.

        A completion that was cut off is unparseable whatever it holds: its answer might have changed.
        """

    @abstractmethod
    def unreadable(self, gold: Sequence[str]) -> dict[int, str]:
        """The gold answers that this grader cannot use: index and reason. The lock refuses them."""

    def close(self) -> None:
        """Free what the grader holds."""
        return

    def __call__(self, golds: Sequence[str], texts: Sequence[str], finished: Sequence[bool]) -> list[Grade]:
        return self.grade(golds, texts, finished)

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def shortened(answer: str) -> str:
    """An answer as it is recorded: the first 1000 characters, an ellipsis for the rest; halves of characters,
    which no file could hold, are replaced."""
    answer = answer[: ANSWER_LENGTH + 1].encode("utf-8", "replace").decode()
    return answer if len(answer) <= ANSWER_LENGTH else answer[:ANSWER_LENGTH] + "…"
