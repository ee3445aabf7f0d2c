"""Predictions of a prompt selection against what came of them, with values by hand."""

from __future__ import annotations

from typing import Any

import pytest

from reports.build import build_report
from reports.content import Figure
from reports.forecasts import (
    Forecast,
    base_rate,
    brier,
    brier_of_base_rate,
    deciles,
    informative_share,
    read_forecasts,
)
from tests.reports.conftest import Case, make_case, run_id
from tests.reports.test_report_tables import one_row, table


def forecast(predicted: float, *rewards: float, explored: bool = False) -> Forecast:
    return Forecast("r", predicted, 1.0, explored, rewards)


TWO = (forecast(0.75, 1, 1, 1, 0), forecast(0.25, 0, 0, 0, 0))
"""Rewards 3 of 4 and 0 of 4; the base rate is 3/8."""


def test_the_brier_score_by_hand() -> None:
    """(3 x 1/16 + 9/16 + 4 x 1/16) / 8 = 1/8; the base rate's is 3/8 x 5/8."""
    assert brier(TWO) == pytest.approx(1 / 8)
    assert base_rate(TWO) == 3 / 8
    assert brier_of_base_rate(TWO) == pytest.approx(15 / 64)
    of_group_means = sum((one.predicted - sum(one.rewards) / 4) ** 2 for one in TWO) / 2
    assert of_group_means == 1 / 32, "the mean over groups leaves out the luck within them"


def test_groups_are_informative_where_their_rewards_differ() -> None:
    assert informative_share(TWO) == 1 / 2
    assert informative_share([forecast(0.5, 1, 1)]) == 0


def test_tenths_hold_their_lower_end_and_the_last_both() -> None:
    found = deciles(
        [forecast(0.1, 1), forecast(0.19, 0), forecast(0.2, 0), forecast(1.0, 1), forecast(0.9, 0)]
    )
    assert [(one.low, one.groups, one.observed) for one in found] == [
        (0.1, 2, 0.5),
        (0.2, 1, 0),
        (0.9, 2, 0.5),
    ]
    assert found[0].predicted == pytest.approx(0.145)
    assert found[2].predicted == pytest.approx(0.95)


def selecting() -> Case:
    """mcpo, seed 11: `used` predicted at 3/4 and right 3 of 4 times, `lot` at 1/4 and never right."""
    case = make_case()
    run = run_id("mcpo", 11)
    outcomes = {"used": "nearest", "lot": "explored", "not": "passed", "ungraded": "nearest"}
    for name, predicted in (("used", 0.75), ("lot", 0.25), ("not", 0.9), ("ungraded", 0.6)):
        case.ledger.add(
            "selections",
            run_id=run,
            step=2,
            prompt_id=name,
            predicted=predicted,
            evidence=2.0 if name == "used" else 0.0,
            outcome=outcomes[name],
        )
    for group, (name, rewards) in enumerate(
        {"used": (1, 1, 1, 0), "lot": (0, 0, 0, 0), "ungraded": (1, 0, 0, 0)}.items()
    ):
        for sample, reward in enumerate(rewards):
            for purpose in ("rollout", "screening"):  # what was screened is no outcome
                case.ledger.add(
                    "sequences",
                    run_id=run,
                    step=2,
                    purpose=purpose,
                    prompt_id=name,
                    group_id=group,
                    sample=sample,
                    prompt_tokens=5,
                    generated_tokens=9,
                    finish_reason="stop",
                    reward=float(reward if purpose == "rollout" else 1 - reward),
                    grader_state="grader_error" if name == "ungraded" and sample == 3 else "correct",
                    text_digest=b"12345678",
                )
    return case


def test_only_used_and_graded_rollouts_have_an_outcome() -> None:
    for reverse in (False, True):
        found = read_forecasts(selecting().inputs(reverse).connection)
        assert [(one.predicted, one.explored, one.rewards) for one in found] == [
            (0.25, True, (0, 0, 0, 0)),
            (0.75, False, (1, 1, 1, 0)),
        ]


def test_the_section_shows_the_rule_the_lot_and_the_other_arms() -> None:
    content = build_report(selecting().inputs())
    every = one_row(content, "selection", arm="mcpo", chosen="all")
    expected: dict[str, Any] = {
        "groups": 2, "known": 1 / 2, "base_rate": 3 / 8, "brier": 1 / 8, "brier_base": 15 / 64,
        "skill": 1 - 8 / 15, "informative": 1 / 2,
    }  # fmt: skip
    assert {key: every[key] for key in expected} == pytest.approx(expected)
    assert one_row(content, "selection", chosen="by lot")["skill"] is None, "one reward has no variance"
    other = one_row(content, "selection", arm="grpo")
    assert (other["groups"], other["informative"], other["brier"]) == (5 * 120 * 8, 6 / 8, None)
    tenths = table(content, "selection_calibration")
    assert [(row["predicted_from"], row["observed"]) for row in tenths] == [(0.2, 0), (0.7, 0.75)]
    section = next(one for one in content.sections if one.name == "selection")
    figure = next(one for one in section.blocks if isinstance(one, Figure))
    assert [series.label for series in figure.panels[0].series] == ["mcpo", "calibrated"]


def test_a_study_that_predicts_nothing_has_no_such_section(case: Case) -> None:
    assert all(section.name != "selection" for section in build_report(case.inputs()).sections)


def test_predictions_that_never_saw_their_prompt_are_named() -> None:
    case = selecting()
    assert not any("rests on a sample of the prompt" in flag for flag in build_report(case.inputs()).flags)
    for row in case.ledger.rows["selections"]:
        row["evidence"] = 0.0
    (flag,) = (one for one in build_report(case.inputs()).flags if "rests on a sample of the prompt" in one)
    assert flag.startswith("mcpo: no prediction")
