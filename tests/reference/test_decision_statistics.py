"""Sign flips, equivalence, the wild bootstrap, scoreboards and families: reference values and wrong twins."""

from __future__ import annotations

from itertools import permutations, product
from math import comb, isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prereg.graph import Graph, graph_of, holm_graph, left_over, sequence_graph, share_to_reach
from prereg.hypotheses import Direction, Family
from reports.binomial import at_least, at_most, clopper_pearson
from reports.families import by_graph, fixed_sequence, unreached
from reports.inference import holm, p_of_claim, p_opposite, p_value, t_tails
from reports.intervals import paired_t
from reports.signflip import sign_flip_tails
from reports.wildbootstrap import WEIGHTS, drawn, enumerated, wild_bootstrap_tails

NEAR = (0.1, -0.3, 0.4, 0.0, 0.2)
SHOES_A = (13.2, 8.2, 10.9, 14.3, 10.7, 6.6, 9.5, 10.8, 8.8, 13.3)
SHOES_B = (14.0, 8.8, 11.2, 14.2, 11.8, 6.4, 9.8, 11.3, 9.3, 13.6)
"""Wear of two soles on the feet of ten boys."""
SLEEP = (-1.2, -2.4, -1.3, -1.3, 0.0, -1.0, -1.8, -0.8, -4.6, -1.4)
"""Student's sleep data as R ships them: extra hours under drug 1 less those under drug 2."""

finite = st.floats(-9, 9, allow_nan=False).map(lambda x: round(x, 3))


# Sign flips


def flipped_p(values: tuple[float, ...], direction: Direction) -> float:
    """By brute force, the mean as the statistic."""
    observed = sum(values)
    sums = [
        sum(s * v for s, v in zip(signs, values, strict=True))
        for signs in product((1, -1), repeat=len(values))
    ]
    if direction == "two_sided":
        return sum(abs(x) >= abs(observed) - 1e-9 for x in sums) / len(sums)
    sign = 1 if direction == "greater" else -1
    return sum(sign * x >= sign * observed - 1e-9 for x in sums) / len(sums)


@pytest.mark.parametrize(
    ("seeds", "floor"), [(3, 0.25), (4, 0.125), (5, 0.0625), (6, 0.03125), (8, 0.0078125)]
)
def test_the_floor_of_sign_flips(seeds: int, floor: float) -> None:
    tails = sign_flip_tails(range(1, seeds + 1))
    assert p_of_claim(tails, "two_sided") == floor
    assert p_of_claim(tails, "greater") == floor / 2


def test_sign_flips_to_the_reference_values() -> None:
    assert p_of_claim(sign_flip_tails([5, 6, 7, 8, 9]), "two_sided") == 0.0625
    assert p_of_claim(sign_flip_tails([5, 6, 7, 8, 9]), "greater") == 0.03125
    mixed = sign_flip_tails([1, 2, 3, 4, -0.5])
    assert p_of_claim(mixed, "two_sided") == 0.125
    assert p_of_claim(mixed, "greater") == 0.0625
    t = p_value(paired_t(np.array([1, 2, 3, 4, -0.5])), "two_sided")
    assert t == pytest.approx(0.0717714, abs=5e-8)


@given(st.lists(finite, min_size=1, max_size=9))
def test_sign_flips_against_every_flip(values: list[float]) -> None:
    tails = sign_flip_tails(values)
    directions: tuple[Direction, ...] = ("greater", "less", "two_sided")
    for direction in directions:
        expected = flipped_p(tuple(values), direction)
        assert p_of_claim(tails, direction) == pytest.approx(expected, abs=1e-12)


def test_a_shifted_null_shifts_the_differences() -> None:
    """Against a smallest effect of 2 the differences are -1, 0, 1, 2, -2.5: not the flips of the raw ones."""
    tails = sign_flip_tails([1, 2, 3, 4, -0.5])
    assert p_of_claim(tails, "greater", 2) == flipped_p((-1, 0, 1, 2, -2.5), "greater")
    assert p_of_claim(tails, "greater", 2) != p_of_claim(tails, "greater")
    assert p_of_claim(tails, "less", 2) == flipped_p((3, 4, 5, 6, 1.5), "less") == 1


