"""The reference values of docs/statistics.md, each beside the plausible formula that misses it."""

from __future__ import annotations

from itertools import combinations
from math import comb, isnan, sqrt

import numpy as np
import pytest

from reports import curves, metrics
from reports.inference import holm, p_opposite, p_value
from reports.intervals import Interval, crossed, crossed_variance, paired_t, satterthwaite, seed_means


def counts(*values: int) -> metrics.Counts:
    return np.array(values, dtype=np.int64)


def test_average_has_two_standard_errors_and_neither_is_that_of_independent_samples() -> None:
    found = metrics.average(counts(2, 4, 0, 1), counts(4, 4, 4, 4))
    assert found.mean == 0.4375
    assert found.se_problems == pytest.approx(0.213478, abs=5e-7)
    assert found.se_fixed == pytest.approx(0.095470, abs=5e-7)
    as_if_independent = sqrt(0.4375 * 0.5625 / 16)
    assert as_if_independent == pytest.approx(0.124020, abs=5e-7)
    assert min(abs(found.se_problems - as_if_independent), abs(found.se_fixed - as_if_independent)) > 0.02


def test_average_is_not_a_number_without_samples() -> None:
    assert isnan(metrics.average(counts(1, 0), counts(4, 0)).mean)
    assert isnan(metrics.average(counts(1, 0), counts(1, 1)).se_fixed)


def test_average_refuses_more_right_than_there_are_samples() -> None:
    with pytest.raises(ValueError, match="between 0"):
        metrics.average(counts(5), counts(4))


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [
        (5, 2, 1, 0.4),
        (5, 2, 3, 0.9),
        (32, 1, 8, 0.25),
        (32, 0, 32, 0.0),
        (32, 1, 32, 1.0),
        (32, 4, 8, 0.7045050055617352),
        (32, 16, 8, 0.9987764182424916),
        (200, 10, 100, 0.9992289739372822),
    ],
)
def test_pass_at_k_is_exact(n: int, c: int, k: int, value: float) -> None:
    assert metrics.pass_at_k(n, c, k) == value


def test_pass_at_k_to_seven_figures() -> None:
    assert metrics.pass_at_k(10, 3, 5) == pytest.approx(0.9166667, abs=5e-8)


def test_pass_at_k_is_not_estimable_beyond_its_samples() -> None:
    assert isnan(metrics.pass_at_k(4, 0, 8))
    assert isnan(metrics.pass_at_k_each(counts(4), counts(4), 8)[0])


def test_the_plug_in_pass_at_k_is_biased() -> None:
    """1 - (1 - c/n)^k is what many write; it misses the unbiased value by points."""
    assert pytest.approx(0.656, abs=1e-3) == 1 - (1 - 4 / 32) ** 8
    assert metrics.pass_at_k(32, 4, 8) == pytest.approx(0.7045, abs=1e-4)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_pass_at_k_is_the_share_of_subsets_with_a_right_sample(k: int) -> None:
    samples = [True, True, False, False, False, True, False]
    subsets = list(combinations(samples, k))
    assert metrics.pass_at_k(7, 3, k) == pytest.approx(sum(any(s) for s in subsets) / len(subsets), abs=1e-15)


def test_pass_at_k_variance_within_a_problem() -> None:
    assert metrics.pass_at_k_variance(32, 4, 8) == pytest.approx(0.036705500859, abs=5e-13)
    assert metrics.pass_at_k_variance(32, 16, 1) == pytest.approx(0.008064516129, abs=5e-13)
    assert isnan(metrics.pass_at_k_variance(32, 4, 17))


def test_pass_at_1_variance_is_p_q_over_n_minus_1_and_not_over_n() -> None:
    assert metrics.pass_at_k_variance(32, 16, 1) == pytest.approx(0.25 / 31)
    assert metrics.pass_at_k_variance(32, 16, 1) != pytest.approx(0.25 / 32)


def test_majority_shares_ties_and_lets_no_answer_win_without_votes() -> None:
    assert metrics.maj_at_k({"A": 2, "B": 1, "C": 1}, "A", 3) == pytest.approx(2 / 3)
    assert metrics.maj_at_k({"A": 3, "B": 3, "C": 2}, "A", 8) == 0.5
    assert metrics.maj_at_k({"B": 3}, "A", 2) == 0.0
    assert isnan(metrics.maj_at_k({"A": 2}, "A", 3))


def test_no_answer_never_wins_though_it_is_drawn() -> None:
    """Three blanks and one right answer: it wins whenever it is among the 2 drawn of 4, half the time."""
    assert metrics.maj_at_k({"A": 1}, "A", 2, unanswered=3) == 0.5
    as_a_class = metrics.maj_at_k({"A": 1, "": 3}, "A", 2)
    assert as_a_class == 0.25


