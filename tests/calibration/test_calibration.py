"""A small and fixed part of the calibration; `nox -s calibration` makes all of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reports.power.summary import Figure
from tests.calibration.__main__ import WITH_LOOKS, populations
from tests.calibration.measure import ALPHA, Calibration, calibrate, calibrate_looks
from tests.calibration.page import TITLES, page
from tests.calibration.population import Population, standardised

ROOT = Path(__file__).parents[2]


def near(figure: Figure, expected: float) -> bool:
    return abs(figure.value - expected) <= 4 * max(figure.error, 1e-9)


@pytest.fixture(scope="module")
def fixed() -> dict[str, Calibration]:
    return {one.test: one for one in calibrate(Population(5, "normal", True, sampled=False), 400)}


def test_tests_err_as_often_as_they_say_and_intervals_cover(fixed: dict[str, Calibration]) -> None:
    for name in ("paired_t", "tost", "non_inferiority"):
        assert near(fixed[name].error_rate, ALPHA), name
        assert near(fixed[name].coverage, fixed[name].level), name
    assert fixed["tost"].level == pytest.approx(0.9)


def test_exact_flips_err_once_in_thirty_two_with_five_seeds(fixed: dict[str, Calibration]) -> None:
    assert near(fixed["sign_flip"].error_rate, 1 / 32)
    assert near(fixed["paired_t"].error_rate, ALPHA)


def test_looks_that_share_alpha_err_no_more_often_than_one_test_and_their_intervals_cover() -> None:
    found = calibrate_looks(WITH_LOOKS, 400)
    assert found.error_rate.value <= ALPHA + 2 * found.error_rate.error
    assert found.coverage.value >= found.level - 2 * found.coverage.error
    assert found.shown.value > 0.7


def test_the_crossed_interval_covers_new_problems_and_one_over_pooled_cells_does_not() -> None:
    population = Population(5, "normal", True, sampled=True)
    crossed = calibrate(population, 400)[0]
    assert near(crossed.coverage, 0.95)
    cells = [np.concatenate([block.ravel() for block in population.draw(k)]) for k in range(400)]
    covered = [abs(c.mean()) <= 1.96 * c.std(ddof=1) / len(c) ** 0.5 for c in cells]
    assert np.mean(covered) < 0.7


def test_laws_have_the_moments_that_they_are_said_to_have() -> None:
    for law, skewness in (("normal", 0.0), ("skewed", 2.0)):
        drawn = standardised(np.random.default_rng(0), law, 400_000)  # type: ignore[arg-type]
        assert drawn.mean() == pytest.approx(0, abs=0.01)
        assert drawn.std() == pytest.approx(1, abs=0.01)
        assert (drawn**3).mean() == pytest.approx(skewness, abs=0.1)
    population = Population(4, "skewed", True, sampled=False)
    d = [sum(0.5 * b.mean(axis=1) for b in population.draw(k)) for k in range(1_000)]
    assert np.std(d, ddof=1) == pytest.approx(population.sd, rel=0.05)


def test_the_page_has_every_test_and_population() -> None:
    text = (ROOT / "docs/calibration.md").read_text(encoding="utf-8")
    for title in TITLES.values():
        assert f"## {title}" in text
    rows = [line for line in text.splitlines() if line.startswith(("| 3 |", "| 5 |", "| 10 |"))]
    assert (
        len(rows)
        == len([p for p in populations() if not p.sampled]) * 5
        + len([p for p in populations() if p.sampled]) * 2
        + 1
    ), "every test in its populations, and the one with looks"


def test_a_row_that_does_not_cover_is_named() -> None:
    off, on = Figure(0.90, 0.003), Figure(0.951, 0.003)
    some = Population(3, "skewed", False, sampled=False)
    one = Calibration("paired_t", some, on, 0.95, off, on)
    assert "paired_t: 3 seeds, skewed, equal: 0.900 at a nominal 0.95" in page([one], 10)
    assert "Nowhere here" in page([Calibration("paired_t", some, on, 0.95, on, on)], 10)
