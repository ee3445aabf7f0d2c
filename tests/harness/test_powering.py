"""`prereg power` and the power in a lock, through the command line's own functions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.locking import lock_study
from harness.powering import counts_of, render, study_power
from prereg.layout import StudyLayout
from prereg.lock import read_lock
from prereg.problems import Refused
from tests.harness.studies import hypothesis, loaded, write_study

SEEDS = [1, 2, 3, 4, 5]


def test_the_lock_holds_the_simulated_power(tmp_path: Path) -> None:
    path = write_study(tmp_path, hypotheses=[hypothesis(power={"effect": 3, "sd": 1.0})], seeds=SEEDS)
    made, _, _ = lock_study(path)
    (found,) = made.power.values()
    assert (found.seeds, found.simulations) == (5, 1_000)
    assert found.power > 0.99
    kept = read_lock(StudyLayout.of(path).lock)
    assert kept.power == made.power
    assert "power" in kept.parts


def test_a_lock_is_refused_for_what_only_the_simulation_sees(tmp_path: Path) -> None:
    # The t test alone has a power of 1; that no one of ten runs fails has a chance of .9^10 = .35.
    failing = {"effect": 9, "sd": 1.0, "failure_rate": 0.1}
    path = write_study(tmp_path, hypotheses=[hypothesis(power=failing)], seeds=SEEDS)
    with pytest.raises(Refused) as refused:
        lock_study(path)
    (problem,) = refused.value.problems
    assert "`h1` has a power of 0.3" in problem.message
    assert problem.line is not None
    assert not StudyLayout.of(path).lock.exists()
    known = hypothesis(power=failing, acknowledge_underpowered=True)
    made, _, _ = lock_study(write_study(tmp_path, hypotheses=[known], seeds=SEEDS))
    assert made.power["h1"].power == pytest.approx(0.35, abs=0.06)


def test_benchmark_sizes_come_from_the_sources(tmp_path: Path) -> None:
    small = loaded(tmp_path, hypotheses=[hypothesis(power={"effect": 3, "sd": 1.0, "base_accuracy": 0.5})])
    found = study_power(small, 100, (2,))
    # Two benchmarks of 5 problems x 4 samples: sqrt(1/4 (.25 + .53 .47) (1/20 + 1/20)) = 11 points.
    assert found.notes == (
        "h1: sampled answers alone give an sd of 11 points, more than the sd of 1 that it states; that "
        "much was simulated",
    )
    document = json.loads(json.dumps(found.to_json()))
    assert document["hypotheses"][0]["curve"][0]["power"]["value"] < 0.5
    assert "h1: 100 simulated studies" in render(found)


@pytest.mark.parametrize(("seeds", "simulations"), [("3,x", 2000), ("1", 2000), ("3", 99), ("", 2000)])
def test_numbers_that_cannot_be_simulated_are_refused(seeds: str, simulations: int) -> None:
    with pytest.raises(Refused):
        counts_of(seeds, simulations)


def test_a_study_without_assumptions_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no hypothesis states what its power rests on"):
        study_power(loaded(tmp_path), 100, (3,))


def test_accuracies_that_cannot_be_are_refused_at_their_line(tmp_path: Path) -> None:
    wild = hypothesis(power={"effect": 70, "sd": 1.0, "base_accuracy": 0.5})
    with pytest.raises(Refused) as refused:
        study_power(loaded(tmp_path, hypotheses=[wild]), 100, (3,))
    assert refused.value.problems[0].line is not None
