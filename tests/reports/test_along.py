"""The difference along the budget, against a ledger whose every number is known."""

from __future__ import annotations

from typing import Any

import pytest

from reports.bootstrap import FEW_SEEDS
from reports.build import build_report
from reports.content import Estimate, Figure, Listing, Prose, ReportContent, Section
from reports.sections.along import WARNING
from tests.reports.conftest import PLAN, make_case, run_id
from tests.reports.test_report_tables import one_row, table


@pytest.fixture(scope="module")
def content() -> ReportContent:
    return build_report(make_case().inputs())


def section(content: ReportContent) -> Section:
    return next(one for one in content.sections if one.name == "along")


def second(**changes: Any) -> list[dict[str, Any]]:
    return [PLAN["hypotheses"][0], PLAN["hypotheses"][0] | {"id": "h-second"} | changes]


def test_the_curve_by_hand_at_shared_checkpoints(content: ReportContent) -> None:
    """Equal at the start. Later 0, 10, 10 and 20 points by problem, and 10 more for two seeds of five: 14."""
    rows = [row for row in table(content, "along") if row["axis"] == "per update"]
    assert [row["cost"] for row in rows] == [0, 50, 100], "90 was evaluated in one arm only"
    assert [row["difference"].value for row in rows] == pytest.approx([0, 14, 14])
    assert [row["over_seeds"].value for row in rows] == pytest.approx([0, 14, 14])
    # Seed means of 10, 10, 10, 20, 20: sd 5.477, t(4) 2.776.
    assert rows[-1]["over_seeds"].low == pytest.approx(14 - 2.776445 * 5.477226 / 5**0.5, abs=1e-5)
    band: Estimate = rows[-1]["difference"]
    assert 5 < band.low < 14 < band.high < 25
    assert all(row["monte_carlo_error"] >= 0 for row in rows)


def test_the_curve_by_hand_at_twentieths_of_the_budget(content: ReportContent) -> None:
    """Evaluations at 25,000 tokens of the control and 27,500 of the treatment: for 2,500 it is 20 behind."""
    rows = [row for row in table(content, "along") if row["axis"] == "at equal generated tokens"]
    assert [row["cost"] for row in rows] == [2_500.0 * part for part in range(1, 21)]
    expected = [0.0] * 9 + [-20.0] + [14.0] * 10
    assert [row["difference"].value for row in rows] == pytest.approx(expected)


def test_area_and_lead_by_hand(content: ReportContent) -> None:
    def value(axis: str, quantity: str) -> str:
        return str(one_row(content, "along_quantities", axis=axis, quantity=quantity)["value"])

    assert value("per update", "mean height of the difference") == "+7.00"
    # 2,500 tokens at -20 and 22,500 at 14, of 50,000.
    assert value("at equal generated tokens", "mean height of the difference") == "+5.30"
    assert value("per update", "updates from which the treatment leads") == "50"
    tokens = "generated tokens from which the treatment leads"
    assert value("at equal generated tokens", tokens) == "27,500"


def test_the_figure_is_of_the_matched_axis_and_warns_of_few_seeds(content: ReportContent) -> None:
    found = section(content)
    assert found.label == "Exploratory: no verdict"
    assert Prose(WARNING) in found.blocks
    (figure,) = (block for block in found.blocks if isinstance(block, Figure))
    (panel,) = figure.panels
    assert (panel.x_label, panel.signed) == ("generated tokens", True)
    assert len(PLAN["seeds"]) < FEW_SEEDS


def test_what_else_is_registered_changes_no_number(content: ReportContent) -> None:
    other = build_report(make_case(hypotheses=second(benchmarks=["hard"])).inputs())
    mine = [row for row in table(other, "along") if row["hypothesis"] == "h-tokens"]
    assert repr(mine) == repr(table(content, "along"))
    assert {row["hypothesis"] for row in table(other, "along")} == {"h-tokens", "h-second"}


def test_hypotheses_that_measure_the_same_share_their_numbers(content: ReportContent) -> None:
    other = build_report(make_case(hypotheses=second(direction="two_sided")).inputs())
    assert {row["hypothesis"] for row in table(other, "along")} == {"h-tokens, h-second"}
    numbers = [[*row.values()][1:] for row in table(other, "along")]
    assert repr(numbers) == repr([[*row.values()][1:] for row in table(content, "along")])


def test_what_cannot_be_compared_is_said() -> None:
    case = make_case()
    case.without("samples", run_id=run_id("mcpo", 12), step=50, benchmark="hard", sample=3)
    found = section(build_report(case.inputs()))
    listed = [line for block in found.blocks if isinstance(block, Listing) for line in block.items]
    assert any("mcpo.tiny.s12, hard after 50 updates" in line for line in listed)
    case = make_case()
    case.without("readings", run_id=run_id("mcpo", 12), axis="generated_tokens")
    found = section(build_report(case.inputs()))
    assert found.blocks == (Listing(("h-tokens: not comparable, as its verdict says.",)),)
