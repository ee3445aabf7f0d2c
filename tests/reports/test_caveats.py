"""What a plan allows itself stands on the first page, where it makes a claim easier than it looks."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from reports.build import build_report
from reports.html import render_html
from tests.reports.conftest import Case


def flags(case: Case) -> str:
    return " ".join(build_report(case.inputs()).flags)


def claims(case: Case, *changes: dict[str, Any]) -> None:
    first = case.plan["hypotheses"][0]
    case.plan["hypotheses"] = [copy.deepcopy(first) | {"id": f"h{n}"} | one for n, one in enumerate(changes)]


@pytest.mark.parametrize("seen", ["pilot_runs", "some_results", "all_results"])
def test_what_the_authors_had_seen(case: Case, seen: str) -> None:
    assert "had seen" not in flags(case)
    case.plan["data_status"] = {"seen": seen, "pilots": ["a first try"]}
    assert "had seen " + seen.split("_")[0] in flags(case)
    assert ": a first try." in flags(case)


def test_claims_that_share_no_error_rate(case: Case) -> None:
    claims(case, {"alpha": 0.05})
    assert "error rates" not in flags(case)
    claims(case, *({"alpha": 0.05} for _ in range(8)))
    assert "8 error rates stand apart (h0, h1, h2, h3, h4 and 3 more: in no family)" in flags(case)
    assert "could reach 40 %" in flags(case)
    claims(case, {"alpha": 0.05}, {"alpha": 0.05, "gate": "h0"})
    assert "error rates" not in flags(case)
    case.plan["families"] = {"f": {}}
    claims(case, *({"alpha": 0.05, "family": "f"} for _ in range(3)))
    assert "error rates" not in flags(case)


def test_a_gate_on_a_triviality_does_not_silence_the_count(case: Case) -> None:
    """Where the gate's claim holds, each of the four behind it may err: 4 x 5 %, and not the gate's 5 %."""
    claims(case, {}, *({"gate": "h0"} for _ in range(4)))
    assert "4 error rates stand apart (h1, h2, h3 and h4: in no family)" in flags(case)
    assert "could reach 20 %" in flags(case)
    claims(case, {}, {"gate": "h0"}, {"gate": "h1"}, {"gate": "h2"})
    assert "error rates" not in flags(case)


def test_a_loose_level_and_a_power_known_to_be_low(case: Case) -> None:
    claims(case, {"alpha": 0.4, "acknowledge_underpowered": True})
    assert "h0 is tested at alpha 0.4" in flags(case)
    assert "the power for h0 might lie below 0.8" in flags(case)


def test_a_claim_without_stated_power(case: Case) -> None:
    assert "states no power" not in flags(case)
    claims(case, {}, {"power": None}, {"power": None, "role": "control"})
    assert "The plan states no power for h1: an effect that is there may well be missed." in flags(case)


def test_a_margin_stands_beside_the_p_that_it_made_small(case: Case) -> None:
    claims(
        case,
        {"direction": "equivalent", "margin": 60.0, "test": {"kind": "tost"}},
        {"direction": "non_inferior", "margin": 40.0, "test": {"kind": "non_inferiority"}},
        {"decision": "exceeds_smallest_effect", "smallest_effect": 1.5},
        {},
    )
    assert [one.p_name for one in build_report(case.inputs()).hypotheses] == [
        "against a margin of 60.0 points · TOST p",
        "against a loss of 40.0 points · p",
        "against an effect of 1.5 points · p",
        "p",
    ]


def test_what_was_measured_stands_beside_a_statement_that_does_not_say_it(case: Case) -> None:
    case.plan["evaluation"]["pass_k"] = [1, 2]
    claims(case, {"metric": {"kind": "pass", "k": 2}, "benchmarks": ["hard"], "direction": "two_sided"}, {})
    content = build_report(case.inputs())
    assert [one.measured for one in content.hypotheses] == [
        "mcpo less grpo, pass@2 on hard, at equal generated tokens; claimed: two-sided",
        "mcpo less grpo, avg@10 on all benchmarks, at equal generated tokens; claimed: greater",
    ]
    assert all(one.measured in render_html(content) for one in content.hypotheses)


def test_a_pilot_claims_nothing(case: Case) -> None:
    assert "This is a pilot" not in flags(case)
    case.plan["kind"] = "pilot"
    assert "no verdict below may be quoted as a finding" in flags(case)
