"""`prereg power` and the power in a lock, through the command line's own functions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.locking import lock_study
from harness.powering import counts_of, plan_of, render, study_power
from prereg.layout import StudyLayout
from prereg.lock import read_lock
from prereg.problems import Refused
from reports.power.summary import power_of
from tests.e2e.cli import harness
from tests.harness.studies import hypothesis, loaded, tiny, write_study

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


def of_math500(limit: int | None) -> dict[str, object]:
    """A study on a published set that is not here, four samples a problem, base accuracy one half."""
    source = {"kind": "named", "name": "math500"} | ({"limit": limit} if limit else {})
    bench = {"source": source, "samples": 4, "max_new_tokens": 48}
    given = hypothesis(power={"effect": 3, "sd": 1.0, "base_accuracy": 0.5})
    return {"data": tiny()["data"] | {"benchmarks": {"math": bench}}, "hypotheses": [given]}


@pytest.mark.parametrize(("limit", "problems", "sd"), [(None, 500, "1.6"), (125, 125, "3.2")])
def test_a_set_that_cannot_be_fetched_is_taken_at_its_word(
    tmp_path: Path, limit: int | None, problems: int, sd: str
) -> None:
    """100 sqrt((.25 + .53 x .47) / (4 x 500)) = 1.58 points, and twice that on a fourth of the problems."""
    write_study(tmp_path, **of_math500(limit))
    called = harness(
        "prereg", "power", "--simulations", "100", "--seeds", "2", folder=tmp_path, HF_HOME=str(tmp_path)
    )
    assert called.code == 0, called.err
    assert f"alone give an sd of {sd} points" in called.out
    assert f"taken as published or as the study says: {problems} problems of math." in called.out


def test_a_number_of_problems_that_matters_must_be_known(tmp_path: Path) -> None:
    """It does with a base accuracy; the declared sd of an error over seeds alone holds whatever it is."""
    study = loaded(tmp_path, hypotheses=[hypothesis(power={"effect": 3, "sd": 1.0, "base_accuracy": 0.5})])
    with pytest.raises(Refused, match=r"number of problems of hard") as refused:
        plan_of(study, {"easy": 5, "hard": None})
    assert "`limit` or a local copy" in str(refused.value)
    plain = loaded(tmp_path, hypotheses=[hypothesis(power={"effect": 3, "sd": 1.0})])
    unknown = power_of(plan_of(plain, {"easy": None, "hard": None}), 100, (2,), 1)
    assert unknown == power_of(plan_of(plain, {"easy": 5, "hard": 700}), 100, (2,), 1)
