"""Notations that the algebra does not read, or reads as something else, written as it reads them.

Everything here is text to text, in time that grows with the length and no faster. Gold answers and answers
are treated alike, so that nothing that is equal is told apart.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

_SPACES = re.compile(r"\\[,;:! ]|\\quad|\\qquad|~|[\s\u00a0\u2009\u202f]")
_GROUPING_SPACE = re.compile(r",?\\!\s?(?=[0-9]{3})")
_GROUPED = re.compile(r"([+-]?[0-9]{1,3})((?: [0-9]{3})+)")
_MIXED = re.compile(r"([+-]?[0-9]{1,30}) ([0-9]{1,30})/([0-9]{1,30})")
_SCIENTIFIC = re.compile(r"([+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40}))[eE]([+-]?[0-9]{1,6})")
_REPEATING = re.compile(r"([+-]?)([0-9]{0,20})\.([0-9]{0,20})\\overline\s?\{([0-9]{1,20})\}")
_POINT_AT_END = re.compile(r"(?<![0-9.])([0-9]{1,40})\.(?![0-9])")
_TEXT = re.compile(r"\\(?:text|mbox|mathrm|textrm|textbf|textit|mathbf|mathit|operatorname)\s?\{([^{}]*)\}")
_UNIT_AT_END = re.compile(
    r"(?<=[0-9})])\s?\\(?:text|mbox|mathrm|textrm)\s?\{[^{}0-9]*\}(?:\^\{?[0-9]\}?)?\s?\Z"
)
_UNDERLINED = re.compile(r"\\underline\s?\{([^{}]*)\}")
_SUBSCRIPT_COMMAND = re.compile(r"_\{\s?\\(max|min|odot)\s?\}")
_LETTER_E = re.compile(r"(?<![A-Za-z\\])E(?=_)")
_NUMPY = re.compile(r"\bnp\.(arcsin|arccos|arctan|sin|cos|tan|sqrt|exp|log|pi)\b")
_MEMBERSHIP = re.compile(r"([a-zA-Z])\s?((?:\((?:[^()\[\]]*)\])|(?:\[(?:[^()\[\]]*)\)))")
_EXPLAINED = re.compile(r"\$?,?\s(?:where|with|for)\s.*\Z", re.DOTALL)
_SINGLE = re.compile(r"(?<![\\A-Za-z])([A-Za-z])(?![A-Za-z])")
_WORD = re.compile(r"[A-Za-z]+(?:[ '-][A-Za-z]+)*")
_LETTER = re.compile(r"\(?([A-Za-z])\)?[.:]?")
_LETTER_AND_MORE = re.compile(r"\(?([A-Za-z])[).:]\s?(.*)", re.DOTALL)
_ANOTHER_LETTER = re.compile(r"(?<![\\A-Za-z])[A-Z](?![A-Za-z])")

Form = Literal["braces", "brackets", "list", "single"]
"""How an answer is held together: by braces, by brackets of other kinds, by commas alone, or not at all."""


def tidy(latex: str) -> str:
    """An answer in notations that the algebra reads: see docs/grading.md for the list, with examples."""
    text = _GROUPING_SPACE.sub("", latex)
    text = _SPACES.sub(" ", text).strip()
    text = text.replace("\u2212", "-").replace("°", "^\\circ")
    if "$" in text:
        text = _without_dollars(text)
    text = re.sub(r" {2,}", " ", text).strip().rstrip(".;, ").strip()
    text = _EXPLAINED.sub("", text).strip()
    text = _UNDERLINED.sub(r"\1", text)
    while (shorter := _UNIT_AT_END.sub("", text)) != text:
        text = shorter
    if found := _GROUPED.fullmatch(text):
        return found.group(1) + found.group(2).replace(" ", "")
    if found := _MIXED.fullmatch(text):
        return rf"{found.group(1)}\frac{{{found.group(2)}}}{{{found.group(3)}}}"
    if found := _SCIENTIFIC.fullmatch(text):
        return _scientific(found.group(1), int(found.group(2)))
    if found := _REPEATING.fullmatch(text):
        return _repeating(*found.groups())
    if found := _MEMBERSHIP.fullmatch(text):
        return rf"{found.group(1)} \in {found.group(2)}"
    text = _POINT_AT_END.sub(r"\1", text)
    text = _NUMPY.sub(r"\\\1", text)
    text = _SUBSCRIPT_COMMAND.sub(r"_{\1}", text)
    text = text.replace("_\\odot", "_{odot}").replace("\\hbar", "h_{bar}")
    return _LETTER_E.sub("\\\\Xi ", text)


def tell_cases_apart(gold: str, answer: str) -> tuple[str, str]:
    """Both, with capital letters renamed where the gold answer has a letter in both cases.

    The algebra does not tell N from n; where the gold answer does, `N=n` must not become `n=n`.
    """
    letters = set(_SINGLE.findall(gold))
    if not any(letter.lower() in letters and letter.upper() in letters for letter in letters):
        return gold, answer

    def renamed(found: re.Match[str]) -> str:
        letter = found[1]
        return f"{letter.lower()}_{{capital}}" if letter.isupper() else letter

    return _SINGLE.sub(renamed, gold), _SINGLE.sub(renamed, answer)


def word(latex: str) -> str | None:
    """The word or words that an answer is, in lower case; None if it is anything else, such as a variable."""
    text = " ".join(_TEXT.sub(r"\1", latex).replace("$", "").split()).strip(" .")
    return text.casefold() if len(text) > 1 and _WORD.fullmatch(text) and "\\" not in text else None


def is_text(latex: str) -> bool:
    """Whether an answer is nothing but words inside `\\text{}`: a name, and no product of variables."""
    return bool(_TEXT.fullmatch(latex.strip().strip("$").strip())) and word(latex) is not None


def letter(latex: str) -> str | None:
    """The letter of a choice, a capital: `\\text{(C)}`, `(C)`, `c`, `C.`, `(C) 42`; None if it is anything
    else.

    Two letters are none: `A or B` is no choice.
    """
    text = _SPACES.sub(" ", _TEXT.sub(r"\1", latex)).replace("$", "").strip()
    found = _LETTER.fullmatch(text)
    if found is None:
        found = _LETTER_AND_MORE.fullmatch(text)
        if found is None or _ANOTHER_LETTER.search(found[2]):
            return None
    return found[1].upper()


def form(latex: str) -> Form:
    """How an answer is held together."""
    text = latex.replace("\\left", "").replace("\\right", "").strip()
    if text.startswith("\\{") and text.endswith("\\}"):
        return "braces"
    parts = _commas(text)
    if parts == 0 and text[:1] in {"(", "["} and text[-1:] in {")", "]"} and "," in text:
        return "brackets"
    return "list" if parts > 0 else "single"


def _commas(text: str) -> int:
    """Commas outside all brackets."""
    depth = count = 0
    for character in text.replace("{,}", ""):
        if character in "({[":
            depth += 1
        elif character in ")}]":
            depth -= 1
        elif character == "," and depth == 0:
            count += 1
    return count


def _without_dollars(text: str) -> str:
    """Without the signs of mathematics; those of currency (`\\$`) go too."""
    return text.replace("\\$", "").replace("$", "")


def _scientific(digits: str, exponent: int) -> str:
    return rf"{digits.rstrip('.')} \times 10^{{{exponent}}}"


def _repeating(sign: str, whole: str, fixed: str, period: str) -> str:
    """`0.1\\overline{6}` as a fraction: the number less its shifted self has no repeating part."""
    below = 10 ** len(fixed) * (10 ** len(period) - 1)
    above = int((whole + fixed + period) or "0") - int((whole + fixed) or "0")
    value = Fraction(above, below)
    return rf"{sign}\frac{{{value.numerator}}}{{{value.denominator}}}"
