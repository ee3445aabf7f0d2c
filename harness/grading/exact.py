"""Exact grading: the text behind the last marker, as an integer or as text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.grading.protocol import CORRECT, GRADER_ERROR, INCORRECT, UNPARSEABLE, Grader, shortened
from prereg.sources import ExactGrader as ExactSpec
from trainers.types import Grade

_INTEGER = re.compile(r"[+-]?[0-9]+")


class ExactGrader(Grader):
    """Compares what follows the last marker with the gold answer.

    `integer`: an optional sign and digits with nothing else but blanks around them; compared as digits, so
    that an answer of a million digits costs no more than reading it. `text`: compared with outer blanks cut.
    A gold answer that holds the marker is read like a completion (`... #### 18` is 18).
    """

    def __init__(self, spec: ExactSpec) -> None:
        self._marker = spec.marker
        self._integer = spec.answer_type == "integer"
        self.version = f"exact-1 {spec.answer_type} marker={spec.marker!r}"

    def grade(self, gold: Sequence[str], completions: Sequence[str], finished: Sequence[bool]) -> list[Grade]:
        return [self._one(g, c, f) for g, c, f in zip(gold, completions, finished, strict=True)]

    def unreadable(self, gold: Sequence[str]) -> dict[int, str]:
        kind = "an integer" if self._integer else "an answer"
        return {i: f"{shortened(g)!r} is not {kind}" for i, g in enumerate(gold) if self._gold(g) is None}

    def _one(self, gold: str, completion: str, finished: bool) -> Grade:
        expected = self._gold(gold)
        if expected is None:
            return Grade(GRADER_ERROR, None)
        found = self._behind_marker(completion) if finished else None
        if found is None:
            return Grade(UNPARSEABLE, None)
        answer = self._canonical(found)
        if answer is None:
            return Grade(UNPARSEABLE, None)
        return Grade(CORRECT if answer == expected else INCORRECT, shortened(answer))

    def _gold(self, gold: str) -> str | None:
        behind = self._behind_marker(gold)
        return self._canonical(gold if behind is None else behind)

    def _behind_marker(self, text: str) -> str | None:
        _, marker, rest = text.rpartition(self._marker)
        return rest if marker else None

    def _canonical(self, text: str) -> str | None:
        """The answer in the one form that equal answers share; None if it is not of its kind."""
        text = text.strip()
        if not self._integer:
            return text or None
        return canonical_integer(text)


def canonical_integer(text: str) -> str | None:
    """Digits without leading zeros, a minus sign if it is negative; None if the text is not an integer."""
    if not _INTEGER.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    return f"-{digits}" if text.startswith("-") and digits != "0" else digits
