"""What each declared type of answer asks for, and what of it can be decided without any algebra."""

from __future__ import annotations

from typing import Any

from harness.grading.boxes import last_box, plain_integer, too_large
from harness.grading.equal import equal_numbers, plain_number
from harness.grading.letters import told_apart
from harness.grading.notation import (
    as_list,
    conditions,
    form,
    goes_on,
    is_explained,
    is_text,
    letter,
    other_brackets,
    tidy,
    unspaced,
    unwrapped,
    word,
)
from harness.grading.protocol import CORRECT, GRADER_ERROR, INCORRECT, LIMIT, UNPARSEABLE, shortened
from prereg.namedsets import AnswerType

Asked = tuple[str | None, dict[str, Any] | None]
"""A state, or the request by which a worker finds it."""

_CONTROL = {chr(code) for code in (*range(0x20), 0x7F)} - set("\t\n\r")


def bare_gold(gold: str) -> str:
    """A gold answer without the box and the dollar signs that some data sets leave around it."""
    box = last_box(gold)
    text = (gold if box is None else box).strip()
    inner = text.strip("$")
    return inner.strip() if text.startswith("$") and text.endswith("$") and "$" not in inner else text


def ask(gold: str, answer: str, kind: AnswerType) -> Asked:
    """The state of an answer where no algebra is needed, or what to ask a worker. An empty answer is none."""
    if not answer or any(character in _CONTROL for character in answer):
        return UNPARSEABLE, None
    bare = bare_gold(gold)
    if kind == "choice":
        return _same(letter(bare), letter(answer)), None
    if kind == "text":
        return _same(_plain_text(bare), _plain_text(answer)), None
    if (whole := plain_integer(bare)) is not None and (found := plain_integer(answer)) is not None:
        # Where a type has no numbers, a gold answer that is one cannot be used.
        if kind not in _OF_NUMBERS:
            return GRADER_ERROR, None
        return (CORRECT if whole == found else INCORRECT), None
    if too_large(bare):
        return GRADER_ERROR, None
    if too_large(answer):
        return LIMIT, None
    if goes_on(bare) != goes_on(answer):
        return INCORRECT, None
    # What is said of the gold answer's letters may be said of the answer's; elsewhere it is a condition.
    return _tidied(tidy(bare), tidy(answer, explained=is_explained(bare)), kind)


_OF_NUMBERS = {"auto", "integer", "number", "expression", "set"}
"""Types of which a number is an answer; a set of one is written as its element."""


def _tidied(gold: str, answer: str, kind: AnswerType) -> Asked:
    if kind in _OF_NUMBERS:
        expected, found = plain_number(gold), plain_number(answer)
        if expected is not None and found is not None and _is_of(expected.value.denominator, kind):
            same = equal_numbers(expected, found)
            if same is not None:
                return (CORRECT if same else INCORRECT), None
    if kind == "auto":
        if is_text(gold):
            return (CORRECT if word(gold) == word(answer) else INCORRECT), None
        one = letter(gold)
        if one is not None and one == letter(answer) and len(gold) == len(answer) == 1:
            return CORRECT, None
    if conditions(gold) or conditions(answer):
        # No algebra reads a condition: only the same words are the same answer.
        if kind == "auto":
            return (CORRECT if _words(gold) == _words(answer) else INCORRECT), None
        if conditions(answer):
            return UNPARSEABLE, None
    shape, other = form(gold), form(answer)
    if shape == "list" and plain_number(gold) is None:
        answer = as_list(answer)
    if {shape, other} == {"braces", "brackets"} or (shape, other) == ("list", "brackets"):
        return INCORRECT, None
    if shape == other == "brackets" and other_brackets(gold, answer):
        return INCORRECT, None
    if (shape, other) == ("brackets", "list") and not any(sign in answer for sign in "=<>"):
        answer = f"({answer})"
    expected_text, answer_text = told_apart(gold, answer)
    return None, {"gold": expected_text, "answer": answer_text, "kind": kind}


def _is_of(denominator: int, kind: AnswerType) -> bool:
    """Whether a gold answer with this denominator is of the type."""
    return kind != "integer" or denominator == 1


def usable(gold: str, kind: AnswerType) -> tuple[str | None, dict[str, Any] | None]:
    """Why a gold answer cannot be used, in words; or the request by which a worker finds out; or neither."""
    bare = bare_gold(gold)
    if kind == "choice":
        return (None if letter(bare) else f"{shortened(bare)!r} is not a letter"), None
    if kind == "text":
        return (None if _plain_text(bare) else "is empty"), None
    if (why := too_large(bare)) is not None:
        return f"is {why}", None
    text = tidy(bare)
    if any(character in _CONTROL for character in bare):
        return "holds control characters", None
    number = plain_number(text)
    if number is not None and kind in _OF_NUMBERS:
        if not _is_of(number.value.denominator, kind):
            return f"{shortened(bare)!r} is not an integer", None
        return None, None
    if kind == "auto" and (is_text(text) or conditions(text)):
        return None, None
    gold_alone, _ = told_apart(text, "")
    return None, {"gold": gold_alone, "answer": None, "kind": kind}


def _same(expected: str | None, found: str | None) -> str:
    if expected is None:
        return GRADER_ERROR
    if found is None:
        return UNPARSEABLE
    return CORRECT if expected == found else INCORRECT


def _words(latex: str) -> str:
    """Words and mathematics as they are compared sign by sign."""
    return unspaced(unwrapped(latex)).casefold()


def _plain_text(latex: str) -> str | None:
    """Words as they are compared: without `\\text{}`, outer signs and case."""
    known = word(latex)
    if known is not None:
        return known
    text = " ".join(tidy(latex).split()).casefold()
    return text or None
