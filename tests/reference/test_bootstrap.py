"""The crossed bootstrap against loops and against every possible draw, and the plausible ones that differ."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from reports.alongbudget import column_weights
from reports.bootstrap import (
    REPLICATES,
    bootstrap,
    drawn,
    error_of_p,
    lead_from,
    p_two_sided,
    percentile,
)
from reports.curves import step_area, step_reading

Floats = NDArray[np.float64]

KEY = ("study", "contrast")
SMALL = {
    "a": np.array([[10.0, -20.0, 30.0], [0.0, 40.0, 5.0]])[:, :, None],
    "b": np.array([[12.5, 7.5], [-30.0, 50.0]])[:, :, None],
}
WEIGHTS = {"a": 0.25, "b": 0.75}


def every(units: int) -> list[tuple[int, ...]]:
    """All equally likely draws of so many units, with replacement."""
    return list(itertools.product(range(units), repeat=units))


def all_draws(differences: dict[str, Floats], weights: dict[str, float], *, joint: bool) -> Floats:
    """The statistic under every draw of seeds and of problems, each equally likely.

    Not `joint` is the plausible wrong one, in which each benchmark has seeds of its own.
    """
    names = sorted(differences)
    seeds = differences[names[0]].shape[0]
    of_seeds = (
        [(one,) * len(names) for one in every(seeds)]
        if joint
        else list(itertools.product(every(seeds), repeat=len(names)))
    )
    of_problems = list(itertools.product(*(every(differences[name].shape[1]) for name in names)))
    return np.array([
        sum(
            weights[name] * differences[name][np.ix_(chosen, problems, [0])].mean()
            for name, chosen, problems in zip(names, by_name, drawn_problems, strict=True)
        )
        for by_name in of_seeds
        for drawn_problems in of_problems
    ])  # fmt: skip


def within_chance(values: Floats, expected: Floats) -> bool:
    """Whether the mean square of the replicates is that of all draws, within four Monte-Carlo errors."""
    centre = expected.mean()
    squares, exact = (values - centre) ** 2, ((expected - centre) ** 2).mean()
    return bool(abs(squares.mean() - exact) < 4 * squares.std() / len(squares) ** 0.5)


def test_the_replicates_are_draws_from_all_possible_ones() -> None:
    made = bootstrap(SMALL, WEIGHTS, *KEY)
    # By hand: a has mean 65/6, b has mean 10.
    assert made.estimate[0] == pytest.approx(0.25 * 65 / 6 + 0.75 * 10, abs=1e-9)
    replicates, possible = made.replicates[:, 0], all_draws(SMALL, WEIGHTS, joint=True)
    assert len(possible) == 4 * 27 * 4
    nearest = np.abs(replicates[:, None] - np.unique(possible)[None, :]).min(axis=1)
    assert nearest.max() < 1e-9
    assert within_chance(replicates, possible)
    # Each possible value comes as often as it should.
    for value in np.unique(possible.round(9)):
        share = float(np.isclose(possible, value).mean())
        found = float(np.isclose(replicates, value).mean())
        assert abs(found - share) < 5 * (share * (1 - share) / REPLICATES) ** 0.5


def test_seeds_drawn_apart_for_each_benchmark_are_another_bootstrap() -> None:
    # One run yields all benchmarks: seeds that are good on both must stay good on both.
    together = {"a": np.array([[5.0, 6.0], [25.0, 24.0]])[:, :, None]}
    together["b"] = together["a"] + 1.0
    weights = {"a": 0.5, "b": 0.5}
    replicates = bootstrap(together, weights, *KEY).replicates[:, 0]
    right = all_draws(together, weights, joint=True)
    wrong = all_draws(together, weights, joint=False)
    assert within_chance(replicates, right)
    assert not within_chance(replicates, wrong)
    assert wrong.std() < 0.75 * right.std()


def test_a_level_over_the_samples_would_count_their_noise_twice() -> None:
    # 8 seeds x 40 problems x 4 samples whose truth is a coin: the scores hold the sampling noise already.
    random = np.random.default_rng(5)
    samples = random.integers(0, 2, (2, 8, 40, 4)).astype(np.float64)
    block = 100 * (samples[0].mean(axis=2) - samples[1].mean(axis=2))
    ours = bootstrap({"a": block[:, :, None]}, {"a": 1.0}, *KEY).replicates[:, 0].std()
    seeds, problems = random.integers(0, 8, (3_000, 8)), random.integers(0, 40, (3_000, 40))

    def mean(seed: Floats, problem: Floats, level: bool) -> float:
        one = samples[:, seed][:, :, problem]
        if level:
            one = np.take_along_axis(one, random.integers(0, 4, one.shape), axis=3)
        return 100 * float(one[0].mean() - one[1].mean())

    plain = np.std([mean(s, p, False) for s, p in zip(seeds, problems, strict=True)])
    doubled = np.std([mean(s, p, True) for s, p in zip(seeds, problems, strict=True)])
    assert plain == pytest.approx(ours, rel=0.06)
    assert doubled > 1.1 * ours


def test_each_replicate_is_the_mean_over_what_it_drew() -> None:
    random = np.random.default_rng(1)
    differences = {"a": random.normal(0, 20, (4, 7, 3)), "b": random.normal(0, 20, (4, 5, 3))}
    weights = {"a": 0.3, "b": 0.7}
    made = bootstrap(differences, weights, *KEY)
    for replicate in (0, 1, 499, 500, 9_998):
        one = range(replicate, replicate + 1)
        chosen = np.repeat(np.arange(4), drawn(4, one, *KEY, "seeds")[0].astype(int))
        expected = np.zeros(3)
        for name, block in differences.items():
            counts = drawn(block.shape[1], one, *KEY, "problems", name)[0].astype(int)
            problems = np.repeat(np.arange(block.shape[1]), counts)
            assert len(problems) == block.shape[1]
            for column in range(3):
                rows = [block[seed, problem, column] for seed in chosen for problem in problems]
                expected[column] += weights[name] * sum(rows) / len(rows)
        np.testing.assert_allclose(made.replicates[replicate], expected, atol=1e-9)


def test_a_replicate_depends_on_the_key_and_its_number_alone() -> None:
    first = drawn(10, range(50), *KEY)
    assert (drawn(10, range(20, 21), *KEY)[0] == first[20]).all()
    assert (drawn(10, range(50), "study", "other") != first).any()
    made = bootstrap(SMALL, WEIGHTS, *KEY)
    more = bootstrap(SMALL, WEIGHTS, *KEY, replicates=REPLICATES + 700)
    assert (more.replicates[:REPLICATES] == made.replicates).all()
    turned = bootstrap(dict(reversed(SMALL.items())), dict(reversed(WEIGHTS.items())), *KEY)
    assert (turned.replicates == made.replicates).all()
    both = {name: np.concatenate([block, 2 * block], axis=2) for name, block in SMALL.items()}
    assert (bootstrap(both, WEIGHTS, *KEY).replicates[:, 0] == made.replicates[:, 0]).all()


def test_threads_change_no_bit() -> None:
    # Scores of thirds and sevenths, which no binary fraction holds: a sum's order would show.
    text = """
