"""Training prompts that stand in a benchmark are found; problems that only look alike are not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prereg.contamination import contaminated, find_matches, measured, words
from tests.prereg.studies import loaded


def kinds(training: list[str], benchmark: list[str], n: int = 13) -> list[tuple[int, int, str]]:
    return [(m.benchmark_index, m.training_index, m.kind) for m in find_matches(training, benchmark, n)]


def test_the_three_kinds_of_match() -> None:
    long = "A train leaves Berlin at nine and arrives in Hamburg at eleven; how fast is it on average?"
    inside = f"Read this. {long} Answer in km/h, and show your work."
    training = ["What is 2+2?", "what  is 7 + 5", inside, "unrelated"]
    benchmark = ["What is 7+5?", "What is 2+2?", long, "What is 9+9?"]
    assert kinds(training, benchmark) == [(0, 1, "normalised"), (1, 0, "exact"), (2, 2, "ngram")]


def test_what_is_measured_for_the_lock() -> None:
    long = "A train leaves Berlin at nine and arrives in Hamburg at eleven; how fast is it on average?"
    found = measured(
        ["What is 2+2?", "what  is 7 + 5", f"So: {long}"], ["What is 7+5?", "What is 2+2?", long, "x"]
    )
    assert (found.problems, found.exact, found.normalised, found.ngram, found.matched) == (4, 1, 1, 1, 3)
    assert found.listed[0] == "problem 0 = prompt 1 (normalised: 'what is 7 + 5')"


def test_the_strictest_kind_wins_then_the_first_prompt() -> None:
    assert kinds(["A b.", "a b", "A b", "A b"], ["A b"]) == [(0, 2, "exact")]
    assert kinds(["A b.", "a B"], ["A b"]) == [(0, 0, "normalised")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5+5-1=", "5-5+1="), ("5*5=", "5+5="), ("1.5+2=", "15+2="), ("(1+2)*3", "1+(2*3)"),
        ("x < 3", "x > 3"),
        ("x^{12}", "x^{1}2"), ("|x|", "x"), ("-3", "3"), ("12 3", "1 23"),
    ],
)  # fmt: skip
def test_signs_of_mathematics_are_not_punctuation(one: str, other: str) -> None:
    assert kinds([one], [other]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("What is x?", "what is X"), ("a,  b\n", "A b"), ("$x$ = 3.", "x=3"), ("ﬁve", "FIVE"), ("“Hi”", "hi!")],
)
def test_case_blanks_and_punctuation_do_not_count(one: str, other: str) -> None:
    assert kinds([one], [other]) == [(0, 0, "normalised")]


def test_words_of_scripts_without_blanks_are_signs() -> None:
    assert words("求x的值。") == ("求", "x", "的", "值")


def test_a_short_problem_that_stands_within_a_longer_one_is_no_match() -> None:
    assert kinds(["3+5+5-1="], ["5+5-1="]) == []


def test_a_run_of_twelve_shared_words_is_too_short_and_one_of_thirteen_is_not() -> None:
    shared = [f"w{chr(97 + i)}" for i in range(13)]
    for count, expected in ((12, []), (13, [(0, 0, "ngram")])):
        common = " ".join(shared[:count])
        assert kinds([f"one two {common} three"], [f"four {common} five six"]) == expected


def test_texts_without_words_match_only_exactly() -> None:
    assert kinds(["?", ""], ["!", "", "?"]) == [(1, 1, "exact"), (2, 0, "exact")]


def brute(training: list[str], benchmark: list[str], n: int) -> list[tuple[int, int, str]]:
    """The definition, by comparing every pair."""

    def runs(text: str) -> set[tuple[str, ...]]:
        w = words(text)
        if len(w) <= n:
            return {w} if w else set()
        return {w[i : i + n] for i in range(len(w) - n + 1)}

    found = []
    for i, problem in enumerate(benchmark):
        ranked = []
        for j, prompt in enumerate(training):
            if prompt == problem:
                ranked.append((0, j, "exact"))
            elif words(prompt) and words(prompt) == words(problem):
                ranked.append((1, j, "normalised"))
            elif runs(prompt) & runs(problem):
                ranked.append((2, j, "ngram"))
        if ranked:
            _, j, kind = min(ranked)
            found.append((i, j, kind))
    return found


TEXTS = st.lists(
    st.lists(st.sampled_from(["a", "B", "b", "1", "+", ". "]), max_size=6).map(" ".join), max_size=6
)


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS, st.integers(1, 4))
def test_it_agrees_with_comparing_every_pair(training: list[str], benchmark: list[str], n: int) -> None:
    assert kinds(training, benchmark, n) == brute(training, benchmark, n)


def test_the_rule_refuses_above_the_limit_and_lists_what_it_found() -> None:
    benchmarks = {"easy": ["1+1=", "2+2=", "3+3=", "4+4="], "hard": ["9*9="]}
    (only,) = contaminated(loaded(), ["5+5=", "2 + 2 ="], benchmarks)
    assert only.path == ("data", "benchmarks", "easy")
    assert only.line is not None
    assert "1 of 4 problems" in only.message
    assert "problem 1 = prompt 1 (normalised: '2 + 2 =')" in only.message
    quarter = ("data:\n", "data:\n  contamination_limit: 0.25\n")
    assert list(contaminated(loaded(quarter), ["2+2="], benchmarks)) == []
    assert len(list(contaminated(loaded(quarter), ["2+2=", "3+3="], benchmarks))) == 1
    assert list(contaminated(loaded(), [], {"easy": []})) == []
