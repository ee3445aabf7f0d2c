"""Reserve seeds, exclusions and missing pairs on a ledger written by hand: every difference is known."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from prereg.hypotheses import Hypothesis
from prereg.reserve import Replacement
from reports.build import build_report
from reports.content import HypothesisResult, ReportContent, Table
from reports.inputs import ReportInputs, RunFact, Setup
from reports.intervals import paired_t, seed_means
from reports.missing import worst_case
from tests.reports.conftest import PLAN, Case, make_case, run_id, write_run

BASE = {11: 2, 12: 3, 13: 1, 14: 4, 15: 2, 16: 2, 17: 3, 18: 2}
"""Right answers of ten that grpo gives, by seed."""
GAIN = {11: 1, 12: 2, 13: 3, 14: 2, 15: 4, 16: 0, 17: 5, 18: 3}
"""How many more mcpo gives: a paired difference of ten points each."""
DRAWN = Replacement(13, 16, run_id("grpo", 13))


def score(arm: str, seed: int, step: int, benchmark: str, problem: int) -> int:
    return 1 if step == 0 else BASE[seed] + (GAIN[seed] if arm == "mcpo" else 0)


def planned(*extra: int, **changes: Any) -> Case:
    """The study with seeds 16 and 17 in reserve, of which the runs of `extra` were made."""
    case = make_case(score, **({"reserve_seeds": [16, 17]} | changes))
    for arm in case.plan["arms"]:
        for seed in extra:
            write_run(case.ledger, arm, seed, score)
            case.facts.append(RunFact(run_id(arm, seed), arm, "tiny", seed, "finished", "cpu"))
    return case


def change(case: Case, arm: str, seed: int, **values: Any) -> None:
    place = next(i for i, fact in enumerate(case.facts) if (fact.arm, fact.seed) == (arm, seed))
    case.facts[place] = replace(case.facts[place], **values)


def fail(case: Case, arm: str, seed: int, for_good: bool = True) -> None:
    """The run ended with an error after its start was evaluated: nothing of it reached a budget."""
    change(case, arm, seed, state="failed", note="out of memory", for_good=for_good)
    case.without("readings", run_id=run_id(arm, seed))


def report(case: Case, *drawn: Replacement) -> ReportContent:
    inputs: ReportInputs = replace(case.inputs(), drawn=drawn)
    return build_report(inputs)


def only(case: Case, *drawn: Replacement) -> HypothesisResult:
    (found,) = report(case, *drawn).hypotheses
    return found


def pairs(found: HypothesisResult) -> list[tuple[int, float]]:
    """Seeds with their paired differences, rid of rounding."""
    return [(seed, round(difference, 9)) for seed, difference in found.per_seed]


def table(content: ReportContent, name: str) -> Table:
    return next(one for one in content.tables() if one.name == name)


def greater(values: list[float]) -> float:
    return float(stats.ttest_1samp(values, 0, alternative="greater").pvalue)


@pytest.mark.parametrize("rule", [{}, {"crash": "exclude_pair"}, {"divergence": "exclude_pair"}])
def test_a_reserve_seed_takes_the_place_of_a_failed_one_in_both_arms(rule: dict[str, str]) -> None:
    case = planned(16)
    case.plan["hypotheses"][0]["intercurrent"] = rule
    fail(case, "grpo", 13)
    found = only(case, DRAWN)
    assert pairs(found) == [(11, 10), (12, 20), (16, 0), (14, 20), (15, 40)]
    assert found.p == pytest.approx(greater([10, 20, 0, 20, 40]))
    assert found.word == "CONFIRMED"
    # Replaced in the control alone, the place would hold (1 + 3) - 2 of ten; in the treatment alone, 2 - 1.
    assert dict(found.per_seed)[16] not in (20, 10)
    assert "grpo 26.0 %" in found.means  # (2 + 3 + 2 + 4 + 2) / 5 of ten
    assert "mcpo 44.0 %" in found.means  # (3 + 5 + 2 + 6 + 6) / 5 of ten


def test_a_replacement_is_told_as_planned_and_is_no_deviation() -> None:
    case = planned(16)
    fail(case, "grpo", 13)
    content = report(case, DRAWN)
    said = (
        "As planned, the reserve seed 16 took the place of 13, of which grpo.tiny.s13 failed for good "
        "(out of memory)."
    )
    assert said in content.flags
    assert not any("could not be analysed" in flag or "does not plan" in flag for flag in content.flags)
    assert "10 of 10 planned runs analysed" in content.lock_line
    assert "Nothing differs" in content.lock_line
    # Each run writes 120 updates: grpo of 500 tokens, mcpo of 550, 0.2 device-seconds an update.
    spent = "The runs that were given up had generated 126,000 tokens in 48.0 device-seconds"
    assert any(flag.startswith(spent) for flag in content.flags)
    flow = table(content, "run_flow")
    assert [row[1:6] for row in flow.rows] == [(5, 5, 5, 5, 0), (5, 5, 5, 5, 0)]
    runs = {row[0]: row for row in table(content, "runs").rows}
    assert len(runs) == 12
    keys = [column.key for column in table(content, "runs").columns]
    for arm in ("grpo", "mcpo"):
        given_up = dict(zip(keys, runs[run_id(arm, 13)], strict=True))
        assert (given_up["analysed"], given_up["by_plan"]) == ("no", "reserve seed 16 took its place")
        assert dict(zip(keys, runs[run_id(arm, 16)], strict=True))["by_plan"] == "in the place of seed 13"


def test_of_a_long_message_a_sentence_takes_the_first_line_and_no_more_than_fits() -> None:
    case = planned(16)
    fail(case, "grpo", 13)
    change(case, "grpo", 13, note="x" * 500 + "\nsecond line")
    said = next(flag for flag in report(case, DRAWN).flags if flag.startswith("As planned"))
    assert said.endswith(f"failed for good ({'x' * 160}...).")
    assert RunFact("r", "a", "m", 1, "failed").why == ""


def test_a_reserve_seed_that_failed_itself_passes_its_place_on() -> None:
    case = planned(16, 17)
    fail(case, "grpo", 13)
    fail(case, "mcpo", 16)
    found = only(case, DRAWN, Replacement(16, 17, run_id("mcpo", 16)))
    assert pairs(found) == [(11, 10), (12, 20), (17, 50), (14, 20), (15, 40)]


def test_a_reserve_seed_belongs_to_the_look_of_the_seed_whose_place_it_takes() -> None:
    """The first three places decide: 20, 20 and 30 points have a p of .0099, and .0197 by half of alpha."""
    looks = [{"seeds": 3, "share": 0.5}, {"seeds": 5, "share": 0.5}]
    case = planned(
        18, seeds=[12, 14, 11, 15, 13], reserve_seeds=[18],
        stopping={"kind": "group_sequential", "looks": looks},
    )  # fmt: skip
    fail(case, "mcpo", 11)
    for arm, seed in itertools.product(("grpo", "mcpo"), (15, 13)):
        change(case, arm, seed, state="planned")
    found = only(case, Replacement(11, 18, run_id("mcpo", 11)))
    assert pairs(found) == [(12, 20), (14, 20), (18, 30)]
    assert found.word == "CONFIRMED"
    assert found.p == pytest.approx(2 * greater([20, 20, 30]))
    assert only(case).word == "INADMISSIBLE"


def test_a_drawn_seed_whose_runs_are_not_made_yet_is_missing() -> None:
    case = planned()
    fail(case, "grpo", 13)
    found = only(case, DRAWN)
    assert found.word == "INADMISSIBLE"
    assert "grpo, seed 16: the run was never started" in found.reasons


@pytest.mark.parametrize("rule", ["include", "exclude_pair"])
def test_a_diverged_seed_is_not_replaced(rule: str) -> None:
    """To replace it would be to choose seeds by outcome: the difference would be that of seed 16."""
    case = planned(16)
    case.plan["hypotheses"][0]["intercurrent"] = {"divergence": rule}
    change(case, "grpo", 13, diverged=True)
    found = only(case)
    assert 16 not in dict(found.per_seed)
    assert (13 in dict(found.per_seed)) == (rule == "include")


def test_a_run_of_the_reserve_that_nothing_called_for_is_flagged_and_not_used() -> None:
    content = report(planned(16))
    assert any("2 runs that the study does not plan" in flag for flag in content.flags)
    assert [seed for seed, _ in content.hypotheses[0].per_seed] == [11, 12, 13, 14, 15]


RESTARTS = {"id": "cut-too-often", "field": "resumptions", "above": 5}
SETUP = Setup("transformers", "cpu", True, 1, (("torch", "2.13.0"), ("transformers", "5.19.0")))


def test_a_rule_leaves_a_seed_out_of_both_arms_and_is_named() -> None:
    case = planned(exclusions=[RESTARTS])
    change(case, "mcpo", 12, interruptions=6)
    change(case, "grpo", 14, interruptions=5)
    content = report(case)
    (found,) = content.hypotheses
    assert pairs(found) == [(11, 10), (13, 30), (14, 20), (15, 40)]
    assert found.p == pytest.approx(greater([10, 30, 20, 40]))
    said = "cut-too-often (6 resumptions, where at most 5 were declared)"
    assert f"Left out by the plan: seed 12: mcpo by the rule {said}." in found.estimand
    assert f"As planned, mcpo.tiny.s12 is left out by {said}." in content.flags
    assert [row[5] for row in table(content, "run_flow").rows] == [0, 1]


def test_each_fact_is_read_where_it_is_recorded() -> None:
    rules = [
        {"id": "lost", "field": "lost_updates", "above": 7},
        {"id": "device", "field": "device_kind", "differs_from": "cpu"},
        {"id": "torch", "field": "torch_version", "differs_from": "2.13.0"},
        {"id": "transformers", "field": "transformers_version", "differs_from": "5.19.0"},
    ]
    case = planned(exclusions=rules)
    for place in range(2):
        case.ledger.add(
            "lost", run_id=run_id("grpo", 11), resume=place, steps=4, generated_tokens=1, device_seconds=1.0,
            wall_seconds=1.0,
        )  # fmt: skip
    case.change("costs", {"run_id": run_id("mcpo", 12), "step": 77}, device_kind="NVIDIA H200")
    change(case, "grpo", 13, setup=replace(SETUP, packages=(("torch", "2.12.0"), ("transformers", "5.19.0"))))
    change(case, "grpo", 14, setup=SETUP)
    found = only(case)
    assert [seed for seed, _ in found.per_seed] == [14, 15]
    for words in (
        "seed 11: grpo by the rule lost (8 lost updates",
        "seed 12: mcpo by the rule device (device kind NVIDIA H200, where cpu was declared)",
        "seed 13: grpo by the rule torch (torch version 2.12.0, where 2.13.0 was declared)",
    ):
        assert words in found.estimand, words


def test_a_run_on_another_device_that_a_rule_leaves_out_does_not_spoil_the_axis_of_time() -> None:
    case = planned(exclusions=[{"id": "device", "field": "device_kind", "differs_from": "cpu"}])
    case.plan["hypotheses"][0]["matched_on"] = "device_seconds"
    change(case, "mcpo", 12, device_kind="NVIDIA H200")
    assert [seed for seed, _ in only(case).per_seed] == [11, 13, 14, 15]
    case.plan["exclusions"] = []
    assert only(case).word == "INADMISSIBLE"


def test_a_rule_on_an_arm_that_a_hypothesis_does_not_compare_leaves_it_alone() -> None:
    arms = {**PLAN["arms"], "third": {"role": "placebo", "trainer": {"credit": {"kind": "margin"}}}}
    other = {**PLAN["hypotheses"][0], "id": "h-third", "treatment": "third"}
    case = planned(exclusions=[RESTARTS], arms=arms, hypotheses=[PLAN["hypotheses"][0], other])
    change(case, "third", 12, interruptions=9)
    mine, others = report(case).hypotheses
    assert len(mine.per_seed) == 5
    assert [seed for seed, _ in others.per_seed] == [11, 13, 14, 15]


COMPLETE = {"pairs": "complete_cases", "at_least": 4}


def test_a_verdict_on_complete_pairs_names_the_missing_one_and_bounds_it() -> None:
    case = planned(missing=COMPLETE, reserve_seeds=[])
    fail(case, "mcpo", 12)
    found = only(case)
    assert pairs(found) == [(11, 10), (13, 30), (14, 20), (15, 40)]
    assert found.word == "CONFIRMED"
    assert found.p == pytest.approx(greater([10, 30, 20, 40]))
    named = "the pair of seed 12 is missing: mcpo.tiny.s12 failed for good (out of memory)"
    assert found.reasons == (named,)
    assert f"On the complete pairs: {named}." in found.estimand
    (bound,) = found.sensitivity
    assert bound.p == pytest.approx(greater([10, 30, 20, 40, 10]))
    assert "the missing pair as the worst of the others (seed 11: +10.0 points)" in bound.name


def test_fewer_pairs_than_the_plan_asks_for_are_inadmissible() -> None:
    case = planned(missing=COMPLETE, reserve_seeds=[])
    fail(case, "mcpo", 12)
    fail(case, "grpo", 15)
    found = only(case)
    assert found.word == "INADMISSIBLE"
    assert found.reasons[0] == "the plan asks for at least 4 complete pairs, and 3 are there"
    assert any("grpo.tiny.s15 failed for good" in reason for reason in found.reasons)


@pytest.mark.parametrize("missing", [COMPLETE, {}])
@pytest.mark.parametrize("state", ["planned", "started", "failed"])
def test_what_can_still_be_made_is_not_missing(missing: dict[str, Any], state: Any) -> None:
    """Otherwise whoever has seen four pairs could choose whether to have the fifth."""
    case = planned(missing=missing, reserve_seeds=[])
    change(case, "mcpo", 12, state=state)
    assert only(case).word == "INADMISSIBLE"


def test_by_default_a_failed_pair_is_inadmissible() -> None:
    case = planned(reserve_seeds=[])
    fail(case, "mcpo", 12)
    assert only(case).word == "INADMISSIBLE"


def test_a_sample_that_could_not_be_graded_blocks_whatever_is_done_about_pairs() -> None:
    case = planned(missing=COMPLETE, reserve_seeds=[])
    step = {"run_id": run_id("mcpo", 12), "step": 90}
    case.change("samples", step, grader_state="grader_error", correct=None)
    found = only(case)
    assert found.word == "INADMISSIBLE"
    assert "could not be graded" in found.reasons[0]


def test_the_reserve_comes_first_and_only_what_it_cannot_replace_is_missing() -> None:
    case = planned(16, missing=COMPLETE, reserve_seeds=[16])
    fail(case, "grpo", 13, for_good=False)
    fail(case, "mcpo", 12)
    found = only(case, DRAWN)
    assert [seed for seed, _ in found.per_seed] == [11, 16, 14, 15]
    assert len(found.reasons) == 1


def claim(direction: str, **more: Any) -> Hypothesis:
    return Hypothesis.model_validate_json(
        json.dumps({**PLAN["hypotheses"][0], "direction": direction, **more})
    )


def test_the_example_of_the_documentation() -> None:
    """-0.5, 5, 7 and 9 points have a p of .0436; with a fifth of -0.5 it is .0543."""
    blocks = [np.array([[-0.5], [5], [7], [9]])]
    assert greater([-0.5, 5, 7, 9]) == pytest.approx(0.0436209, abs=1e-6)
    found = worst_case(
        claim("greater"), blocks, [1.0], (1, 2, 3, 4), 1, lambda b: paired_t(seed_means(b, [1.0]))
    )
    assert found is not None
    assert (found.seed, found.difference) == (1, -0.5)
    assert found.p == pytest.approx(0.0543038, abs=1e-6)


@pytest.mark.parametrize("pairs", [1, 2, 3])
@pytest.mark.parametrize("values", [(10.0, 20, 30, 25), (-10.0, -12, -30, 5), (0.2, -0.4, 0.3, 0.1)])
@pytest.mark.parametrize(
    ("direction", "more"),
    [
        ("greater", {}),
        ("less", {}),
        ("two_sided", {}),
        ("equivalent", {"margin": 0.6, "test": {"kind": "tost"}}),
        ("non_inferior", {"margin": 1.0, "test": {"kind": "non_inferiority"}}),
        ("greater", {"test": {"kind": "sign_flip"}}),
    ],
)
def test_the_bound_is_the_worse_of_the_two_ends_by_brute_force(
    direction: str, more: dict[str, Any], values: tuple[float, ...], pairs: int
) -> None:
    one = claim(direction, **more)
    blocks = [np.array(values)[:, None]]
    found = worst_case(one, blocks, [1.0], (1, 2, 3, 4), pairs, lambda b: paired_t(seed_means(b, [1.0])))
    assert found is not None
    by_hand = [_p(direction, [*values, *[end] * pairs], more) for end in (min(values), max(values))]
    assert found.p == pytest.approx(max(by_hand))


def _p(direction: str, values: list[float], more: dict[str, Any]) -> float:
    """By scipy, or by counting all flips."""
    if more.get("test") == {"kind": "sign_flip"}:
        sums = [np.dot(signs, values) for signs in itertools.product((1, -1), repeat=len(values))]
        return float(np.mean(np.array(sums) >= sum(values) - 1e-9))
    margin = more.get("margin", 0.0)

    def tail(null: float, side: str) -> float:
        return float(stats.ttest_1samp(values, null, alternative=side).pvalue)

    return {
        "greater": lambda: tail(0, "greater"),
        "less": lambda: tail(0, "less"),
        "two_sided": lambda: tail(0, "two-sided"),
        "equivalent": lambda: max(tail(-margin, "greater"), tail(margin, "less")),
        "non_inferior": lambda: tail(-margin, "greater"),
    }[direction]()


def test_nothing_is_bounded_where_nothing_is_missing() -> None:
    assert only(planned(missing=COMPLETE)).sensitivity == ()
