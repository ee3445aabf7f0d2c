"""Verdicts as a function of effects, families, gates, completeness and the lock."""

from __future__ import annotations

import json
from dataclasses import replace
from math import isnan
from typing import Any

import numpy as np
import pytest

from prereg.study import Study
from reports.build import build_report
from reports.comparisons import Comparison
from reports.content import HypothesisResult
from reports.inputs import LockFact
from reports.intervals import paired_t
from reports.verdicts import Verdict, judge
from tests.reports.conftest import BENCHMARKS, PLAN, SEEDS, Case, make_case, run_id

LOCKED = LockFact("ab" * 32)
UP, DOWN, FLAT = (5.0, 6, 7, 8, 9), (-5.0, -6, -7, -8, -9), (-1.0, 2, -3, 3, 0)


def hypothesis(name: str = "h", **changes: Any) -> dict[str, Any]:
    return {**PLAN["hypotheses"][0], "id": name, **changes}


def verdicts(
    *cases: tuple[dict[str, Any], tuple[float, ...] | None],
    lock: LockFact = LOCKED,
    marks: tuple[str, ...] = (),
    families: dict[str, Any] | None = None,
) -> tuple[Verdict, ...]:
    """Verdicts of hypotheses whose differences by seed are given; None is an inadmissible comparison."""
    plan = {**PLAN, "hypotheses": [one for one, _ in cases], "families": families or {}}
    study = Study.model_validate_json(json.dumps(plan))
    comparisons = {
        one["id"]: Comparison(one["id"], ("a run is missing",))
        if values is None
        else Comparison(one["id"], (), effect=paired_t(np.array(values)))
        for one, values in cases
    }
    return judge(study, lock, marks, comparisons)


@pytest.mark.parametrize(
    ("direction", "values", "word"),
    [
        ("greater", UP, "CONFIRMED"),
        ("greater", DOWN, "REFUTED"),
        ("greater", FLAT, "INCONCLUSIVE"),
        ("less", DOWN, "CONFIRMED"),
        ("less", UP, "REFUTED"),
        ("two_sided", UP, "CONFIRMED"),
        ("two_sided", DOWN, "CONFIRMED"),
        ("two_sided", FLAT, "INCONCLUSIVE"),
    ],
)
def test_the_three_statistical_verdicts(direction: str, values: tuple[float, ...], word: str) -> None:
    assert verdicts((hypothesis(direction=direction), values))[0].word == word


def test_one_sided_and_two_sided_p_decide_differently() -> None:
    """p of [1, 2, 3, 4, -.5] is .0717714 two-sided, and half of it one-sided."""
    values = (1.0, 2, 3, 4, -0.5)
    one, two = verdicts(
        (hypothesis("one", direction="greater"), values), (hypothesis("two", direction="two_sided"), values)
    )
    assert (one.word, two.word) == ("CONFIRMED", "INCONCLUSIVE")
    assert one.p == pytest.approx(0.0717714 / 2, abs=1e-7)


@pytest.mark.parametrize(
    ("smallest", "word"), [(1.0, "CONFIRMED"), (6.0, "INCONCLUSIVE"), (8.9, "INCONCLUSIVE"), (9.0, "REFUTED")]
)
def test_a_smallest_effect_must_be_exceeded(smallest: float, word: str) -> None:
    """The interval of UP is 5.04 to 8.96: it excludes 9 but not 8.9, whose opposite p is below .05 too."""
    one = hypothesis(decision="exceeds_smallest_effect", smallest_effect=smallest)
    assert verdicts((one, UP))[0].word == word


def test_a_smallest_effect_alone_does_not_move_the_null() -> None:
    assert verdicts((hypothesis(smallest_effect=9.0), UP))[0].word == "CONFIRMED"


def test_seeds_that_do_not_differ_decide_nothing() -> None:
    found = verdicts((hypothesis(), (2.0, 2, 2, 2, 2)))[0]
    assert found.word == "INCONCLUSIVE"
    assert "did not differ" in found.reasons[0]


def test_an_inadmissible_member_still_counts_in_its_family() -> None:
    """[1, 2, 3, 4, -.5] has p .0359 one-sided: significant alone, not beside a member that is missing."""
    values = (1.0, 2, 3, 4, -0.5)
    alone = verdicts((hypothesis("a", family="f"), values), families={"f": {}})
    beside = verdicts(
        (hypothesis("a", family="f"), values), (hypothesis("b", family="f"), None), families={"f": {}}
    )
    assert alone[0].word == "CONFIRMED"
    assert (beside[0].word, beside[1].word) == ("INCONCLUSIVE", "INADMISSIBLE")
    assert beside[0].p_adjusted == pytest.approx(2 * beside[0].p)


