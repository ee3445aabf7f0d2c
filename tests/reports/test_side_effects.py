"""Bounds on side effects, token caps, truncation and strata, against a ledger whose every number is known."""

from __future__ import annotations

from typing import Any

import pytest

from reports.build import build_report
from reports.content import ReportContent
from tests.reports.conftest import Case, make_case, run_id
from tests.reports.test_report_tables import one_row, table


def with_controls(**controls: Any) -> Case:
    return make_case(controls=controls)


def verdict(content: ReportContent) -> str:
    return content.hypotheses[0].outcome


def lengthen(case: Case, arm: str, tokens: int) -> None:
    """Every evaluation sample of the arm, after the start, gets so many tokens."""
    for row in case.ledger.rows["samples"]:
        if row["run_id"].startswith(arm) and row["step"]:
            row["generated_tokens"] = tokens


def test_a_bound_that_is_kept_changes_nothing() -> None:
    content = build_report(
        with_controls(length={"measure": "length", "relative_to": "grpo", "at_most": 1.2}).inputs()
    )
    rows = table(content, "controls")
    assert [(row["arm"], row["finding"], row["ratio"]) for row in rows] == [("mcpo", "kept", 1.0)] * 3
    assert verdict(content) == verdict(build_report(make_case().inputs()))
    assert not any("breaks the bound" in flag for flag in content.flags)


def test_a_broken_bound_is_flagged_on_the_first_page() -> None:
    case = with_controls(length={"measure": "length", "relative_to": "grpo", "at_most": 1.2})
    lengthen(case, "mcpo", 18)
    content = build_report(case.inputs())
    row = one_row(content, "controls", read_at="at equal generated tokens")
    assert (row["finding"], row["ratio"], row["value"]) == ("broken", 2.0, "18.0")
    flag = next(flag for flag in content.flags if "breaks the bound length at equal generated tokens" in flag)
    assert "2.00 times, declared at most 1.2 times that of grpo" in flag
    assert verdict(content) != "INADMISSIBLE"


def test_a_voiding_bound_makes_the_hypothesis_inadmissible() -> None:
    case = with_controls(length={"measure": "length", "at_most": 12, "action": "void"})
    lengthen(case, "mcpo", 18)
    content = build_report(case.inputs())
    assert verdict(content) == "INADMISSIBLE"
    assert "the control length was broken by mcpo: length 18" in content.hypotheses[0].reasons[0]


def test_a_bound_at_one_budget_voids_only_what_is_read_there() -> None:
    case = with_controls(
        length={"measure": "length", "at_most": 12, "action": "void", "matched_on": "updates"}
    )
    lengthen(case, "mcpo", 18)
    content = build_report(case.inputs())
    assert verdict(content) != "INADMISSIBLE"
    assert one_row(content, "controls", arm="mcpo")["finding"] == "broken"


def test_what_cannot_be_measured_is_not_taken_as_kept() -> None:
    case = with_controls(entropy={"measure": "entropy", "at_least": 0.1, "action": "void"})
    for row in case.ledger.rows["updates"]:
        if row["run_id"] == run_id("mcpo", 13):
            row["entropy"] = None
    content = build_report(case.inputs())
    assert one_row(content, "controls", arm="mcpo")["finding"] == "not measured"
    assert verdict(content) == "INADMISSIBLE"


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("entropy", "0.386"),  # mean of 0.5 - step/1000 over the last twelve of 120 updates: steps 109 to 120
        ("informative_groups", "75.0 %"),
        ("training_length", "9.0"),
        ("duplicate_samples", "0.0 %"),
        ("truncation", "0.0 %"),
    ],
)
def test_each_measure_by_hand(measure: str, value: str) -> None:
    content = build_report(with_controls(c={"measure": measure, "at_most": 1e9, "arms": ["grpo"]}).inputs())
    assert {row["value"] for row in table(content, "controls")} == {value}


