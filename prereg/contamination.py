"""Training prompts that stand in a benchmark: the share of its problems that the arms could have learned.

Three nested kinds of match, the strictest first: the text is the same; it is the same but for case, white
space and punctuation; or a run of 13 words (GPT-3's choice of n) stands in both.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from prereg.lock import Overlap
from prereg.problems import Problem
from prereg.source import LoadedStudy

NGRAM_WORDS = 13
LISTED = 20
"""Matches of a benchmark that the lock names one by one."""

MatchKind = Literal["exact", "normalised", "ngram"]

_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that put no blanks between words: each sign counts as a word."""
_WORD = re.compile(
    rf"[{_UNSPACED}]"
    r"|\d+(?:[.,]\d+)*"
    rf"|[^\W\d_{_UNSPACED}]+"
    r"|[-+*/^=<>%|(){}\[\]_]"
)


@dataclass(frozen=True, slots=True)
class Match:
    """A benchmark problem and a training prompt that share text. Both indices count from 0."""

    benchmark_index: int
    training_index: int
    kind: MatchKind
    shared: str
    """The text that both hold."""


def words(text: str) -> tuple[str, ...]:
    """A text as words without case, white space and punctuation.

    Numbers keep their decimals, and the signs of mathematics stand as words of their own: `5+1-2` and `5-1+2`
    are different problems.
    """
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def find_matches(
    training: Sequence[str], benchmark: Sequence[str], n: int = NGRAM_WORDS
) -> tuple[Match, ...]:
    """At most one match for each benchmark problem, in their order: of the strictest kind, then the first.

    A text shorter than `n` words has one run, itself, and matches only a text that is equal when normalised:
    short problems stand by chance in longer ones. The time is linear in the words of both.
    """
    if n < 1:
        raise ValueError("n must be at least 1")
    exact: dict[str, list[int]] = {}
    normal: dict[tuple[str, ...], list[int]] = {}
    runs: dict[tuple[str, ...], list[int]] = {}
    for index, text in enumerate(benchmark):
        tokens = words(text)
        exact.setdefault(text, []).append(index)
        if tokens:
            normal.setdefault(tokens, []).append(index)
        for run in set(_runs(tokens, n)):
            runs.setdefault(run, []).append(index)
    best: dict[int, tuple[int, Match]] = {}

    def note(rank: int, kind: MatchKind, indices: Sequence[int], position: int, shared: str) -> None:
        for index in indices:
            if index not in best or rank < best[index][0]:
                best[index] = (rank, Match(index, position, kind, shared))

    for position, text in enumerate(training):
        tokens = words(text)
        note(0, "exact", exact.get(text, ()), position, text)
        note(1, "normalised", normal.get(tokens, ()), position, " ".join(tokens))
        for run in _runs(tokens, n):
            if run in runs:
                note(2, "ngram", runs[run], position, " ".join(run))
    return tuple(best[index][1] for index in sorted(best))


def measured(training: Sequence[str], benchmark: Sequence[str], n: int = NGRAM_WORDS) -> Overlap:
    """The overlap of a benchmark, which has at least one problem, with the training prompts, for the lock."""
    matches = find_matches(training, benchmark, n)
    kinds = [match.kind for match in matches]
    return Overlap(
        problems=len(benchmark),
        exact=kinds.count("exact"),
        normalised=kinds.count("normalised"),
        ngram=kinds.count("ngram"),
        listed=tuple(_named(match) for match in matches[:LISTED]),
    )


def contaminated(
    loaded: LoadedStudy,
    training: Sequence[str],
    benchmarks: Mapping[str, Sequence[str]],
    n: int = NGRAM_WORDS,
) -> Iterator[Problem]:
    """The lock's rule: a benchmark whose share of matched problems is above `data.contamination_limit`."""
    for name, problems in benchmarks.items():
        if problems:
            yield from above_limit(loaded, name, measured(training, problems, n))


def above_limit(loaded: LoadedStudy, name: str, overlap: Overlap) -> Iterator[Problem]:
    """`contaminated`, of one benchmark that was measured."""
    limit, share = loaded.study.data.contamination_limit, overlap.matched / overlap.problems
    if share > limit:
        more = f"; and {overlap.matched - 5} more" if overlap.matched > 5 else ""
        listed = f"{'; '.join(overlap.listed[:5])}{more}"
        message = (
            f"{overlap.matched} of {overlap.problems} problems of benchmark `{name}` ({share:.1%}) stand "
            f"among the training prompts, more than the limit of {limit:.1%}: {listed}"
        )
        hint = "Remove them from the training prompts, or raise `data.contamination_limit` and say why."
        yield loaded.problem(message, "data", "benchmarks", name, hint=hint, at_key=True)


def _named(match: Match) -> str:
    shared = match.shared if len(match.shared) <= 60 else f"{match.shared[:57]}..."
    return f"problem {match.benchmark_index} = prompt {match.training_index} ({match.kind}: {shared!r})"


def _runs(tokens: tuple[str, ...], n: int) -> Iterator[tuple[str, ...]]:
    """The runs of n words; the whole text if it is shorter."""
    if 0 < len(tokens) <= n:
        yield tokens
    for start in range(len(tokens) - n + 1 if len(tokens) > n else 0):
        yield tokens[start : start + n]
