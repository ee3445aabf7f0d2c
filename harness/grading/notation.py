"""Notations that the algebra does not read, or reads as something else, written as it reads them.

Everything here is text to text, in time that grows with the length and no faster. Gold answers and answers
are treated alike, so that nothing that is equal is told apart.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

from harness.grading.arguments import braced
from harness.grading.units import without_unit

_SPACES = re.compile(r"(\\\\)|\\[,;:! ]|\\quad|\\qquad|~|[\s\u00a0\u2009\u202f]")
"""Blanks; the end of a row (`\\\\`) is none, and what follows it begins anew."""
_GROUPING_SPACE = re.compile(r",?\\!\s?(?=[0-9]{3})")
_GROUPED = re.compile(r"([+-]?[0-9]{1,3})((?: [0-9]{3})+)")
_MIXED = re.compile(r"([+-]?[0-9]{1,30}) ([0-9]{1,30})/([0-9]{1,30})")
_SCIENTIFIC = re.compile(r"([+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40}))[eE]([+-]?[0-9]{1,6})")
_REPEATING = re.compile(r"([+-]?)([0-9]{0,20})\.([0-9]{0,20})\\(?:overline|bar|dot)\s?\{?([0-9]{1,20})\}?")
_POINT_AT_END = re.compile(r"(?<![0-9.])([0-9]{1,40})\.(?![0-9])")
_TEXT = re.compile(r"\\(?:text|mbox|mathrm|textrm|textbf|textit|mathbf|mathit|operatorname)\s?\{([^{}]*)\}")
_UNDERLINED = re.compile(r"\\underline\s?\{([^{}]*)\}")
_NUMBER_IN_TEXT = re.compile(r"\\(?:text|mbox|mathrm|textrm|textbf|mathbf)\s?\{(\s?[+-]?[0-9][^{}]*)\}")
_SUBSCRIPT_COMMAND = re.compile(r"_\{\s?\\(max|min|odot)\s?\}")
_NUMPY = re.compile(r"\bnp\.(arcsin|arccos|arctan|sin|cos|tan|sqrt|exp|log|pi)\b")
_MEMBERSHIP = re.compile(r"([a-zA-Z])\s?((?:\((?:[^()\[\]]*)\])|(?:\[(?:[^()\[\]]*)\)))")
_EXPLAINED = re.compile(r"\$?,?\s(?:where\s|\\text\s?\{\s?where).*\Z", re.DOTALL)
_CONDITION = re.compile(
    r"(?<![A-Za-z\\])(?:for|with|where|if|when|whenever|unless|otherwise|else|but|not|never|is|are|wrong|because|since"
    r"|elsewhere|except|instead|either|maybe|perhaps)(?![A-Za-z])",
    re.IGNORECASE,
)
_ROOT_OF_BRACKET = re.compile(r"\\sqrt\s?\(([^()]*)\)")
_GROUPED_LIST = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+")
_DOTS = re.compile(r"\\(?:[lc]?dots[bcmio]?)(?![A-Za-z])|\.\.\.|…")
_DIGITS_LEFT_OUT = re.compile(r"(?<=[0-9])\.[0-9]+\s?(?:\\l?dots|\.\.\.|…)\s?\Z")
_WORD = re.compile(r"[A-Za-z]+(?:[ '-][A-Za-z]+)*")
_LETTER = re.compile(r"\(?([A-Za-z])\)?[.:]?")
_LETTER_AND_MORE = re.compile(r"\(?([A-Za-z])[).:]\s?(.*)", re.DOTALL)
_ANOTHER_LETTER = re.compile(r"(?<![\\A-Za-z])[A-Z](?![A-Za-z])")
_NEEDLESS = re.compile(r" +(?![A-Za-z])|(?<![A-Za-z]) +")

Form = Literal["braces", "brackets", "list", "single"]
"""How an answer is held together: by braces, by brackets of other kinds, by commas alone, or not at all."""


def tidy(latex: str, *, explained: bool = True) -> str:
    """An answer in notations that the algebra reads: see docs/grading.md for the list, with examples.

    An explanation behind it (`, where $n$ is odd`) is cut only where `explained` says that it may be.
    """
    text = _GROUPING_SPACE.sub("", latex)
    text = _SPACES.sub(_blank, text).strip()
    text = text.replace("\u2212", "-").replace("°", "^\\circ")
    if "$" in text:
        text = _without_dollars(text)
    text = re.sub(r" {2,}", " ", text).strip().rstrip(".;, ").strip()
    if explained:
        text = _EXPLAINED.sub("", text).strip()
    text = _UNDERLINED.sub(r"\1", text)
    if found := _NUMBER_IN_TEXT.fullmatch(text):
        text = found[1].strip()
    text = without_unit(text)
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
    text = _POINT_AT_END.sub(r"\1", text).replace("\\varnothing", "\\emptyset")
    text = _ROOT_OF_BRACKET.sub(r"\\sqrt{(\1)}", text)
    text = _NUMPY.sub(r"\\\1", text)
    text = _SUBSCRIPT_COMMAND.sub(r"_{\1}", text)
    text = text.replace("_\\odot", "_{odot}").replace("\\hbar", "h_{bar}")
    return braced(text)


def is_explained(latex: str) -> bool:
    """Whether an answer goes on to say what its letters are."""
    return _EXPLAINED.search(_SPACES.sub(_blank, latex)) is not None


def conditions(latex: str) -> bool:
    """Whether an answer holds words that bind or withdraw it: `for n even`, `otherwise`, `is wrong`."""
    return _CONDITION.search(unwrapped(latex)) is not None


def unwrapped(latex: str) -> str:
    """What stands in `\\text{}` and the like as if it stood alone."""
    return " ".join(_TEXT.sub(r" \1 ", latex).split())


def goes_on(latex: str) -> bool:
    """Whether dots stand for more terms than are written; behind a decimal they stand for its digits."""
    return _DOTS.search(_DIGITS_LEFT_OUT.sub("", latex)) is not None


def unspaced(latex: str) -> str:
    """A text as it is compared with another sign by sign."""
    return _NEEDLESS.sub("", latex)


def as_list(latex: str) -> str:
    """`200,100` as two numbers: asked for where the gold answer is a list, and no number of six digits."""
    return latex.replace(",", ", ") if _GROUPED_LIST.fullmatch(latex) else latex


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
    text = _SPACES.sub(_blank, _TEXT.sub(r"\1", latex)).replace("$", "").strip()
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


def other_brackets(gold: str, answer: str) -> bool:
    """Whether two texts in brackets, of more than two parts, are held by brackets of different kinds."""
    one, other = (
        text.replace("\\left", "").replace("\\right", "").replace(" ", "") for text in (gold, answer)
    )
    return _commas(one[1:-1]) > 1 and (one[0], one[-1]) != (other[0], other[-1])


def _blank(found: re.Match[str]) -> str:
    return found[1] or " "


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
