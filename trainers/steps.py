"""Where the steps of a completion begin, in tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from prereg.rewards import Boundaries, UniformBoundaries

_SENTENCE_OR_LINE = re.compile(r"\n\s*|[.!?][\"')\]]*\s+")
UNFINISHED = "\ufffd"
"""What a decoder puts where the bytes of a character are not complete yet."""


TextOf = Callable[[tuple[int, ...]], str]
"""Decodes token ids. It is asked about the same few tokens again and again, so it is worth a cache."""


def step_starts(tokens: Sequence[int], boundaries: Boundaries, text_of: TextOf) -> list[int]:
    """The first token of each step, ascending; the first is 0, and every step has a token.

    A place in the text becomes the first token boundary at or behind it.
    """
    if isinstance(boundaries, UniformBoundaries):
        return uniform_starts(len(tokens), boundaries.steps)
    ends = token_ends(tokens, text_of)
    return text_starts(text_of(tuple(tokens)), ends, boundaries.separators, boundaries.max_step_tokens)


def uniform_starts(tokens: int, steps: int) -> list[int]:
    """Starts of `steps` steps as even as they can be: floor(j x tokens / steps), each once."""
    return sorted({j * tokens // steps for j in range(steps)})


def text_starts(text: str, ends: Sequence[int], separators: Sequence[str], longest: int) -> list[int]:
    """Starts of steps in a text whose token t ends at character `ends[t]` (non-decreasing).

    A step ends behind a separator and the blanks after it; one of more than `longest` tokens ends at the
    next end of a line or sentence as well.
    """
    hard = _token_places(_ends_of(_pattern(separators), text), ends)
    soft = _token_places(_ends_of(_SENTENCE_OR_LINE, text), ends)
    starts = [0]
    for place in sorted(hard | soft):
        if place in hard or place - starts[-1] > longest:
            starts.append(place)
    return starts


def token_ends(tokens: Sequence[int], text_of: TextOf) -> list[int]:
    """Characters of the text that stand after each token.

    A token's text may depend on the token before it, and a character may take several tokens: each token is
    decoded with those since the last one that completed a character. So the time grows with the length.
    """
    ends: list[int] = []
    ids = tuple(tokens)
    known, read, length = 0, 0, 0
    for position in range(len(ids)):
        before, now = text_of(ids[known:read]), text_of(ids[known : position + 1])
        if len(now) > len(before) and not now.endswith(UNFINISHED):
            length += len(now) - len(before)
            known, read = read, position + 1
        ends.append(length)
    return ends


def _pattern(separators: Sequence[str]) -> re.Pattern[str]:
    """Any of the separators and the blanks after it. A line that holds only blanks is a blank line."""
    pieces = ["".join(r"[ \t]*\n" if c == "\n" else re.escape(c) for c in s) for s in separators]
    return re.compile(f"(?:{'|'.join(pieces)})\\s*")


def _ends_of(pattern: re.Pattern[str], text: str) -> list[int]:
    return [found.end() for found in pattern.finditer(text)]


def _token_places(characters: Sequence[int], ends: Sequence[int]) -> set[int]:
    """The first token boundary at or behind each character place, those within the sequence."""
    places: set[int] = set()
    token = 0
    for character in characters:
        while token < len(ends) and ends[token] < character:
            token += 1
        if token + 1 < len(ends):
            places.add(token + 1)
    return places
