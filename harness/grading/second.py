"""A second grader of another kind, to see how often the first could be wrong.

It shares nothing with the first but the rule that the last balanced box counts: its own scanner, its own
reader, and
no algebra. Expressions are evaluated as complex numbers at fixed points for their letters, and compared
with a
relative tolerance; lists, tuples, sets and intervals are compared part by part. What it cannot read it has no
opinion on. It evaluates nothing as code, and every size is bounded before it begins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.grading.numeric import Numeric, UnreadableError

VERSION = "second-2 numeric points=3 tolerance=1e-9"
LONGEST = 1000
"""Characters of an answer that it reads."""
_TOLERANCE = 1e-9
_ROUNDED = 2e-6
"""Relative difference up to which a decimal is taken for a rounded form of a number that is not whole."""

_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BOX = re.compile(r"(?<!\\)\\boxed\s*\{")
_WRAPPED = re.compile(r"\\(?:text|mbox|mathrm|textbf|mathbf|textit|operatorname)\s*\{([^{}]*)\}")
_CHOICE = re.compile(r"\(?([A-Za-z])\)?\.?")
_GROUPING = re.compile(r"(?<=[0-9])(?:,|\{,\}|\\,|\\!|,\\!\s*| )(?=[0-9]{3}(?![0-9]))")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_WORDS = re.compile(r"[A-Za-z]{2,}(?:[ -][A-Za-z]+)*")


def opinion(gold: str, completion: str, finished: bool) -> bool | None:
    """Whether it takes a completion for right; None where it has no opinion.

    A completion that was cut off or has no box is wrong for every grader: to agree on that says nothing of
    grading, so it has no opinion there. Otherwise an arm whose texts are cut more often would seem to be
    graded more surely.
    """
    answer = boxed_answer(completion) if finished else None
    if not answer:
        return None
    held = boxed_answer(gold)
    try:
        return same(gold if held is None else held, answer)
    except (UnreadableError, ArithmeticError, ValueError, RecursionError):
        return None


def boxed_answer(text: str) -> str | None:
    """What stands in the last box that is closed, of the last 50,000 characters."""
    text = text[-50 * LONGEST :]
    opened: list[int] = []
    closes: dict[int, int] = {}
    for found in _BRACE.finditer(text):
        if found.group() == "{":
            opened.append(found.start())
        elif found.group() == "}" and opened:
            closes[opened.pop()] = found.start()
    for box in reversed(list(_BOX.finditer(text))):
        if box.end() - 1 in closes:
            return text[box.end() : closes[box.end() - 1]].strip()
    return None


def same(gold: str, answer: str) -> bool:
    """Whether two answers are equal. Raises UnreadableError where one cannot be read."""
    if max(len(gold), len(answer)) > LONGEST:
        raise UnreadableError("too long")
    left, right = _bare(gold), _bare(answer)
    if left == right:
        return True
    if _WHOLE.fullmatch(left) and _WHOLE.fullmatch(right):
        return int(left) == int(right)
    words = [_as_words(text) for text in (gold, answer)]
    if words[0] is not None:
        return words[0] == words[1]
    letters = [_CHOICE.fullmatch(text) for text in (left, right)]
    if letters[0] is not None and letters[1] is not None:
        return letters[0][1].upper() == letters[1][1].upper()
    return _same_parts(left, right)


def _same_parts(gold: str, answer: str) -> bool:
    outer, parts = _parts(gold)
    other, others = _parts(answer)
    if len(parts) == 1 and len(others) == 1:
        return _same_value(parts[0], others[0])
    if len(parts) != len(others):
        return False
    ordered = outer not in {"", "{}"}
    if ordered:
        if other not in {outer, ""}:
            return False
        return all(_same_parts(a, b) for a, b in zip(parts, others, strict=True))
    if other not in {"", "{}"}:
        return False
    return _same_set(parts, others)


def _same_set(golds: Sequence[str], answers: Sequence[str]) -> bool:
    left = list(answers)
    for gold in golds:
        found = next((one for one in left if _same_parts(gold, one)), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _same_value(gold: str, answer: str) -> bool:
    if any(sign in gold + answer for sign in ("<", ">", "\\le", "\\ge", "\\in", "\\cup", "\\pm", "\\begin")):
        raise UnreadableError("a relation")
    sides, others = gold.split("="), answer.split("=")
    if len(sides) > 2 or len(others) > 2:
        raise UnreadableError("a chain of equations")
    if len(sides) == 2 and len(others) == 2:
        return _same_equation(sides, others)
    if len(sides) != len(others):
        # A solved letter is its value.
        named = sides if len(sides) == 2 else others
        if not re.fullmatch(r"[A-Za-z](?:_\{?\w+\}?)?(?:\([A-Za-z]\))?", named[0].strip()):
            return False
    return _close(sides[-1], others[-1])


def _same_equation(one: Sequence[str], other: Sequence[str]) -> bool:
    """Two equations are one if the differences of their sides are in one proportion everywhere."""
    ratios = []
    for point in range(3):
        a = Numeric(one[0], point).value() - Numeric(one[1], point).value()
        b = Numeric(other[0], point).value() - Numeric(other[1], point).value()
        if abs(b) < _TOLERANCE or abs(a) < _TOLERANCE:
            return abs(a) < _TOLERANCE and abs(b) < _TOLERANCE
        ratios.append(a / b)
    return all(abs(ratio - ratios[0]) <= 1e-7 * abs(ratios[0]) for ratio in ratios)


def _close(gold: str, answer: str) -> bool:
    decimal = "." in answer or "." in gold
    for point in range(3):
        a, b = Numeric(gold, point).value(), Numeric(answer, point).value()
        whole = abs(a.imag) < _TOLERANCE and abs(a.real - round(a.real)) < _TOLERANCE and "." not in gold
        tolerance = _ROUNDED if decimal and not whole else _TOLERANCE
        if abs(a - b) > tolerance * max(abs(a), abs(b)):
            return False
    return True


def _parts(text: str) -> tuple[str, list[str]]:
    """The brackets around an answer, "" if there are none, and its parts between commas."""
    inner = text
    outer = ""
    if text.startswith("\\{") and text.endswith("\\}"):
        outer, inner = "{}", text[2:-2]
    elif text[:1] in "([" and text[-1:] in ")]" and len(_split(text)) == 1 and len(_split(text[1:-1])) > 1:
        outer, inner = text[0] + text[-1], text[1:-1]
    return outer, [part.strip() for part in _split(inner)]


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "({[") - (character in ")}]")
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def _bare(text: str) -> str:
    """Without dollars, blanks of LaTeX, grouping of digits, degrees, units and the point at the end."""
    text = text.replace("\\left", "").replace("\\right", "").replace("\\$", "").replace("$", "")
    text = text.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac").replace("−", "-")
    text = _GROUPING.sub("", text)
    text = re.sub(r"\\[,;:! ]|~|\\quad|\\displaystyle", " ", text)
    text = re.sub(r"\^\s*\{?\s*\\circ\s*\}?|°|\\%", "", text)
    text = re.sub(r"(?<=[0-9})])\s*" + _WRAPPED.pattern + r"(?:\^\{?[0-9]\}?)?\s*$", "", text)
    text = _WRAPPED.sub(r" \1 ", text)
    text = re.sub(r"^([+-]?[0-9.]+)[eE]([+-]?[0-9]+)$", r"\1\\cdot 10^{\2}", text.strip())
    return " ".join(text.split()).rstrip(" .,;")


def _as_words(text: str) -> str | None:
    plain = " ".join(_WRAPPED.sub(r"\1", text).replace("$", "").split()).strip(" .")
    if (
        _WORDS.fullmatch(plain)
        and ("\\" not in plain)
        and (text.strip("$ ").startswith("\\") or len(plain) > 3)
    ):
        return plain.casefold()
    return None