def test_majority_against_every_subset() -> None:
    answers = ["A"] * 3 + ["B"] * 2 + ["C"] * 2 + [None]
    for k in range(1, 9):
        won = 0.0
        for subset in combinations(range(8), k):
            drawn = [answers[i] for i in subset if answers[i] is not None]
            votes = {answer: drawn.count(answer) for answer in set(drawn)}
            best = max(votes.values(), default=0)
            winners = [answer for answer, number in votes.items() if number == best]
            won += ("A" in winners) / max(1, len(winners))
        assert metrics.maj_at_k({"A": 3, "B": 2, "C": 2}, "A", k, unanswered=1) == pytest.approx(
            won / comb(8, k)
        )


def test_paired_t_over_seeds() -> None:
    interval = paired_t(np.array([5.0, 6, 7, 8, 9]))
    assert interval.estimate == 7
    assert interval.estimate / interval.se == pytest.approx(9.899495, abs=5e-7)
    assert (interval.low, interval.high) == (
        pytest.approx(5.036757, abs=5e-7),
        pytest.approx(8.963243, abs=5e-7),
    )
    assert p_value(interval, "two_sided") == pytest.approx(0.000584411, abs=5e-10)
    assert interval.df == 4
    assert "seeds" in interval.method
    assert interval.generalises_to == "new training seeds on these problems"


def test_the_normal_interval_is_too_narrow() -> None:
    values = np.array([5.0, 6, 7, 8, 9])
    normal = 7 - 1.959964 * values.std(ddof=1) / sqrt(5)
    assert paired_t(values).low < normal - 0.5


def test_paired_t_of_the_second_reference() -> None:
    assert p_value(paired_t(np.array([1.0, 2, 3, 4, -0.5])), "two_sided") == pytest.approx(
        0.0717714, abs=5e-8
    )


@pytest.mark.parametrize("values", [[3.0], [1.0, 1.0, 1.0], [0.0, 0.0]])
def test_no_spread_is_no_evidence(values: list[float]) -> None:
    interval = paired_t(np.array(values))
    assert isnan(interval.low)
    assert isnan(p_value(interval, "greater"))


def test_satterthwaite_from_its_components() -> None:
    found = satterthwaite(0.8, 0.5, 0.2, 5, 194)
    assert found.total == pytest.approx(1.1)
    assert found.df == pytest.approx(7.49968, abs=5e-6)
    assert found.total < 0.8 + 0.5, "the two variances alone count the residual twice"


def test_the_total_variance_is_never_below_that_of_the_seeds() -> None:
    assert satterthwaite(0.8, 0.1, 0.4, 5, 194).total == 0.8


def test_crossed_components_by_hand() -> None:
    """Two seeds, two problems: seed means 1 and 4, problem means 2 and 3, residual 0.5 in each cell."""
    blocks = [np.array([[1.0, 1.0], [3.0, 5.0]])]
    found = crossed_variance(blocks, [1.0])
    assert found.seeds == pytest.approx(4.5 / 2)
    assert found.problems == pytest.approx(0.5 / 2)
    assert found.cells == pytest.approx(1.0 / 4)
    assert found.total == pytest.approx(2.25)
    assert found.df == pytest.approx(2.25**2 / (2.25**2 + 0.25**2 + 0.25**2))


def test_benchmarks_are_nested_and_weighted() -> None:
    rng = np.random.default_rng(3)
    one, two = rng.normal(size=(4, 6)), rng.normal(size=(4, 9))
    found = crossed_variance([one, two], [0.25, 0.75])
    d = 0.25 * one.mean(axis=1) + 0.75 * two.mean(axis=1)
    assert found.seeds == pytest.approx(d.var(ddof=1) / 4)
    parts = [w**2 * x.mean(axis=0).var(ddof=1) / x.shape[1] for w, x in ((0.25, one), (0.75, two))]
    assert found.problems == pytest.approx(sum(parts))
    pooled = np.concatenate([one, two], axis=1)
    assert seed_means([one, two], [0.25, 0.75]) == pytest.approx(d)
    assert crossed([one, two], [0.25, 0.75]).estimate != pytest.approx(pooled.mean())


def test_benchmarks_share_their_seeds() -> None:
    """Seed means 1, 3 on one benchmark and 2.5, 1.5 on the other: d is 1.75, 2.25, with standard error .25.

    The mean of the benchmarks' own errors would be .75, and seeds drawn for each apart would give .559.
    """
    one, two = np.array([[1.0, 1.0], [3.0, 3.0]]), np.array([[2.5, 2.5], [1.5, 1.5]])
    found = paired_t(seed_means([one, two], [0.5, 0.5]))
    assert found.se == pytest.approx(0.25)
    own = [paired_t(block.mean(axis=1)).se for block in (one, two)]
    assert np.mean(own) == pytest.approx(0.75)
    assert sqrt(sum((0.5 * se) ** 2 for se in own)) == pytest.approx(0.559017, abs=5e-7)
    assert crossed_variance([one, two], [0.5, 0.5]).seeds == pytest.approx(0.25**2)