def test_refuting_is_adjusted_as_confirming_is() -> None:
    values = (-1.0, -2, -3, -4, 0.5)
    assert verdicts((hypothesis("a", family="f"), values), families={"f": {}})[0].word == "REFUTED"
    beside = verdicts(
        (hypothesis("a", family="f"), values), (hypothesis("b", family="f"), None), families={"f": {}}
    )
    assert beside[0].word == "INCONCLUSIVE"


def test_the_stricter_of_two_levels_holds() -> None:
    """UP has p .0003 one-sided."""
    assert verdicts((hypothesis(alpha=0.0001), UP))[0].word == "INCONCLUSIVE"
    strict = verdicts((hypothesis(family="f"), UP), families={"f": {"alpha": 0.0001}})
    assert (strict[0].word, strict[0].alpha) == ("INCONCLUSIVE", 0.0001)


def test_a_closed_gate_leaves_a_hypothesis_untested_and_all_behind_it() -> None:
    first, second, third = verdicts(
        (hypothesis("a"), FLAT), (hypothesis("b", gate="a"), UP), (hypothesis("c", gate="b"), UP)
    )
    assert (first.word, second.word, third.word) == ("INCONCLUSIVE", "NOT_TESTED", "NOT_TESTED")
    assert "a" in second.reasons[0]
    opened = verdicts((hypothesis("a"), UP), (hypothesis("b", gate="a"), UP))
    assert opened[1].word == "CONFIRMED"


def test_a_gate_that_stands_later_in_the_file_is_found() -> None:
    later = verdicts((hypothesis("b", gate="a"), UP), (hypothesis("a"), DOWN))
    assert (later[0].word, later[1].word) == ("NOT_TESTED", "REFUTED")


def test_gates_in_a_circle_are_closed() -> None:
    found = verdicts((hypothesis("a", gate="b"), UP), (hypothesis("b", gate="a"), UP))
    assert {one.word for one in found} == {"NOT_TESTED"}


@pytest.mark.parametrize(
    ("lock", "marks", "word"),
    [
        (LockFact(None), (), "UNREGISTERED"),
        (LOCKED, ("EXPLORATORY",), "UNREGISTERED"),
        (replace(LOCKED, differences=("seeds: 5 became 4",)), (), "DEVIATED"),
        (LOCKED, ("SOMETHING ELSE",), "CONFIRMED"),
    ],
)
def test_the_lock_decides_the_word_and_the_outcome_stays(
    lock: LockFact, marks: tuple[str, ...], word: str
) -> None:
    found = verdicts((hypothesis(), UP), lock=lock, marks=marks)[0]
    assert (found.word, found.outcome) == (word, "CONFIRMED")
    assert bool(found.reasons) == (word != "CONFIRMED")


def only(case: Case) -> HypothesisResult:
    return build_report(case.inputs()).hypotheses[0]


def test_the_whole_way_from_samples_to_a_verdict(case: Case) -> None:
    """By seed 10, 10, 10, 20, 20 points: mean 14, sd 5.4772, t(4) interval 14 -+ 6.8008."""
    found = only(case)
    assert [difference for _, difference in found.per_seed] == pytest.approx([10, 10, 10, 20, 20])
    assert found.effect is not None
    assert found.effect.estimate == pytest.approx(14)
    assert (found.effect.low, found.effect.high) == (
        pytest.approx(7.1992, abs=1e-4),
        pytest.approx(20.8008, abs=1e-4),
    )
    assert found.word == "CONFIRMED"
    assert "14.0 points above grpo on avg@10" in found.sentence
    assert found.means == "mcpo 54.0 % after 90 updates; grpo 40.0 % after 100 updates"


def test_benchmark_weights_reach_the_effect(case: Case) -> None:
    """20 points better on `easy`, and 10 more on both for odd seeds, three of five."""
    weighted = make_case(
        lambda arm, seed, step, bench, _: 4 + (arm == "mcpo") * ((bench == "easy") * 2 + seed % 2)
    )
    weighted.plan["data"]["benchmarks"]["easy"]["weight"] = 3.0
    found = only(weighted)
    assert found.effect is not None
    assert found.effect.estimate == pytest.approx(0.75 * 20 + 10 * 3 / 5)


def test_a_benchmark_can_be_chosen(case: Case) -> None:
    picked = make_case(
        lambda arm, seed, step, bench, _: 4 + (arm == "mcpo" and bench == "easy") * (1 + seed % 2)
    )
    picked.plan["hypotheses"][0]["benchmarks"] = ["hard"]
    found = only(picked)
    assert found.effect is not None
    assert found.effect.estimate == 0


