"""Where steps begin, by hand: in characters, then in tokens of a real tokenizer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from prereg.rewards import TextBoundaries, UniformBoundaries
from trainers.steps import step_starts, text_starts, token_ends, uniform_starts

BLANK_LINES = TextBoundaries(max_step_tokens=1000)


def each_character(ids: tuple[int, ...]) -> str:
    """A token is the code point of a character."""
    return "".join(chr(i) for i in ids)


def pieces(text: str, boundaries: TextBoundaries) -> list[str]:
    """The steps of a text whose tokens are its characters."""
    starts = step_starts([ord(c) for c in text], boundaries, each_character)
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def test_blank_lines_end_steps_and_belong_to_the_step_before_them() -> None:
    text = "First.\nStill first.\n\nSecond.\n  \n\n\nThird."
    assert pieces(text, BLANK_LINES) == ["First.\nStill first.\n\n", "Second.\n  \n\n\n", "Third."]


def test_a_separator_of_the_study() -> None:
    commas = TextBoundaries(separators=(",",), max_step_tokens=1000)
    assert pieces("5+5=10,10-1=9,#9", commas) == ["5+5=10,", "10-1=9,", "#9"]


def test_a_separator_at_either_end_makes_no_empty_step() -> None:
    commas = TextBoundaries(separators=(",",), max_step_tokens=1000)
    assert pieces(",a,b,", commas) == [",", "a,", "b,"]
    assert pieces("a", commas) == ["a"]


def test_a_long_step_ends_at_the_next_sentence_or_line() -> None:
    short = TextBoundaries(max_step_tokens=10)
    text = "One two. Three four. Five six seven\nEight."
    # Ten tokens are not over at the first full stop; they are at the second.
    assert pieces(text, short) == ["One two. Three four. ", "Five six seven\n", "Eight."]
    assert pieces("3.14159265358979 and so on", short) == ["3.14159265358979 and so on"]


def test_a_place_within_a_token_becomes_the_end_of_the_token() -> None:
    # Tokens "a", ",b", ",", "c" end at characters 1, 3, 4, 5; commas end at 2 and 4.
    assert text_starts("a,b,c", [1, 3, 4, 5], (",",), 1000) == [0, 2, 3]


def test_uniform_steps_are_as_even_as_they_can_be() -> None:
    assert uniform_starts(8, 4) == [0, 2, 4, 6]
    assert uniform_starts(10, 4) == [0, 2, 5, 7]
    assert uniform_starts(3, 8) == [0, 1, 2]
    assert step_starts(range(8), UniformBoundaries(kind="uniform", steps=2), each_character) == [0, 4]


@given(st.text(alphabet="ab, .\n", min_size=1, max_size=60), st.integers(1, 12))
@settings(max_examples=200, deadline=None)
def test_steps_are_ascending_and_none_is_empty(text: str, longest: int) -> None:
    starts = step_starts([ord(c) for c in text], TextBoundaries(max_step_tokens=longest), each_character)
    assert starts[0] == 0
    assert all(a < b for a, b in zip(starts, [*starts[1:], len(text)], strict=True))


@pytest.fixture(scope="module")
def bytewise() -> Any:
    """Every byte is a token, so that most characters take several."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def test_a_character_of_several_tokens_ends_with_its_last(bytewise: Any) -> None:
    def text_of(ids: tuple[int, ...]) -> str:
        return str(bytewise.decode(list(ids)))

    text = "aé,漢,b"
    ids = bytewise.encode(text).ids
    assert len(ids) == 1 + 2 + 1 + 3 + 1 + 1
    assert token_ends(ids, text_of) == [1, 1, 2, 3, 3, 3, 4, 5, 6]
    commas = TextBoundaries(separators=(",",), max_step_tokens=1000)
    assert step_starts(ids, commas, text_of) == [0, 4, 8]
