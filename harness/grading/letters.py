"""Letters that the algebra would take for others, renamed alike in gold answer and answer.

The algebra writes all letters small, knows `i` as a letter and `I` as the imaginary unit, and drops `^T`.
Here every letter that must be told apart gets the name of a letter that neither text uses.
"""

from __future__ import annotations

import re

_CAPITALS = ("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega")
_PIECE = re.compile(
    r"(?P<kept>\\(?:begin|end|text|mbox|textrm|textbf|math[a-z]+|operatorname)\s?\{[^{}]*\}"
    r"|\\(?:sum|prod|lim|int|oint|log|max|min)\s?_)"
    r"|_\s?(?P<below>\{[^{}]*\}|[A-Za-z])"
    r"|\\(?P<greek>" + "|".join(_CAPITALS) + r")(?![A-Za-z])"
    r"|(?P<command>\\[A-Za-z]+|\\.)"
    r"|(?P<letter>[A-Za-z])",
    re.DOTALL,
)
_UNIT = re.compile(r"\\(?:mathrm|text|textrm|mathit|mathbf)\s?\{\s?i\s?\}|\\imath(?![A-Za-z])")
_INDEX = re.compile(r"_\s?\{?\s?i\s?(?:=|\\in|\\neq|\\leq?|<)|_\s?\{?\s?[0-9]\s?\\leq?\s?i")
_TRANSPOSED = re.compile(
    r"\^\s?(?:\{\s?)?(?:T(?![A-Za-z])|\\top|\\intercal|\\mathrm\s?\{\s?T\s?\})(?:\s?\})?"
)
_POWER_OF_TEN = re.compile(r"[0-9]E[+-]?[0-9]")
_RAISED = re.compile(r"\s?\^")
_FREE = "qwzyuvpkjhlbscarnmxot"
"""Letters that may stand for others: none that the grammar knows as more than a letter."""


def told_apart(gold: str, answer: str) -> tuple[str, str]:
    """Both, with letters renamed: capital Greek letters; capitals where either text has the letter in both
    cases; `I` and `E`, which the algebra knows as numbers; `i` as the imaginary unit, unless it is an index;
    `T` where something is transposed.
    """
    texts = (_UNIT.sub("i", gold), _UNIT.sub("i", answer))
    if not any("matrix" in text for text in texts):
        texts = (_TRANSPOSED.sub("^{T}", texts[0]), _TRANSPOSED.sub("^{T}", texts[1]))
        transposed = any("^{T}" in text for text in texts)
    else:
        transposed = False
    each = [_names(text) for text in texts]
    used = each[0] | each[1]
    apart = {name for name in used if len(name) > 1} | (used & {"I"})
    for letters in each:
        apart |= {name for name in letters if name.isupper() and name.lower() in letters}
    if "E" in used and not any(_POWER_OF_TEN.search(text) for text in texts):
        apart.add("E")
    if transposed:
        apart.add("T")
    free = [one for one in _FREE if one not in used and one.upper() not in used]
    names: dict[str, str] = {}
    # Where there are too few letters, a name of a kind that no answer has.
    for one in sorted(apart):
        names[one] = free.pop(0) if free else f"\\mathcal{{big{one.lower()}}}"
    if not any(_INDEX.search(text) for text in texts):
        names["i"] = "I"
    if not names:
        return texts
    return _renamed(texts[0], names), _renamed(texts[1], names)


def _names(text: str) -> set[str]:
    """The letters of a text, those of its indices too, and the names of its capital Greek letters."""
    found: set[str] = set()
    for piece in _PIECE.finditer(text):
        found.update(re.findall(r"[A-Za-z]", piece["letter"] or piece["below"] or ""))
        if piece["greek"]:
            found.add(piece["greek"])
    return found


def _renamed(text: str, names: dict[str, str]) -> str:
    def new(found: re.Match[str]) -> str:
        if found["letter"]:
            new = names.get(found["letter"], found["letter"])
            # The grammar loses an exponent of `I`, and takes `{I}` alone for a set.
            return "{I}" if new == "I" and _RAISED.match(text, found.end()) else new
        if found["greek"]:
            return names[found["greek"]] + " "
        if found["below"]:
            # An index is a name; `I` has no meaning there.
            below = {one: name for one, name in names.items() if one != "i" and len(name) == 1}
            return "_" + re.sub(
                r"(?<![\\A-Za-z])[A-Za-z](?![A-Za-z])", lambda m: below.get(m[0], m[0]), found["below"]
            )
        return found[0]

    return _PIECE.sub(new, text)