def test_pass_at_k_is_compared_per_problem(case: Case) -> None:
    """pass@2 of 4 in 10 is 1 - 15/45, of 5 in 10 it is 1 - 10/45: 5/45 apart, on odd seeds."""
    paired = make_case(lambda arm, seed, *_: 4 + (arm == "mcpo" and seed % 2))
    paired.plan["hypotheses"][0]["metric"] = {"kind": "pass", "k": 2}
    found = only(paired)
    assert [difference for _, difference in found.per_seed] == pytest.approx(
        [100 * 5 / 45, 0] * 2 + [100 * 5 / 45]
    )


def test_the_registered_test_is_the_one_that_decides(case: Case) -> None:
    case.plan["hypotheses"][0]["test"] = {"kind": "crossed_satterthwaite"}
    found = only(case)
    assert found.effect is not None
    assert found.other is not None
    assert "Satterthwaite" in found.effect.method
    assert found.other.method == "paired t over seeds"
    assert found.effect.high - found.effect.low != pytest.approx(found.other.high - found.other.low)


def inadmissible(case: Case, *words: str) -> None:
    found = only(case)
    assert found.word == "INADMISSIBLE"
    assert found.effect is None
    assert isnan(found.p)
    text = " ".join(found.reasons)
    assert all(word in text for word in words), text


def test_a_missing_seed(case: Case) -> None:
    del case.facts[-1]
    inadmissible(case, "mcpo, seed 15", "never started")


@pytest.mark.parametrize("state", ["planned", "started", "failed"])
def test_a_run_that_did_not_finish(case: Case, state: Any) -> None:
    case.facts[0] = replace(case.facts[0], state=state)
    inadmissible(case, "never started" if state == "planned" else "did not finish")


def test_a_budget_that_was_not_reached(case: Case) -> None:
    case.without("readings", run_id=run_id("grpo", 11), axis="generated_tokens")
    inadmissible(case, "grpo.tiny.s11", "not reached")


def test_only_the_axis_of_the_hypothesis_matters(case: Case) -> None:
    case.without("readings", run_id=run_id("grpo", 11), axis="updates")
    assert only(case).word == "CONFIRMED"


def test_a_run_that_stopped_short_of_its_budget(case: Case) -> None:
    case.change(
        "readings",
        {"run_id": run_id("mcpo", 12), "axis": "generated_tokens"},
        cost=49_500.0,
        crossing_cost=None,
    )
    inadmissible(case, "ended before its budget")


def test_a_reading_past_the_budget(case: Case) -> None:
    case.change("readings", {"run_id": run_id("mcpo", 12), "axis": "generated_tokens"}, cost=50_100.0)
    inadmissible(case, "past the budget")


def test_a_checkpoint_that_was_chosen_rather_than_read(case: Case) -> None:
    """The run says that its policy of update 50 is read at the budget, but it was evaluated at 90 as well."""
    case.change(
        "readings", {"run_id": run_id("mcpo", 12), "axis": "generated_tokens"}, step=50, cost=27_500.0
    )
    inadmissible(case, "not the last evaluated one")


def test_a_sample_whose_grader_failed_blocks_and_is_not_a_zero(case: Case) -> None:
    case.change(
        "samples",
        {"run_id": run_id("grpo", 13), "step": 100, "benchmark": "easy", "sample": 9},
        correct=None,
        grader_state="grader_error",
    )
    inadmissible(case, "grpo.tiny.s13", "1 sample could not be graded")


def test_a_failed_grade_elsewhere_blocks_nothing(case: Case) -> None:
    case.change(
        "samples", {"run_id": run_id("grpo", 13), "step": 50}, correct=None, grader_state="grader_error"
    )
    assert only(case).word == "CONFIRMED"


def test_a_missing_sample(case: Case) -> None:
    case.without("samples", run_id=run_id("grpo", 13), step=100, problem_id="hard-2", sample=9)
    inadmissible(case, "1 problem without 10 samples")


def test_a_missing_problem(case: Case) -> None:
    case.without("samples", run_id=run_id("grpo", 13), step=100, problem_id="hard-2")
    inadmissible(case, "3 of 4 problems")


def test_a_sample_recorded_twice(case: Case) -> None:
    case.change(
        "samples", {"run_id": run_id("grpo", 13), "step": 100, "problem_id": "hard-2", "sample": 9}, sample=8
    )
    inadmissible(case, "recorded twice")


