"""Arguments without braces, given braces as TeX reads them: one digit, letter or command each."""

from __future__ import annotations

import re

_WANTING = {"\\frac": 2, "\\dfrac": 2, "\\tfrac": 2, "\\cfrac": 2, "\\binom": 2, "\\sqrt": 1}
"""Commands, and how many arguments they take."""
_PIECE = re.compile(r"\\sqrt\s*\[[^\[\]]*\]|\\[A-Za-z]+|\\.|.", re.DOTALL)


def braced(latex: str) -> str:
    """`\\frac12`, `\\frac ab`, `\\frac\\pi2` and `\\sqrt\\pi` with braces; time grows with the length."""
    written: list[str] = []
    wanted = 0
    outside: list[int] = []
    for piece in _PIECE.findall(latex):
        command = piece.partition("[")[0].rstrip()
        if piece == "{":
            outside.append(max(0, wanted - 1))
            wanted = 0
        elif piece == "}":
            wanted = outside.pop() if outside else 0
        elif command in _WANTING:
            wanted = _WANTING[command]
        elif wanted and (piece.isalnum() or (piece[0] == "\\" and piece[1:].isalpha())):
            piece = "{" + piece + "}"
            wanted -= 1
        elif not piece.isspace():
            wanted = 0
        written.append(piece)
    return "".join(written)
