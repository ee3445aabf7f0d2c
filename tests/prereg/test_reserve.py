"""Which reserve seed stands for which seed, what a plan says of it in words, what the lock lets pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prereg import checks
from prereg.checks import exclusions
from prereg.exclusions import COUNTED, NAMED, OUTCOMES
from prereg.exports import aspredicted, osf
from prereg.planned import missing_words
from prereg.problems import Refused
from prereg.reserve import Replacement, draws, standing, uncalled, valid
from prereg.show import render_plan
from prereg.study import Study
from tests.prereg.reserve_refusals import EIGHT, FLIPS, SEEDS, above_seeds
from tests.prereg.studies import loaded

RESERVE = above_seeds("reserve_seeds: [7, 8]")


PLAN: Study = loaded(*RESERVE).study
"""Seeds 1, 2 and 3; in reserve 7 and 8."""


def test_reserve_seeds_are_drawn_in_the_order_of_the_list() -> None:
    found = draws(PLAN, (), [(2, "a.m.s2"), (1, "a.m.s1")])
    assert found == (Replacement(2, 7, "a.m.s2"), Replacement(1, 8, "a.m.s1"))
    assert standing((1, 2, 3), found) == (8, 7, 3)
    assert str(found[0]) == "reserve seed 7 drawn in place of 2: a.m.s2 failed"


def test_a_reserve_seed_that_fails_is_replaced_by_the_next_in_the_same_place() -> None:
    found = draws(PLAN, (Replacement(2, 7, "a.m.s2"),), [(2, "a.m.s2"), (7, "a.m.s7")])
    assert found == (Replacement(7, 8, "a.m.s7"),)
    assert standing((1, 2, 3), (Replacement(2, 7, "a.m.s2"), *found)) == (1, 8, 3)


def test_two_failures_of_one_seed_draw_one_seed_and_an_empty_reserve_none() -> None:
    assert draws(PLAN, (), [(2, "a.m.s2"), (2, "b.m.s2")]) == (Replacement(2, 7, "a.m.s2"),)
    three = draws(PLAN, (), [(2, "a"), (1, "b"), (3, "c")])
    assert [one.by for one in three] == [7, 8]
    assert standing((1, 2, 3), three) == (8, 7, 3)


def test_what_was_recorded_counts_only_where_the_plan_allows_it() -> None:
    good, later = Replacement(2, 7, "a"), Replacement(1, 8, "b")
    for bad in (
        Replacement(2, 8, "x"),
        Replacement(9, 8, "x"),
        Replacement(1, 7, "x"),
        Replacement(1, 5, "x"),
    ):
        assert valid(PLAN, [good, bad, later]) == (good, later)
    assert valid(PLAN, [later]) == ()
    assert uncalled(PLAN, (good,), {7, 8}) == (8,)


@given(
    st.lists(st.integers(0, 4), unique=True, min_size=1, max_size=5),
    st.lists(st.integers(5, 8), unique=True, max_size=4),
    st.lists(st.integers(0, 8), max_size=12),
)
def test_places_are_taken_as_by_hand(seeds: list[int], reserve: list[int], failing: list[int]) -> None:
    """Against a walk by hand: the first to fail that stands is served, and no later failure changes a draw.

    Seeds in reserve may have failed before they are drawn, by runs that nothing called for.
    """
    study = PLAN.model_copy(update={"seeds": tuple(seeds), "reserve_seeds": tuple(reserve)})
    places, left = list(seeds), list(reserve)
    while left and (standing_failures := [seed for seed in failing if seed in places]):
        places[places.index(standing_failures[0])] = left.pop(0)
    failed = [(seed, f"r{seed}") for seed in failing]
    found = draws(study, (), failed)
    assert standing(seeds, found) == tuple(places)
    assert len(set(places)) == len(places)
    for end in range(len(failed)):
        first = draws(study, (), failed[:end])
        assert found[: len(first)] == first
        assert (*first, *draws(study, first, failed)) == found
    assert valid(study, found) == found


def test_the_plan_says_what_becomes_of_failed_and_excluded_runs() -> None:
    rules = (
        "reserve_seeds: [7, 8]\n"
        "exclusions: [{id: cut-too-often, field: resumptions, above: 5}, "
        "{id: other-gpu, field: device_kind, differs_from: cpu}]\n"
        "missing: {pairs: complete_cases, at_least: 2}"
    )
    study = loaded(*above_seeds(rules)).study
    checks.check(loaded(*above_seeds(rules)))
    shown = render_plan(study)
    for words in (
        "Seeds in reserve: 7, 8. Each is run only in the place of a seed of which a run ended with an error "
        "twice",
        "`cut-too-often`: the seed of a run with more than 5 resumptions",
        "`other-gpu`: the seed of a run whose device_kind is not cpu",
        "if they are 2 or more",
    ):
        assert words in shown, words
    assert "reserve" not in render_plan(loaded().study)
    for form in (osf, aspredicted):
        answers = "\n".join(one.answer for one in form.answers(study, None))
        for words in ("Seeds in reserve: 7, 8", "`cut-too-often`", missing_words(study.missing)):
            assert words in answers, words


def test_what_can_be_excluded_by_is_not_what_is_refused() -> None:
    assert not {*COUNTED, *NAMED} & set(OUTCOMES)
    for name in COUNTED:
        checks.check(loaded(*above_seeds(f"exclusions: [{{id: a, field: {name}, above: 0}}]")))
    for name in NAMED:
        checks.check(loaded(*above_seeds(f"exclusions: [{{id: a, field: {name}, differs_from: x}}]")))
    for name in OUTCOMES:
        study = loaded(*above_seeds(f"exclusions: [{{id: a, field: {name}, above: 0}}]"))
        assert [p.path for p in exclusions.exclusions_are_blind(study)] == [("exclusions", 0, "field")]


def test_as_few_pairs_as_can_decide_pass() -> None:
    enough = above_seeds("missing: {pairs: complete_cases, at_least: 5}")
    assert list(exclusions.fewest_pairs_can_decide(loaded(*enough, FLIPS, EIGHT))) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("missing: {samples: drop}", "expected `block`"),
        ("missing: {pairs: complete_cases, at_least: 1}", "at least 2"),
        ("missing: {pair: complete_cases}", "Did you mean `pairs`?"),
        ("reserve_seeds: [-1]", "at least 0"),
        ("exclusions: [{id: a, field: device_kind, differs_from: 5}]", "expected a text"),
        ("exclusions: [{id: a, field: resumptions, over: 5}]", "unknown key `over`"),
    ],
)
def test_the_file_is_refused_at_its_place(text: str, words: str) -> None:
    with pytest.raises(Refused) as refused:
        loaded((SEEDS, f"{text}\n{SEEDS}"))
    problem: Any = refused.value.problems[0]
    assert words in str(problem)
    assert problem.line
