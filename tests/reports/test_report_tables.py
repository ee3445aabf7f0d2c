"""What the tables say, against a ledger whose every number is known."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, sqrt
from typing import Any

import numpy as np
import pytest

from prereg.fields import Axis
from prereg.problems import Refused
from reports.build import build_report
from reports.content import Estimate, ReportContent, Table
from reports.curves import lead_changes
from reports.inputs import Event
from reports.ledger import Cost, total
from reports.sections.ranking import in_short
from tests.reports.conftest import Case, make_case, run_id


def table(content: ReportContent, name: str) -> list[dict[str, Any]]:
    """The rows of a table by column."""
    found: Table = next(one for one in content.tables() if one.name == name)
    return [dict(zip((column.key for column in found.columns), row, strict=True)) for row in found.rows]


def one_row(content: ReportContent, name: str, **match: Any) -> dict[str, Any]:
    rows = [row for row in table(content, name) if all(row[key] == value for key, value in match.items())]
    assert len(rows) == 1
    return rows[0]


@pytest.fixture(scope="module")
def content() -> ReportContent:
    return build_report(make_case().inputs())


def test_arms_are_ranked_on_each_axis_with_their_updates(content: ReportContent) -> None:
    tokens = table(content, "ranking_generated_tokens")
    assert [(row["rank"], row["arm"], row["updates"], row["seeds"]) for row in tokens] == [
        (1, "mcpo", 90.0, 5),
        (2, "grpo", 100.0, 5),
    ]
    assert tokens[0]["accuracy"].value == pytest.approx(54)
    updates = table(content, "ranking_updates")
    assert {row["arm"]: row["updates"] for row in updates} == {"mcpo": 100, "grpo": 100}
    assert "same order on every axis: mcpo, grpo." in content.order


def test_an_order_that_changes_is_said_in_words() -> None:
    """mcpo leads per update but has not yet learnt anything at the 90 updates that its tokens buy."""
    case = make_case(lambda arm, seed, step, *_: 2 if step < 100 else 5 + (arm == "mcpo"))
    order = build_report(case.inputs()).order
    assert "changes with what is held equal" in order
    assert "at equal updates mcpo, grpo; at equal generated tokens grpo, mcpo" in order


def test_equal_arms_share_a_rank() -> None:
    case = make_case(lambda arm, seed, *_: 4 + seed % 2)
    assert [row["rank"] for row in table(build_report(case.inputs()), "ranking_updates")] == [1, 1]


def test_averages_with_their_interval_over_seeds(content: ReportContent) -> None:
    """mcpo by seed 50, 50, 50, 60, 60: mean 54, sd 5.4772, t(4, .975) 2.776445."""
    row = one_row(content, "averages", arm="mcpo", read_at="50,000 generated tokens")
    half = 2.776445 * sqrt(30) / sqrt(5)
    assert row["mean"].value == pytest.approx(54)
    assert row["mean"].low == pytest.approx(54 - half, abs=1e-4)
    assert row["easy"].value == row["hard"].value == pytest.approx(54)
    start = one_row(content, "averages", arm="mcpo", read_at="start")
    assert start["mean"].value == pytest.approx(20)
    assert isnan(start["mean"].low), "five equal seeds have no interval"


def test_pass_at_k_by_hand_and_not_estimable_beyond_the_samples(content: ReportContent) -> None:
    row = one_row(content, "pass_at_k", arm="grpo", read_at="100 updates")
    assert row["pass_1"].value == pytest.approx(40)
    assert row["pass_2"].value == pytest.approx(100 * (1 - 15 / 45))
    assert row["pass_8"].value == 100
    assert isnan(row["pass_16"].value)


def test_pass_at_k_is_placed_at_what_its_samples_cost(content: ReportContent) -> None:
    row = one_row(content, "pass_at_k_tokens", arm="grpo", read_at="100 updates", k=8)
    assert row["tokens"] == pytest.approx(72)


def test_every_evaluation_has_both_standard_errors(content: ReportContent) -> None:
    """Problems at .4, .5, .5, .6 of 10 samples."""
    row = one_row(content, "evaluations", run_id=run_id("mcpo", 11), updates=90, benchmark="easy")
    shares = [0.4, 0.5, 0.5, 0.6]
    spread = sqrt(sum((x - 0.5) ** 2 for x in shares) / 3)
    assert row["accuracy"] == pytest.approx(50)
    assert row["se_problems"] == pytest.approx(100 * spread / 2)
    assert row["se_problems_fixed"] == pytest.approx(100 * sqrt(sum(x * (1 - x) / 9 for x in shares)) / 4)


def test_readings_and_areas_by_hand(content: ReportContent) -> None:
    """grpo: 20 until half of its budget and 40 from there, or rising from 20 to 40 and then flat."""
    rows = {row["arm"]: row for row in table(content, "reading_sensitivity") if "tokens" in row["axis"]}
    assert rows["grpo"]["step"].value == rows["grpo"]["linear"].value == pytest.approx(40)
    assert rows["mcpo"]["step"].value == rows["mcpo"]["linear"].value == pytest.approx(54)
    assert rows["grpo"]["step_area"].value == pytest.approx(30)
    assert rows["grpo"]["linear_area"].value == pytest.approx(35)


def test_a_linear_reading_beyond_the_last_checkpoint_is_a_dash() -> None:
    case = make_case()
    for name in ("evaluations", "samples"):
        case.without(name, run_id=run_id("mcpo", 11), step=100)
    case.without("readings", run_id=run_id("mcpo", 11), axis="updates")
    case.without("readings", run_id=run_id("mcpo", 11), axis="device_seconds")
    rows = table(build_report(case.inputs()), "reading_sensitivity")
    mcpo = next(row for row in rows if row["arm"] == "mcpo" and "tokens" in row["axis"])
    assert mcpo["linear"] is None
    assert mcpo["step"].value == pytest.approx(54)


def test_costs_are_summed_by_purpose_and_phase(content: ReportContent) -> None:
    tokens = one_row(content, "cost_by_purpose", arm="mcpo", purpose="rollout")
    assert tokens["tokens"] == 5 * 120 * 550
    assert tokens["tokens_per_run"] == 120 * 550
    assert tokens["share"] == 1
    phase = one_row(content, "cost_by_phase", arm="grpo", phase="generate")
    assert phase["device_seconds"] == pytest.approx(60)
    assert phase["wall_seconds"] == pytest.approx(120)
    assert phase["generated_tokens"] == 5 * 120 * 500
    every = one_row(content, "cost_by_phase", arm="grpo", phase="all charged")
    assert every["flops"] == pytest.approx(6e11)


def test_evaluation_is_counted_and_charged_to_nobody() -> None:
    case = make_case()
    case.ledger.add(
        "costs",
        run_id=run_id("grpo", 11),
        step=0,
        phase="evaluate",
        purpose="evaluation",
        device_kind="cpu",
        devices=1,
        device_seconds=7.0,
        wall_seconds=7.0,
        generated_tokens=1000,
        prompt_tokens=0,
        flops=0.0,
    )
    content = build_report(case.inputs())
    assert one_row(content, "cost_by_purpose", arm="grpo", purpose="evaluation")["charged"] == "no"
    assert one_row(content, "cost_by_purpose", arm="grpo", purpose="rollout")["share"] == 1
    charged = one_row(content, "cost_by_phase", arm="grpo", phase="all charged")
    assert charged["device_seconds"] == pytest.approx(120)


def test_many_arms_are_not_written_out_four_times() -> None:
    orders: dict[Axis, tuple[str, ...]] = {
        "updates": ("a", "b = c", "d", "e", "f", "g"),
        "generated_tokens": ("a", "d", "b", "e", "f", "g", "c"),
        "device_seconds": ("b", "a", "c", "d", "e", "f", "g"),
    }
    assert in_short(orders) == (
        "First place: a at equal updates and at equal generated tokens; b at equal device time. "
        "The arm c moves furthest: place 2 at equal updates, place 7 at equal generated tokens."
    )


def test_sums_of_floats_do_not_depend_on_their_order() -> None:
    costs = [Cost(device_seconds=x) for x in (1e16, 1.0, -1e16, 1.0)]
    assert total(costs).device_seconds == total(costs[::-1]).device_seconds == 2.0
    assert sum(cost.device_seconds for cost in costs) != 2.0


def test_updates_reached_at_each_budget(content: ReportContent) -> None:
    """50,000 tokens buy 90 updates of 550, with 500 tokens left."""
    tokens = one_row(content, "updates_at_budgets", arm="mcpo", budget=50_000)
    assert (tokens["updates"], tokens["fewest"], tokens["most"], tokens["seeds"]) == (90, 90, 90, 5)
    assert tokens["used"] == pytest.approx(0.99)
    assert one_row(content, "updates_at_budgets", arm="mcpo", budget=100)["used"] == 1


def test_the_price_of_a_point_is_a_ratio_of_sums(content: ReportContent) -> None:
    """mcpo gains 30, 30, 30, 40, 40 points with 49,500 tokens each: 247,500 / 170, and 90 s / 170."""
    row = one_row(content, "cost_of_a_point", arm="mcpo", read_at="50,000 generated tokens")
    assert row["gain"].value == pytest.approx(34)
    assert row["tokens"] == 49_500
    assert row["tokens_per_point"] == pytest.approx(247_500 / 170)
    assert row["seconds_per_point"] == pytest.approx(90 / 170)
    assert row["tokens_per_point"] != pytest.approx((3 * 49_500 / 30 + 2 * 49_500 / 40) / 5), "mean of ratios"
    assert row["meaning"] == "a price"


@pytest.mark.parametrize(
    ("end", "meaning", "price"),
    [((1, 1, 1, 1, 1), "no gain", None), ((1, 1, 5, 2, 2), "uncertain", 50_000 / 2)],
)
def test_a_point_that_was_not_gained_has_no_price(
    end: tuple[int, ...], meaning: str, price: float | None
) -> None:
    """Gains of -10, -10, 30, 0, 0 points are 2 on average, and their interval holds 0."""
    case = make_case(lambda arm, seed, step, *_: end[seed - 11] if step else 2)
    row = one_row(build_report(case.inputs()), "cost_of_a_point", arm="grpo", read_at="100 updates")
    assert row["meaning"] == meaning
    assert row["tokens_per_point"] == (None if price is None else pytest.approx(price))


def test_where_curves_cross_on_each_axis() -> None:
    """grpo leads from 50 updates, mcpo from 90 of its own: 49,500 tokens or 18 device-seconds."""

    def right(arm: str, seed: int, step: int, *_: object) -> int:
        if step == 0:
            return 2
        return (3 if step < 60 else 6) if arm == "mcpo" else 4

    rows = table(build_report(make_case(right).inputs()), "crossings")
    assert [(row["arm"], row["control"]) for row in rows] == [("mcpo", "grpo")] * 3
    assert [row["first"] for row in rows] == ["grpo"] * 3
    assert [row["count"] for row in rows] == [1] * 3
    assert [row["last_crossing"] for row in rows] == pytest.approx([90, 49_500, 18])
    assert [row["last"] for row in rows] == ["mcpo"] * 3
    assert [row["gap"] for row in rows] == pytest.approx([20] * 3)


def test_a_tie_is_no_crossing() -> None:
    """The lead is +, tie, +, then -: one crossing, at 4."""
    cost = np.arange(5.0)
    changes = lead_changes((cost, np.array([0.0, 2, 2, 3, 3])), (cost, np.array([0.0, 1, 2, 2, 4])))
    assert changes == ((1.0, 1), (4.0, -1))


def test_lost_work_is_shown(case: Case) -> None:
    case.facts[0] = replace(case.facts[0], interruptions=2)
    case.ledger.add(
        "lost",
        run_id=run_id("grpo", 11),
        after_commit=3,
        steps=4,
        generated_tokens=2000,
        device_seconds=0.8,
        wall_seconds=1.0,
    )
    row = one_row(build_report(case.inputs()), "lost_work", arm="grpo")
    assert (row["interruptions"], row["steps"], row["tokens"], row["device_seconds"]) == (2, 4, 2000, 0.8)


def test_length_truncation_and_informative_groups(content: ReportContent) -> None:
    row = one_row(content, "training", arm="grpo")
    assert row["mean_tokens"] == 9
    assert row["truncated"] == pytest.approx(2 / 64)
    assert row["informative"] == pytest.approx(6 / 8)
    assert row["entropy_first"] == pytest.approx(0.5 - 6.5 / 1000)
    assert row["kl"] is None
    assert one_row(content, "length_evaluation", arm="grpo", read_at="start")["mean_tokens"] == pytest.approx(
        9
    )


def test_truncation_is_flagged_on_the_first_page(case: Case) -> None:
    for row in case.ledger.rows["samples"]:
        if row["run_id"].startswith("mcpo") and row["step"] == 100 and row["sample"] == 9:
            row["finish_reason"] = "length"
    flags = build_report(case.inputs()).flags
    assert any("mcpo: 10 % of the evaluation samples were cut" in flag for flag in flags)


def test_an_arm_that_writes_longer_is_flagged(case: Case) -> None:
    for row in case.ledger.rows["samples"]:
        if row["run_id"].startswith("mcpo"):
            row["generated_tokens"] = 18
    flags = build_report(case.inputs()).flags
    assert flags == ("mcpo writes 2.0 times as many tokens an answer as grpo (read at 100 updates).",)


def test_a_clean_study_has_no_flag(content: ReportContent) -> None:
    assert content.flags == ()


def test_run_flow_counts_what_was_analysed_and_says_why_not(case: Case) -> None:
    case.facts[0] = replace(case.facts[0], state="started", note="killed by the machine")
    case.without("samples", run_id=run_id("mcpo", 12), step=100, problem_id="hard-2", sample=9)
    content = build_report(case.inputs())
    grpo, mcpo = table(content, "run_flow")
    assert (grpo["planned"], grpo["started"], grpo["finished"], grpo["analysed"]) == (5, 5, 4, 4)
    assert (mcpo["planned"], mcpo["finished"], mcpo["analysed"]) == (5, 5, 4)
    assert "8 of 10 planned runs analysed" in content.lock_line
    text = repr(content.sections)
    assert "grpo.tiny.s11: started (killed by the machine)" in text
    assert "mcpo.tiny.s12, hard after 100 updates: 1 problem without 10 samples" in text
    assert content.hypotheses[0].word == "INADMISSIBLE"


def test_readings_show_the_cost_of_the_crossing_update(content: ReportContent) -> None:
    """mcpo: 90 updates of 550 tokens are 49,500; the next would have been 50,050."""
    row = one_row(content, "readings", arm="mcpo", axis="generated tokens")
    assert (row["cost"], row["crossing"]) == (49_500, 50_050)
    assert row["unused"] == pytest.approx(0.01)
    assert row["overshoot"] == pytest.approx(0.001)
    assert one_row(content, "readings", arm="grpo", axis="updates")["overshoot"] == 0


def test_looks_are_counted(case: Case) -> None:
    case.events = (*case.events, Event("2026-01-01 01:00", "look", "3 of 10 runs complete"))
    content = build_report(case.inputs())
    assert any("looked at 1 time before" in flag for flag in content.flags)
    assert table(content, "events")[-1]["kind"] == "look"


def test_runs_that_the_study_does_not_plan_are_named_and_left_out(case: Case) -> None:
    before = table(build_report(case.inputs()), "cost_by_purpose")
    case.ledger.add("costs", **{**case.ledger.rows["costs"][0], "run_id": "grpo.tiny.s99"})
    content = build_report(case.inputs())
    assert any("1 run that the study does not plan" in flag for flag in content.flags)
    assert table(content, "cost_by_purpose") == before


def test_what_differs_from_the_lock_stands_on_the_first_page(case: Case) -> None:
    case.lock = replace(case.lock, differences=("trainer.temperature: 1.0 is now 0.9",))
    content = build_report(case.inputs())
    assert content.flags[0] == "Differs from the lock: trainer.temperature: 1.0 is now 0.9"
    assert content.hypotheses[0].sentence.startswith("Deviates from the lock: At equal generated tokens")
    assert content.hypotheses[0].sentence.endswith("by the statistics alone, the claim is confirmed.")


def test_several_models_are_kept_apart(case: Case) -> None:
    case.plan["models"]["other"] = {"source": {"kind": "builtin"}}
    case.plan["hypotheses"][0]["model"] = "tiny"
    content = build_report(case.inputs())
    assert content.hypotheses[0].word == "CONFIRMED"
    assert one_row(content, "run_flow", model="other", arm="grpo")["started"] == 0
    assert table(content, "ranking_updates_other")[0]["rank"] is None
    assert "10 of 20 planned runs" in content.lock_line


def test_a_cost_that_repeats_is_refused_with_the_run_and_the_axis(case: Case) -> None:
    for row in case.ledger.rows["evaluations"]:
        if row["run_id"] == run_id("grpo", 11) and row["step"] == 50:
            row["cost_generated_tokens"] = 0
    with pytest.raises(Refused, match=r"grpo\.tiny\.s11.*generated tokens.*decrease or repeat"):
        build_report(case.inputs())


def test_evaluations_that_contradict_each_other_are_refused(case: Case) -> None:
    case.change("evaluations", {"run_id": run_id("grpo", 11), "step": 50}, cost_device_seconds=11.0)
    with pytest.raises(Refused, match="disagree about the policy's cost"):
        build_report(case.inputs())


def test_a_missing_column_is_named(case: Case) -> None:
    inputs = case.inputs()
    inputs.connection.register("short", inputs.connection.sql("SELECT run_id FROM lost").to_arrow_table())
    inputs.connection.unregister("lost")
    inputs.connection.execute("CREATE VIEW lost AS SELECT run_id FROM short")
    with pytest.raises(Refused, match=r"queries/lost\.sql"):
        build_report(inputs)


def test_an_estimate_of_nothing_has_no_number(content: ReportContent) -> None:
    case = make_case()
    case.facts = [replace(fact, state="planned") for fact in case.facts]
    for name in case.ledger.rows:
        case.ledger.rows[name] = []
    empty = build_report(case.inputs())
    assert all(row["rank"] is None for row in table(empty, "ranking_updates"))
    assert not any(isinstance(value, Estimate) for row in table(empty, "averages") for value in row.values())


def test_an_arm_whose_first_update_crosses_a_budget_is_named_alone() -> None:
    case = make_case()
    for row in case.ledger.rows["readings"]:
        if row["run_id"].startswith("mcpo") and row["axis"] == "generated_tokens":
            row.update(step=0, cost=0.0, crossing_cost=60_000.0)
    rows = case.ledger.rows
    rows["evaluations"] = [
        r for r in rows["evaluations"] if not (r["run_id"].startswith("mcpo") and r["step"])
    ]
    (flag,) = (one for one in build_report(case.inputs()).flags if "holds not one update" in one)
    assert "of mcpo (" in flag
    assert "grpo" not in flag