def test_the_observed_flip_counts_among_the_flips() -> None:
    """The plausible wrong one counts strictly larger sums only, and gives p = 0 for seeds that all agree."""
    values = (5.0, 6, 7, 8, 9)
    strict = (
        sum(sum(s * v for s, v in zip(f, values, strict=True)) > 35 for f in product((1, -1), repeat=5)) / 32
    )
    assert strict == 0
    assert p_of_claim(sign_flip_tails(values), "greater") == 1 / 32


def test_ties_that_only_rounding_parts_are_ties() -> None:
    """.1 + .2 is not .3 in floating point: flipping both sides of -.3 + .1 + .2 gives the same sum, 0."""
    assert p_of_claim(sign_flip_tails([0.1, 0.2, -0.3]), "greater") == 5 / 8


def test_forty_seeds_are_counted_and_none_are_not_a_number() -> None:
    assert p_of_claim(sign_flip_tails([1.0] * 20 + [-1.0] * 4), "greater") == pytest.approx(
        sum(comb(24, k) for k in range(20, 25)) / 2**24
    )
    assert isnan(p_of_claim(sign_flip_tails([]), "greater"))


# Equivalence and non-inferiority


def test_tost_to_the_reference_values() -> None:
    interval = paired_t(np.array(NEAR), level=0.9)
    assert interval.estimate == pytest.approx(0.08)
    assert (interval.low, interval.high) == (
        pytest.approx(-0.166779, abs=5e-7),
        pytest.approx(0.326779, abs=5e-7),
    )
    assert p_value(interval, "equivalent", 0.5) == pytest.approx(0.0110972, abs=5e-8)


def test_tost_on_the_sleep_data_of_r() -> None:
    """Bounds of -1.75 and .25 are a margin of 1 about -.75."""
    about = paired_t(np.array(SLEEP) + 0.75)
    assert p_value(about, "equivalent", 1.0) == pytest.approx(0.336182, abs=5e-7)


def test_the_sleep_data_give_the_t_test_of_r() -> None:
    """t.test(extra ~ group, paired = TRUE): t = -4.0621, df = 9, p = 0.002833, mean -1.58."""
    interval = paired_t(np.array(SLEEP))
    assert interval.estimate == pytest.approx(-1.58)
    assert interval.estimate / interval.se == pytest.approx(-4.0621, abs=5e-5)
    assert p_value(interval, "two_sided") == pytest.approx(0.002833, abs=5e-7)
    assert (interval.low, interval.high) == (
        pytest.approx(-2.4598858, abs=5e-7),
        pytest.approx(-0.7001142, abs=5e-7),
    )


def test_the_shoes_give_the_paired_t_test_of_pbkrtest() -> None:
    """The paired t test of MASS's `shoes` (Box, Hunter and Hunter 1978), as pbkrtest 0.5.3 prints it.

    Vignette "01 - Introduction to pbkrtest": estimate -0.41, statistic -3.35, p 0.00854, df 9, interval
    -0.687 to -0.133.
    """
    interval = paired_t(np.array(SHOES_A) - np.array(SHOES_B))
    assert interval.estimate == pytest.approx(-0.41, abs=5e-10)
    assert interval.estimate / interval.se == pytest.approx(-3.35, abs=5e-3)
    assert interval.df == 9
    assert p_value(interval, "two_sided") == pytest.approx(0.00854, abs=5e-6)
    assert (interval.low, interval.high) == (pytest.approx(-0.687, abs=5e-4), pytest.approx(-0.133, abs=5e-4))
    # With the sd over S instead of S - 1, t would be -3.53.
    population = (np.array(SHOES_A) - np.array(SHOES_B)).std() / np.sqrt(10)
    assert interval.estimate / population == pytest.approx(-3.53, abs=5e-3)


def test_no_difference_found_is_not_equivalence() -> None:
    """The plausible wrong one takes a large two-sided p for sameness; few noisy seeds always have one."""
    noisy = paired_t(np.array([-1.0, 2, -3, 3, 0]))
    assert p_value(noisy, "two_sided") > 0.8
    assert p_value(noisy, "equivalent", 0.5) > 0.3
    assert p_value(paired_t(np.array(NEAR)), "equivalent", 0.5) < 0.05


def test_tost_takes_the_larger_p_and_neither_half_of_it_nor_the_smaller() -> None:
    tails = t_tails(paired_t(np.array(NEAR)))
    one, other = tails.above(-0.5), tails.below(0.5)
    assert p_of_claim(tails, "equivalent", 0.5) == max(one, other)
    assert min(one, other) == pytest.approx(0.0037, abs=1e-4)