def test_accuracy_at_a_cap_counts_what_is_right_and_finished_by_then() -> None:
    """mcpo needs 18 tokens where grpo needs 9: at a cap of 12 it has nothing, at 24 all."""
    case = make_case(evaluation={"pass_k": [1], "token_caps": [8, 12, 18, 24]})
    lengthen(case, "mcpo", 18)
    content = build_report(case.inputs())
    found = {
        (row["arm"], row["cap"]): row["accuracy"].value
        for row in table(content, "token_caps")
        if row["read_at"] == "50,000 generated tokens"
    }
    assert {cap: found["grpo", cap] for cap in (8, 12, 24)} == {8: 0, 12: 40, 24: 40}
    assert [found["mcpo", cap] for cap in (8, 12, 18, 24)] == pytest.approx([0, 0, 54, 54])


def test_truncated_answers_bound_the_difference() -> None:
    """One of mcpo's 40 wrong-or-right samples a run and benchmark is cut: 2.5 % of its answers."""
    case = make_case()
    for row in case.ledger.rows["samples"]:
        if row["run_id"].startswith("mcpo") and row["problem_id"].endswith("-0") and row["sample"] == 9:
            row["finish_reason"] = "length"
    row = one_row(build_report(case.inputs()), "truncation")
    assert (row["cut_treatment"], row["cut_control"]) == (0.025, 0)
    assert row["wrong"].value == pytest.approx(14)
    assert row["finished"].value == pytest.approx(100 * 0.54 / 0.975 - 40)
    assert row["right"] == pytest.approx(16.5)
    assert row["least"] == pytest.approx(14)
    assert row["most"] == pytest.approx(16.5)


def test_the_regression_stands_without_a_p_value() -> None:
    content = build_report(make_case().inputs())
    one = next(t for t in content.tables() if t.name == "length_regression")
    assert "turn the truth around" in one.note
    assert not any(column.kind == "p" for column in one.columns)
    arm = next(row for row in table(content, "length_regression") if "treatment less control" in row["term"])
    assert arm["points"].value == pytest.approx(14)


@pytest.mark.parametrize("by", ["base_model", "other_seeds", "cross_fit"])
def test_strata_are_drawn_from_other_samples(by: str) -> None:
    """2 of 10 are right at the start, so that all is hard by it; the trained control has 4 of 10."""
    content = build_report(make_case(strata={"by": by, "cut_points": [0.3]}).inputs())
    rows = table(content, "strata")
    hard, easy, interaction = rows
    if by == "base_model":
        assert (hard["problems"], easy["problems"]) == (8, 0)
        assert hard["effect"].value == pytest.approx(14)
        assert easy["effect"] is None
    else:
        # By the even samples 0, 2 the control has 2 of 5 right, by the odd ones 1, 3 as well: all are easy.
        assert (hard["problems"], easy["problems"]) == (0, 8)
        assert easy["effect"].value == pytest.approx(14)
    assert interaction["interaction"] is None


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("by", ["base_model", "other_seeds"])
def test_one_seed_has_no_others_to_tell_difficulty_from(by: str) -> None:
    """No problem is called easy for want of samples, and nothing warns of a division by none."""
    case = make_case(strata={"by": by, "cut_points": [0.3]}, seeds=[11])
    (row,) = table(build_report(case.inputs()), "strata")
    assert row["stratum"] == "not available"


def test_without_declared_bounds_the_report_says_so(case: Case) -> None:
    section = next(s for s in build_report(case.inputs()).sections if s.name == "controls")
    assert "declares no bounds" in section.blocks[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize(("steps", "said"), [((1.0, 1.0), True), ((1.0, 1.5), False), ((None, None), False)])
def test_a_dense_arm_that_found_no_step_is_named(steps: tuple[float | None, ...], said: bool) -> None:
    case = make_case()
    own = [row for row in case.ledger.rows["updates"] if row["run_id"].startswith("mcpo")]
    for number, row in enumerate(own):
        row["mean_steps"] = steps[number % 2]
    content = build_report(case.inputs())
    assert any("no training completion has a second step" in flag for flag in content.flags) is said
    assert ("mean_steps" in one_row(content, "training", arm="mcpo")) is (steps[0] is not None)
