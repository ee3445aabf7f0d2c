"""Mutants of a study file: bytes, tokens, lines and values changed, each by a number alone."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_TOKEN = re.compile(r"[A-Za-z_][\w-]*|-?\d[\d_.eE+-]*|[^\w\s]|\n| +")
_VALUE = re.compile(r"(?m)^(\s*(?:- )?[a-z_0-9]+:)[ ]+([^\n#]+)")
_INLINE = re.compile(r"([a-z_0-9]+: )([^,{}\[\]\n#]+)")

VALUES = (
    "", "null", "~", "true", "no", "on", "0", "-1", "017", "1e-3", "1e400", ".nan", "-.inf", "12:30", "1_000",
    "0x1F", "'text'", '"\\u0000"', '"\\x"', "[]", "{}", "[[[[[]]]]]", "{a: {b: {c: 1}}}", "[1, 2", "{a", "*a",
    "&a x", "!!python/object:os.system x", "!x y", "<<", "2026-01-31", "..", "/etc/passwd", "../../x",
    "~root", "9" * 400, "x" * 30_000, "\t",
    "\u202e", "\ufeff", "é", "\U0001f600", "|\n", ">-\n  a", "? a", "- a",
    "%YAML", "---", "...", "@", "`", "'", '"', "#", ": ", "a: b: c",
)  # fmt: skip
"""What may stand where a value stood."""


def mutant(text: str, number: int) -> bytes:
    """A changed file; the same number gives the same one."""
    draw = random.Random(number)
    kinds: tuple[Callable[[str, random.Random], bytes], ...] = (_bytes, _token, _line, _value, _inline)
    content = kinds[number % len(kinds)](text, draw)
    if draw.random() < 0.2:  # some are changed twice
        again = kinds[draw.randrange(len(kinds))]
        content = again(content.decode("utf-8", errors="replace"), draw)
    return content


def _bytes(text: str, draw: random.Random) -> bytes:
    content = bytearray(text.encode())
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        at = draw.randrange(len(content))
        what = draw.randrange(4)
        if what == 0:
            content[at] ^= 1 << draw.randrange(8)
        elif what == 1:
            content[at] = draw.randrange(256)
        elif what == 2:
            del content[at : at + draw.choice((1, 1, 4, 64))]
        else:
            content[at:at] = bytes(draw.randrange(256) for _ in range(draw.choice((1, 1, 3))))
    return bytes(content)


def _token(text: str, draw: random.Random) -> bytes:
    found = list(_TOKEN.finditer(text))
    one, other = draw.choice(found), draw.choice(found)
    what = draw.randrange(4)
    put = ("", one.group() * 2, other.group(), draw.choice(VALUES))[what]
    return f"{text[: one.start()]}{put}{text[one.end() :]}".encode()


def _line(text: str, draw: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    what = draw.randrange(6)
    if what == 0:
        del lines[one]
    elif what == 1:
        lines.insert(other, lines[one])
    elif what == 2:
        lines[one], lines[other] = lines[other], lines[one]
    elif what == 3:
        lines[one] = draw.choice((" ", "  ", "\t")) + lines[one]
    elif what == 4:
        lines[one] = lines[one].lstrip()
    else:
        del lines[one:]
    return "".join(lines).encode()


def _value(text: str, draw: random.Random) -> bytes:
    return _replaced(text, draw.choice(list(_VALUE.finditer(text))), draw)


def _inline(text: str, draw: random.Random) -> bytes:
    return _replaced(text, draw.choice(list(_INLINE.finditer(text))), draw)


def _replaced(text: str, match: re.Match[str], draw: random.Random) -> bytes:
    return f"{text[: match.start(2)]}{draw.choice(VALUES)}{text[match.end(2) :]}".encode()