@given(
    st.lists(finite, min_size=3, max_size=8).filter(lambda x: np.std(x) > 0.01),
    st.floats(0.1, 5),
    st.floats(0.01, 0.2),
)
def test_tost_rejects_where_the_interval_at_1_less_2_alpha_lies_within(
    values: list[float], margin: float, alpha: float
) -> None:
    interval = paired_t(np.array(values), level=1 - 2 * alpha)
    p, loss = p_value(interval, "equivalent", margin), p_value(interval, "non_inferior", margin)
    if abs(p - alpha) > 1e-9:
        assert (p < alpha) == (-margin < interval.low and interval.high < margin)
    if abs(loss - alpha) > 1e-9:
        assert (loss < alpha) == (-margin < interval.low)
    assert loss <= p


def test_the_opposites_of_equivalence_and_non_inferiority() -> None:
    far = paired_t(np.array([5.0, 6, 7, 8, 9]))
    assert p_opposite(far, "equivalent", 2) == pytest.approx(2 * p_value(far, "greater", 2))
    assert p_opposite(far, "non_inferior", 2) == pytest.approx(1 - p_value(far, "non_inferior", 2))
    worse = paired_t(-np.array([5.0, 6, 7, 8, 9]))
    assert p_opposite(worse, "non_inferior", 2) == pytest.approx(p_value(worse, "less", 2))


# The wild bootstrap


def webb_p(values: tuple[float, ...]) -> float:
    """Two-sided, by every combination, with the t statistic itself."""
    d = np.array(values)

    def t(x: np.ndarray) -> float:
        return float(abs(x.mean()) / (x.std(ddof=1) / len(x) ** 0.5)) if x.std() > 0 else float("inf")

    stars = [t(d * np.array(w)) for w in product(WEIGHTS, repeat=len(d))]
    return sum(star >= t(d) * (1 - 1e-9) for star in stars) / len(stars)


@pytest.mark.parametrize("values", [(1.0, 2, 3, 4), (1.0, 2.5, -0.3), (0.2, -0.3, 0.4, 0.9)])
def test_the_wild_bootstrap_against_every_combination_and_the_t_statistic(values: tuple[float, ...]) -> None:
    tails = wild_bootstrap_tails(values, 999, "s", "h")
    assert p_of_claim(tails, "two_sided") == pytest.approx(webb_p(values), abs=1e-12)


def test_webbs_weights_have_mean_0_and_variance_1() -> None:
    assert len(set(WEIGHTS)) == 6
    assert WEIGHTS.mean() == pytest.approx(0)
    assert (WEIGHTS**2).mean() == pytest.approx(1)


def test_two_point_weights_would_give_another_p() -> None:
    """Rademacher weights are sign flips: with three seeds their p has 8 values, Webb's 216."""
    values = (1.0, 2.5, -0.3)
    webb = p_of_claim(wild_bootstrap_tails(values, 999, "s", "h"), "two_sided")
    assert webb != pytest.approx(p_of_claim(sign_flip_tails(values), "two_sided"))
    assert (webb * 216) == pytest.approx(round(webb * 216))


@pytest.mark.parametrize(
    ("seeds", "studies", "low", "high"), [(3, 4000, 0.001, 0.007), (5, 3000, 0.047, 0.072)]
)
def test_how_often_the_wild_bootstrap_rejects_a_true_null(
    seeds: int, studies: int, low: float, high: float
) -> None:
    """Two-sided at .05 with normal seeds: hardly ever at three, somewhat too often at five."""
    weights = np.array(list(product(WEIGHTS, repeat=seeds)))
    rejected = 0
    for chunk in np.split(np.random.default_rng(5).normal(size=(studies, seeds)), 4):
        ratio = np.abs(weights @ chunk.T) / np.sqrt(weights**2 @ chunk.T**2)
        observed = np.abs(chunk.sum(1)) / np.sqrt((chunk**2).sum(1))
        rejected += int(((ratio >= observed - 1e-9).mean(0) <= 0.05).sum())
    first = tuple(float(x) for x in chunk[0])
    own = p_of_claim(wild_bootstrap_tails(first, 999, "s", "h"), "two_sided")
    assert own == pytest.approx((ratio[:, 0] >= observed[0] - 1e-9).mean(), abs=1e-12)
    assert low <= rejected / studies <= high