def test_crossed_needs_two_seeds_and_two_problems() -> None:
    assert isnan(crossed([np.ones((1, 5))], [1.0]).low)
    assert isnan(crossed([np.ones((5, 1))], [1.0]).low)


def test_the_crossed_interval_speaks_of_new_problems() -> None:
    blocks = [np.random.default_rng(1).normal(size=(5, 20))]
    assert crossed(blocks, [1.0]).generalises_to == "new training seeds and new problems like these"


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_counts_members_that_could_not_be_tested() -> None:
    with_missing = holm([0.01, float("nan"), 0.03, float("nan")])
    assert with_missing[0] == pytest.approx(0.04)
    assert with_missing[2] == pytest.approx(0.09)
    assert isnan(with_missing[1])
    assert holm([0.01, 0.03])[0] == pytest.approx(0.02)


SHIFTED = Interval(0.08, 0.0, 0.0, 0.1157584, 4, 0.95, "", "")
"""[.1, -.3, .4, 0, .2]: mean .08, sd .258844, so a standard error of .1157584."""


def test_the_null_can_be_shifted() -> None:
    exact = paired_t(np.array([0.1, -0.3, 0.4, 0.0, 0.2]))
    assert exact.se == pytest.approx(SHIFTED.se, abs=5e-7)
    assert p_opposite(exact, "two_sided", 0.5) == pytest.approx(0.0110972, abs=5e-8)
    assert p_opposite(exact, "greater", 0.5) == pytest.approx(0.0110972, abs=5e-8)
    assert p_value(exact, "greater", 0.5) == pytest.approx(1 - 0.0110972, abs=5e-8)
    assert p_value(exact, "greater", 0.5) != pytest.approx(p_value(exact, "greater"))


def test_directions_mirror_each_other() -> None:
    up, down = paired_t(np.array([1.0, 2, 3, 4])), paired_t(np.array([-1.0, -2, -3, -4]))
    for margin in (0.0, 0.5):
        assert p_value(up, "greater", margin) == pytest.approx(p_value(down, "less", margin))
        assert p_opposite(up, "greater", margin) == pytest.approx(p_opposite(down, "less", margin))
    assert p_value(up, "two_sided") == pytest.approx(2 * p_value(up, "greater"))
    assert p_value(up, "greater") + p_opposite(up, "greater") == pytest.approx(1)
    assert p_opposite(up, "two_sided") == 1.0


COST, ACCURACY = np.array([0.0, 100, 200]), np.array([10.0, 20, 30])


def test_step_and_linear_readings() -> None:
    assert curves.step_reading(COST, ACCURACY, 150) == 20
    assert curves.linear_reading(COST, ACCURACY, 150) == 25
    assert curves.step_reading(COST, ACCURACY, 200) == curves.linear_reading(COST, ACCURACY, 200) == 30


def test_nothing_is_read_beyond_the_last_checkpoint() -> None:
    assert isnan(curves.step_reading(COST, ACCURACY, 201))
    assert isnan(curves.linear_reading(COST, ACCURACY, 201))
    assert np.interp(201, COST, ACCURACY) == 30, "the library's own default would have extrapolated"


def test_a_run_that_went_on_past_its_last_checkpoint_is_read_there_by_steps_only() -> None:
    assert curves.step_reading(COST, ACCURACY, 201, reached=205) == 30
    assert isnan(curves.step_reading(COST, ACCURACY, 206, reached=205))


def test_normalised_area() -> None:
    assert curves.linear_area(COST, ACCURACY, 200) == 20
    assert curves.step_area(COST, ACCURACY, 200) == 15
    assert curves.step_area(COST, ACCURACY, 150) == pytest.approx((100 * 10 + 50 * 20) / 150)
    assert isnan(curves.linear_area(COST, ACCURACY, 201))


@pytest.mark.parametrize("cost", [[0.0, 100, 100], [0.0, 100, 90], [0.0, float("nan"), 2]])
def test_a_cost_that_falls_or_repeats_is_an_error(cost: list[float]) -> None:
    with pytest.raises(ValueError, match="strictly increasing"):
        curves.step_reading(np.array(cost), ACCURACY, 50)


def test_the_mean_curve_changes_where_any_run_does() -> None:
    other = (np.array([0.0, 150]), np.array([0.0, 50]))
    grid, readings = curves.mean_step_curve([(COST, ACCURACY), other], 180)
    assert grid.tolist() == [0, 100, 150, 180]
    assert readings.mean(axis=0).tolist() == [5, 10, 35, 35]
