"""The control arms and the noise of measuring, with values by hand."""

from __future__ import annotations

from math import isnan, sqrt
from typing import Any

import pytest

from reports.build import build_report
from reports.controlarms import control_arms
from reports.remeasured import root_mean_square
from tests.reports.conftest import BENCHMARKS, PLAN, PROBLEMS, SAMPLES, Case, make_case, run_id
from tests.reports.test_report_tables import one_row, table

VINE = {"kind": "mc_advantage"}
ARMS: dict[str, Any] = {
    "grpo": {"role": "control"},
    "again": {"role": "negative_control", "seed_offset": 1000},
    "copy": {"role": "negative_control"},
    "rate": {"role": "negative_control", "trainer": {"optimizer": {"learning_rate": 2e-6}}},
    "vine": {"role": "treatment", "trainer": {"reward": VINE}},
    "placebo": {"role": "placebo", "trainer": {"reward": {**VINE, "shuffled": True}}},
    "mcpo": {"role": "treatment", "trainer": {"credit": {"kind": "margin"}}},
    "permuted": {"role": "placebo", "trainer": {"credit": {"kind": "shuffled"}}},
    "form": {"role": "negative_control", "trainer": {"reward": {"kind": "format_only"}}},
    "short": {"role": "length_matched", "trainer": {"max_new_tokens": 16, "credit": {"kind": "margin"}}},
}


def told(case: Case) -> list[tuple[str, str, str]]:
    return [(one.arm, one.against, one.what) for one in control_arms(case.inputs().study)]


def test_each_control_arm_is_told_by_what_it_changes() -> None:
    case = Case({**PLAN, "arms": ARMS}, make_case().ledger, [], make_case().lock)
    assert told(case) == [
        ("again", "grpo", "A/A arm, other seeds"),
        ("copy", "grpo", "A/A arm, same seeds"),
        ("rate", "grpo", "learning rate x 2"),
        ("placebo", "grpo", "placebo"),
        ("placebo", "vine", "placebo of vine"),
        ("permuted", "grpo", "placebo"),
        ("permuted", "mcpo", "placebo of mcpo"),
        ("form", "grpo", "format-only reward"),
        ("short", "grpo", "length-matched arm"),
    ]


def test_differences_of_a_control_arm_are_paired_by_seed() -> None:
    """The A/A arm is 10 points better on two seeds of five: mean 4, sd sqrt(30)."""
    arms = {"grpo": {"role": "control"}, "mcpo": {"role": "negative_control", "seed_offset": 1000}}
    case = make_case(
        lambda arm, seed, step, *_: 2 if step == 0 else 4 + (arm == "mcpo" and seed > 13) + seed % 2,
        arms=arms,
    )
    case.plan["hypotheses"] = []
    case.plan["kind"] = "pilot"
    row = one_row(build_report(case.inputs()), "control_arms", arm="mcpo")
    assert (row["what"], row["against"]) == ("A/A arm, other seeds", "grpo")
    assert row["updates"].value == pytest.approx(4)
    assert row["updates"].high - 4 == pytest.approx(2.776445 * sqrt(30) / sqrt(5), abs=1e-4)


def test_what_is_missing_is_named(case: Case) -> None:
    section = next(one for one in build_report(case.inputs()).sections if one.name == "control_arms")
    words = str(section.blocks)
    for name in ("A/A arm", "placebo", "format-only reward", "length-matched arm", "A/A re-evaluation"):
        assert name in words


def measured_twice() -> Case:
    """The start policies, at 2 of 10 on each problem; on `easy` the second finds 1 or 3 of 10, by arm."""
    case = make_case()
    case.plan["evaluation"] = {"pass_k": [1], "reevaluate": True}
    for arm in ("grpo", "mcpo"):
        for seed in (11, 12):
            for benchmark in BENCHMARKS:
                moved = 0 if benchmark == "hard" else 1 if arm == "grpo" else -1
                for problem in range(PROBLEMS):
                    case.ledger.add(
                        "reevaluations",
                        run_id=run_id(arm, seed),
                        step=0,
                        benchmark=benchmark,
                        occasion="start",
                        problem_id=f"{benchmark}-{problem}",
                        samples=SAMPLES,
                        correct=2 + moved,
                        failed=0,
                        generated_tokens=90,
                    )
    return case


def test_the_noise_of_measuring_by_hand() -> None:
    """Differences of +10 and -10 points: spread 10, of one reading 7.07; in the mean half of both.

    Expected of a benchmark: 100 sqrt(2 x 4 x .16 / 9) / 4 = 9.428; in the mean sqrt(2) / 2 of that.
    """
    content = build_report(measured_twice().inputs())
    easy = one_row(content, "measurement_noise", benchmark="easy")
    assert (easy["policies"], easy["mean"], easy["spread"]) == (4, pytest.approx(0), pytest.approx(10))
    assert easy["reading"] == pytest.approx(10 / sqrt(2))
    assert easy["expected"] == pytest.approx(9.4281, abs=1e-4)
    assert one_row(content, "measurement_noise", benchmark="hard")["spread"] == pytest.approx(0)
    both = one_row(content, "measurement_noise", benchmark="mean of the benchmarks")
    assert both["spread"] == pytest.approx(5)
    assert both["expected"] == pytest.approx(9.4281 / sqrt(2), abs=1e-4)


def test_no_other_table_uses_the_second_evaluation() -> None:
    plain, twice = make_case(), measured_twice()
    plain.plan["evaluation"] = twice.plan["evaluation"]
    first, second = build_report(plain.inputs()), build_report(twice.inputs())
    assert first.hypotheses == second.hypotheses
    for name in ("averages", "ranking_updates", "cost_of_a_point", "crossings"):
        assert str(table(first, name)) == str(table(second, name))


def test_a_second_evaluation_that_is_not_whole_is_left_out() -> None:
    case = measured_twice()
    case.change("reevaluations", {"run_id": run_id("grpo", 11), "benchmark": "easy"}, failed=1)
    content = build_report(case.inputs())
    assert one_row(content, "measurement_noise", benchmark="easy")["policies"] == 3
    assert one_row(content, "measurement_noise", benchmark="mean of the benchmarks")["policies"] == 3


def test_the_spread_is_around_zero_and_not_around_the_mean() -> None:
    """Two differences of 3 are a spread of 3: a standard deviation would call them noiseless."""
    assert root_mean_square([3.0, 3.0]) == 3.0
    assert isnan(root_mean_square([]))