def test_draws_are_keyed_by_study_hypothesis_and_replicate() -> None:
    assert enumerated(6)
    assert not enumerated(7)
    weights = drawn(8, 50, "study", "h")
    assert (drawn(8, 20, "study", "h") == weights[:20]).all(), "more replicates do not change those before"
    assert not (drawn(8, 50, "study", "g") == weights).all()
    assert not (drawn(8, 50, "other", "h") == weights).all()
    assert not (drawn(8, 50, "studyh", "") == weights).all()
    counts = np.unique(drawn(10, 6000, "study", "h"), return_counts=True)[1]
    assert len(counts) == 6
    assert np.abs(counts / 60_000 - 1 / 6).max() < 0.006


def test_drawn_and_enumerated_agree_and_the_data_count_as_a_replicate() -> None:
    values = (3.0, 4, 5, 3.5, 4.5, 4.2, 3.3)
    assert p_of_claim(wild_bootstrap_tails(values, 999, "s", "h"), "greater") >= 1 / 1000
    mild = (1.0, -0.6, 0.9, 0.4, -0.5, 1.2, 0.3)
    found = p_of_claim(wild_bootstrap_tails(mild, 9_999, "s", "h"), "two_sided")
    assert found == pytest.approx(p_value(paired_t(np.array(mild)), "two_sided"), abs=0.06)
    assert isnan(p_of_claim(wild_bootstrap_tails([0.0, 0, 0], 999, "s", "h"), "greater"))


# k of m predictions


def test_a_scoreboard_to_the_reference_values() -> None:
    assert at_least(5, 6) == 0.109375
    low, high = clopper_pearson(5, 6)
    assert (low, high) == (pytest.approx(0.3588, abs=5e-5), pytest.approx(0.9958, abs=5e-5))


def test_the_wrong_interval_of_a_scoreboard_reaches_beyond_1() -> None:
    """p -+ 1.96 sqrt(p (1 - p) / m) for 5 of 6 ends at 1.13."""
    assert 5 / 6 + 1.96 * (5 / 36 / 6) ** 0.5 > 1.13
    assert clopper_pearson(6, 6)[1] == 1
    assert clopper_pearson(0, 6) == (0, pytest.approx(1 - 0.025 ** (1 / 6)))


@pytest.mark.parametrize("of", [1, 4, 7])
def test_a_scoreboard_against_every_outcome(of: int) -> None:
    totals = [sum(coins) for coins in product((0, 1), repeat=of)]
    for right in range(of + 1):
        assert at_least(right, of) == sum(total >= right for total in totals) / 2**of
        assert at_most(right, of) == sum(total <= right for total in totals) / 2**of


# Families

P = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}


def test_holm_is_a_graph() -> None:
    assert by_graph(holm_graph(list(P)), P) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})


def test_a_fixed_sequence_to_the_reference_values_and_as_a_graph() -> None:
    p = [0.01, 0.03, 0.2, 0.001]
    assert fixed_sequence(p) == [0.01, 0.03, 0.2, 0.2]
    assert list(by_graph(sequence_graph("abcd"), dict(zip("abcd", p, strict=True))).values()) == [
        0.01,
        0.03,
        0.2,
        0.2,
    ]
    assert holm(p)[3] == pytest.approx(0.004), "Holm would have confirmed the last"


def test_a_member_that_could_not_be_tested_stops_a_sequence() -> None:
    found = fixed_sequence([0.01, float("nan"), 0.02])
    assert found[0] == 0.01
    assert isnan(found[1])
    assert found[2] == 1


names = st.integers(1, 6).map(lambda n: [f"h{i}" for i in range(n)])
p_values = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.05, 1.0, float("nan")]))


def same(one: float, other: float) -> bool:
    return (isnan(one) and isnan(other)) or one == pytest.approx(other, rel=1e-9, abs=1e-12)


@given(st.data())
def test_graph_equals_holm_and_fixed_sequence(data: st.DataObject) -> None:
    members = data.draw(names)
    p = {name: data.draw(p_values) for name in members}
    by_holm = by_graph(holm_graph(members), p)
    assert all(same(by_holm[n], x) for n, x in zip(members, holm(list(p.values())), strict=True))
    in_order = by_graph(sequence_graph(members), p)
    assert all(same(in_order[n], x) for n, x in zip(members, fixed_sequence(list(p.values())), strict=True))