import hashlib, numpy as np
from reports.bootstrap import bootstrap
random = np.random.default_rng(3)
blocks = {n: 100 * random.integers(-21, 22, (5, 300, 20)) / 21 for n in "ab"}
made = bootstrap(blocks, {"a": 1 / 3, "b": 2 / 3}, "s", "c")
print(hashlib.sha256(made.replicates.tobytes() + made.estimate.tobytes()).hexdigest())
"""
    found = {
        subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, check=True,
            env={"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "PYTHONPATH": "."},
        ).stdout
        for threads in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1


def test_limits_and_their_monte_carlo_error_by_hand() -> None:
    # 9,999 values 1 to 9,999: limits of rank 250 and 9,750; sqrt(9,999 x .025 x .975) = 15.61, so 16 ranks.
    limits = percentile(np.random.default_rng(0).permutation(np.arange(1.0, 10_000)))
    assert (limits.low, limits.high, limits.error) == (250.0, 9_750.0, 16.0)
    limits = percentile(np.arange(1.0, 10_000), level=0.9)
    assert (limits.low, limits.high) == (500.0, 9_500.0)
    # Half of the replicates never lead: the limit is infinite, and has no finite error.
    never = percentile(np.where(np.arange(9_999) < 5_000, 3.0, np.inf))
    assert (never.low, never.high, never.error) == (3.0, np.inf, 0.0)


def test_p_by_hand() -> None:
    # The estimate is 2 from 0; of 9 replicates two lie at least 2 from it: (1 + 2) / (9 + 1).
    replicates = np.array([2.0, 2.5, 1.0, 3.9, 4.0, -0.1, 2.2, 1.5, 0.5])
    assert p_two_sided(2.0, replicates) == pytest.approx(0.3)
    # Never 0, as # / B would be.
    assert p_two_sided(100.0, replicates[replicates > 0]) == pytest.approx(1 / 9)
    assert error_of_p(0.05, 9_999) == pytest.approx(0.0021796, abs=1e-7)


def test_too_few_replicates_are_refused() -> None:
    with pytest.raises(ValueError, match="9,999"):
        bootstrap(SMALL, WEIGHTS, *KEY, replicates=999)


def test_the_lead_is_the_last_change_of_sign() -> None:
    costs = np.array([10.0, 20.0, 30.0, 40.0])
    curves = np.array([
        [1.0, 1.0, 1.0, 1.0],
        [1.0, -1.0, 2.0, 3.0],
        [-1.0, -1.0, -1.0, 0.5],
        [5.0, 5.0, 5.0, 0.0],
        [0.0, 1.0, 1.0, 1.0],
    ])  # fmt: skip
    assert lead_from(costs, curves).tolist() == [10.0, 30.0, 40.0, np.inf, 20.0]


def test_columns_are_the_readings_and_the_area_of_a_run() -> None:
    costs, values = np.array([0.0, 40.0, 90.0]), np.array([10.0, 30.0, 20.0])
    at = np.array([0.0, 50.0, 100.0])
    columns = values @ column_weights(costs, at, 0.0, True)
    assert columns[:3].tolist() == [step_reading(costs, values, x, reached=110.0) for x in at]
    # By hand: 40 at 10, 50 at 30 and 10 at 20, of 100.
    assert columns[3] == pytest.approx(21.0)
    assert columns[3] == pytest.approx(step_area(costs, values, 100.0, reached=110.0))
    # From 60 on: 30 at 30 and 10 at 20, of 40.
    later = values @ column_weights(costs, np.array([60.0, 100.0]), 60.0, True)
    assert later.tolist() == pytest.approx([30.0, 20.0, 27.5])


def test_over_few_seeds_it_is_too_narrow_as_the_page_says() -> None:
    # Three seeds: one draw in 27 takes the smallest thrice, more than 2.5 %, so the interval is from the
    # smallest to the largest. It misses 0 where all have one sign: 2 / 2^3.
    random = np.random.default_rng(2)
    rounds = 4_000
    for seeds, expected in ((3, 0.75), (5, 0.836)):
        counts = drawn(seeds, range(1_999), "coverage", str(seeds)) / seeds
        means = np.sort(counts @ random.standard_normal((seeds, rounds)), axis=0)
        covered = float(((means[49] <= 0) & (means[1_949] >= 0)).mean())
        assert covered == pytest.approx(expected, abs=4 * (0.25 * 0.75 / rounds) ** 0.5)