def test_other_problems_in_one_run(case: Case) -> None:
    for row in case.ledger.rows["samples"]:
        if row["run_id"] == run_id("grpo", 13) and row["problem_id"] == "hard-2":
            row["problem_id"] = "another"
    inadmissible(case, "hard", "same problems")


def test_k_above_the_samples(case: Case) -> None:
    case.plan["hypotheses"][0]["metric"] = {"kind": "pass", "k": 16}
    inadmissible(case, "not estimable")


def test_a_right_answer_that_was_cut_off_is_wrong(case: Case) -> None:
    for row in case.ledger.rows["samples"]:
        if row["run_id"].startswith("mcpo") and row["step"] == 90 and row["correct"]:
            row["finish_reason"] = "length"
    found = only(case)
    assert found.effect is not None
    assert found.word == "INCONCLUSIVE", "no seed has any spread left"
    assert found.effect.estimate == pytest.approx(-40)


@pytest.mark.parametrize(("axis", "word"), [("device_seconds", "INADMISSIBLE"), ("updates", "CONFIRMED")])
def test_different_devices_are_compared_on_every_axis_but_time(case: Case, axis: str, word: str) -> None:
    case.plan["hypotheses"][0]["matched_on"] = axis
    case.facts[0] = replace(case.facts[0], device_kind="NVIDIA H200")
    assert only(case).word == word


def test_a_run_resumed_on_another_device_is_found_in_its_costs(case: Case) -> None:
    case.plan["hypotheses"][0]["matched_on"] = "device_seconds"
    case.change("costs", {"run_id": run_id("grpo", 11), "step": 77}, device_kind="NVIDIA H200")
    inadmissible(case, "NVIDIA H200, cpu")


def test_an_axis_without_a_budget(case: Case) -> None:
    case.plan["hypotheses"][0]["matched_on"] = "train_flops"
    inadmissible(case, "no budget in train flops")


def test_a_diverged_run_is_kept_and_named(case: Case) -> None:
    case.facts[0] = replace(case.facts[0], diverged=True)
    content = build_report(case.inputs())
    assert content.hypotheses[0].word == "CONFIRMED"
    assert any("Diverged: grpo.tiny.s11" in flag for flag in content.flags)


@pytest.mark.parametrize("event", [{"diverged": True}, {"state": "failed"}])
def test_a_pair_is_left_out_where_the_plan_says_so_and_only_there(case: Case, event: dict[str, Any]) -> None:
    place = next(i for i, f in enumerate(case.facts) if (f.arm, f.seed) == ("grpo", 14))
    case.facts[place] = replace(case.facts[place], **event)
    rule = {"divergence": "exclude_pair"} if "diverged" in event else {"crash": "exclude_pair"}
    case.plan["hypotheses"][0]["intercurrent"] = rule
    found = only(case)
    # Without seed 14 the differences are 10, 10, 10 and 20, of mean 12.5.
    assert [seed for seed, _ in found.per_seed] == [11, 12, 13, 15]
    assert found.effect is not None
    assert found.effect.estimate == pytest.approx(12.5)
    assert (
        f"Left out by the plan: seed 14: grpo {'diverged' if 'diverged' in event else 'failed'}."
        in found.estimand
    )
    other = {"crash": "exclude_pair"} if "diverged" in event else {"divergence": "exclude_pair"}
    case.plan["hypotheses"][0]["intercurrent"] = other
    assert "Left out" not in only(case).estimand


def test_a_run_that_was_never_started_is_not_excluded_but_missing(case: Case) -> None:
    case.plan["hypotheses"][0]["intercurrent"] = {"crash": "exclude_pair"}
    case.facts[0] = replace(case.facts[0], state="planned")
    inadmissible(case, "never started")


def test_two_pairs_at_least_must_be_left(case: Case) -> None:
    case.plan["hypotheses"][0]["intercurrent"] = {"divergence": "exclude_pair"}
    case.facts = [replace(f, diverged=f.arm == "mcpo" and f.seed != 12) for f in case.facts]
    inadmissible(case, "excludes all seeds but 1", "seed 11: mcpo diverged")


def test_a_null_result_is_told_as_one() -> None:
    null = make_case(lambda arm, seed, step, bench, problem: 4 + (seed + (arm == "mcpo")) % 2)
    found = only(null)
    assert found.word == "INCONCLUSIVE"
    assert "do not decide" in found.sentence


def test_pairing_is_by_seed_and_not_by_the_order_of_runs(case: Case) -> None:
    assert build_report(case.inputs(reverse=True)).hypotheses[0].per_seed == only(case).per_seed
    assert len(SEEDS) == 5
    assert len(BENCHMARKS) == 2