def some_graph(data: st.DataObject) -> Graph:
    """Weights and transitions whose sums are at most 1, in tenths."""
    members = data.draw(st.integers(2, 5).map(lambda n: [f"h{i}" for i in range(n)]))

    def shares(count: int) -> list[float]:
        cuts = sorted(data.draw(st.lists(st.integers(0, 10), min_size=count, max_size=count)))
        return [(high - low) / 10 for low, high in zip([0, *cuts], cuts, strict=False)]

    weights = dict(zip(members, shares(len(members)), strict=True))
    others = {name: [o for o in members if o != name] for name in members}
    rows = {name: dict(zip(others[name], shares(len(members) - 1), strict=True)) for name in members}
    return Graph(weights, rows)


@given(st.data())
def test_adjusted_p_values_of_a_graph_reject_what_the_procedure_rejects(data: st.DataObject) -> None:
    """Bretz et al. (2009), algorithm 1: any member whose p is at most its weight times alpha goes."""
    graph = some_graph(data)
    p = {name: data.draw(st.floats(0.0001, 0.2)) for name in graph.weights}
    adjusted, left = by_graph(graph, p), graph
    while gone := next((n for n, w in left.weights.items() if p[n] <= w * 0.05), None):
        left = left.without(gone)
    kept = {n for n, value in adjusted.items() if value > 0.05 * (1 + 1e-9)}
    surely = {n for n, value in adjusted.items() if value <= 0.05 * (1 - 1e-9)}
    assert kept <= set(left.weights)
    assert not surely & set(left.weights)


@given(st.data())
def test_no_order_of_rejections_changes_a_graph_and_no_level_is_made(data: st.DataObject) -> None:
    graph = some_graph(data)
    gone = data.draw(st.lists(st.sampled_from(list(graph.weights)), unique=True, max_size=3))
    results = []
    for order in permutations(gone):
        left = graph
        for name in order:
            left = left.without(name)
        results.append(left.weights)
        assert sum(left.weights.values()) <= 1 + 1e-9
        assert all(0 <= w <= 1 + 1e-9 for w in left.weights.values())
    assert all(weights == pytest.approx(results[0], abs=1e-9) for weights in results)


@given(st.data())
def test_a_graph_controls_the_error_of_every_intersection(data: st.DataObject) -> None:
    """It is a closed test: rejecting by the graph is rejecting every intersection by weighted Bonferroni."""
    graph = some_graph(data)
    p = {name: data.draw(st.floats(0.0001, 0.2)) for name in graph.weights}
    adjusted = by_graph(graph, p)
    members = list(graph.weights)
    for name in members:
        highest = 0.0
        for chosen in product((True, False), repeat=len(members)):
            subset = [m for m, keep in zip(members, chosen, strict=True) if keep]
            if name in subset:
                weights = left_over(graph, [m for m in members if m not in subset]).weights
                highest = max(
                    highest, min(1.0, min((p[m] / weights[m] for m in subset if weights[m] > 0), default=1.0))
                )
        assert adjusted[name] == pytest.approx(highest, rel=1e-6)


def test_the_example_of_a_primary_pair_with_a_secondary_each() -> None:
    """By hand: half of alpha each for a and b; a hands to c, b to d, and those to the other primary.

    a (.01 <= .025) goes and c has .5: .02 <= .025 goes, b has 1: .04 <= .05 goes, d has 1: .06 stays. The
    ratios are .02, .04, .04 and .06. Without handing on, b alone would need .025.
    """
    graph = Graph(
        {"a": 0.5, "b": 0.5, "c": 0.0, "d": 0.0},
        {"a": {"c": 1.0}, "b": {"d": 1.0}, "c": {"b": 1.0}, "d": {"a": 1.0}},
    )
    p = {"a": 0.01, "b": 0.04, "c": 0.02, "d": 0.06}
    assert by_graph(graph, p) == pytest.approx({"a": 0.02, "c": 0.04, "b": 0.04, "d": 0.06})
    assert p["b"] / 0.5 > 0.05, "weighted Bonferroni would have stopped there"


def test_what_no_alpha_has_reached() -> None:
    family = Family(method="graph", weights={"a": 1.0, "b": 0.0}, transitions={"a": {"b": 1.0}})
    assert unreached(family, ("a", "b"), ()) == ("b",)
    assert unreached(family, ("a", "b"), ("a",)) == ()
    assert share_to_reach(graph_of(family, ("a", "b")), "b") == 1
    assert share_to_reach(holm_graph("abcd"), "c") == 0.25
