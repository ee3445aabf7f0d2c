"""Verdicts by the exact tests, on margins and scoreboards, in sequences and graphs; and how they read."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prereg.study import Study
from reports.build import build_report, write_report
from reports.comparisons import Comparison, shown_level
from reports.content import HypothesisResult
from reports.html import render_html
from reports.inputs import LockFact
from reports.intervals import paired_t
from reports.verdicts import Verdict, judge
from tests.reports.conftest import PLAN, Case, make_case

LOCKED = LockFact("ab" * 32)
UP, FLAT = (5.0, 6, 7, 8, 9), (-1.0, 2, -3, 3, 0)
NEAR = (0.1, -0.3, 0.4, 0.0, 0.2)
"""Mean .08, TOST p .0110972 for a margin of .5, 90 % interval -.166779 to .326779."""


def hypothesis(name: str = "h", **changes: Any) -> dict[str, Any]:
    return {**PLAN["hypotheses"][0], "id": name, **changes}


def equivalent(name: str = "h", margin: float = 0.5, **changes: Any) -> dict[str, Any]:
    return hypothesis(name, direction="equivalent", margin=margin, test={"kind": "tost"}, **changes)


def non_inferior(name: str = "h", margin: float = 0.5, **changes: Any) -> dict[str, Any]:
    return hypothesis(
        name, direction="non_inferior", margin=margin, test={"kind": "non_inferiority"}, **changes
    )


def board(*predictions: str, **changes: Any) -> dict[str, Any]:
    return hypothesis("board", test={"kind": "binomial_scoreboard", "predictions": predictions}, **changes)


def verdicts(
    *cases: tuple[dict[str, Any], tuple[float, ...] | None], families: dict[str, Any] | None = None
) -> dict[str, Verdict]:
    """Verdicts by id of hypotheses whose differences by seed are given; None is inadmissible."""
    plan = {**PLAN, "hypotheses": [one for one, _ in cases], "families": families or {}}
    study = Study.model_validate_json(json.dumps(plan))
    comparisons = {
        h.id: Comparison(h.id, ("a run is missing",))
        if values is None
        else Comparison(h.id, (), effect=paired_t(np.array(values), shown_level(h)), per_seed=values)
        for h, (_, values) in zip(study.hypotheses, cases, strict=True)
    }
    return {one.hypothesis: one for one in judge(study, LOCKED, (), comparisons)}


def shifted(by: float, values: tuple[float, ...] = NEAR) -> tuple[float, ...]:
    return tuple(value + by for value in values)


@pytest.mark.parametrize(
    ("one", "values", "word"),
    [
        (equivalent(), NEAR, "EQUIVALENT"),
        (equivalent(margin=0.3), NEAR, "INCONCLUSIVE"),
        (equivalent(), FLAT, "INCONCLUSIVE"),
        (equivalent(), UP, "REFUTED"),
        (equivalent(), shifted(-14, UP), "REFUTED"),
        (non_inferior(), NEAR, "NON_INFERIOR"),
        (non_inferior(), UP, "NON_INFERIOR"),
        (non_inferior(margin=0.1), NEAR, "INCONCLUSIVE"),
        (non_inferior(), FLAT, "INCONCLUSIVE"),
        (non_inferior(), shifted(-14, UP), "REFUTED"),
        (equivalent(), None, "INADMISSIBLE"),
        (equivalent(), (0.0, 0, 0, 0, 0), "INCONCLUSIVE"),
    ],
)
def test_verdicts_about_a_margin(one: dict[str, Any], values: tuple[float, ...] | None, word: str) -> None:
    assert verdicts((one, values))["h"].word == word


def test_near_is_not_equivalent_and_the_reference_p_decides() -> None:
    """The observed difference of .08 lies well within .3, and the interval reaches beyond it."""
    found = verdicts((equivalent(margin=0.3), NEAR))["h"]
    assert found.p == pytest.approx(0.0651, abs=5e-4)
    assert verdicts((equivalent(), NEAR))["h"].p == pytest.approx(0.0110972, abs=5e-8)


def test_a_loss_of_more_than_the_margin_is_refuted_only_if_the_interval_lies_beyond() -> None:
    """Mean -.72, se .1158 as of NEAR: 90 % interval -.967 to -.473. It includes -.5 and excludes -.4."""
    values = shifted(-0.8)
    assert verdicts((non_inferior(), values))["h"].word == "INCONCLUSIVE"
    assert verdicts((non_inferior(margin=0.4), values))["h"].word == "REFUTED"


def test_what_is_shown_opens_a_gate_and_what_is_not_keeps_it_closed() -> None:
    for first in (equivalent("a"), non_inferior("a")):
        assert verdicts((first, NEAR), (hypothesis("b", gate="a"), UP))["b"].word == "CONFIRMED"
        assert verdicts((first, FLAT), (hypothesis("b", gate="a"), UP))["b"].word == "NOT_TESTED"


def test_sign_flips_decide_by_themselves() -> None:
    """[5..9] has a paired-t p of .0006 two-sided; all flips give .0625."""
    flips = {"kind": "sign_flip"}
    two = verdicts((hypothesis(direction="two_sided", test=flips), UP))["h"]
    assert (two.word, two.p) == ("INCONCLUSIVE", 0.0625)
    one = verdicts((hypothesis(test=flips), UP))["h"]
    assert (one.word, one.p) == ("CONFIRMED", 0.03125)
    down = verdicts((hypothesis(test=flips), tuple(-value for value in UP)))["h"]
    assert down.word == "REFUTED"
    exceed = hypothesis(test=flips, smallest_effect=5.5, decision="exceeds_smallest_effect")
    assert verdicts((exceed, UP))["h"].p == 3 / 32, "sizes .5 and .5 of opposite sign"


def test_seeds_that_do_not_differ_are_no_evidence_for_sign_flips_either() -> None:
    found = verdicts((hypothesis(test={"kind": "sign_flip"}), (2.0, 2, 2, 2, 2)))["h"]
    assert found.word == "INCONCLUSIVE"
    assert isnan(found.p)


def predictions(*means: float) -> list[tuple[dict[str, Any], tuple[float, ...]]]:
    return [(hypothesis(f"p{place}"), shifted(mean, FLAT)) for place, mean in enumerate(means)]


def names(count: int) -> list[str]:
    return [f"p{place}" for place in range(count)]


def test_a_scoreboard_counts_sides_and_not_verdicts() -> None:
    """FLAT has mean .2. Five of six means lie above 0: p .109375, though none is significant by itself."""
    cases = predictions(0.3, 0.3, 0.3, 0.3, 0.3, -1)
    found = verdicts(*cases, (board(*names(6)), FLAT))
    assert found["board"].score is not None
    assert found["board"].score.right == tuple(names(5))
    assert (found["board"].p, found["board"].word) == (0.109375, "INCONCLUSIVE")
    assert {found[name].word for name in names(6)} == {"INCONCLUSIVE"}
    all_right = verdicts(*predictions(*[0.3] * 6), (board(*names(6)), FLAT))["board"]
    assert (all_right.p, all_right.word) == (1 / 64, "CONFIRMED")
    all_wrong = verdicts(*predictions(*[-1.0] * 6), (board(*names(6)), FLAT))["board"]
    assert (all_wrong.p, all_wrong.word) == (1.0, "REFUTED")


@pytest.mark.parametrize(
    ("changes", "mean", "right"),
    [
        ({"direction": "greater"}, 0.0, False),
        ({"direction": "greater"}, 0.1, True),
        ({"direction": "less"}, 0.1, False),
        ({"direction": "less"}, -0.1, True),
        ({"smallest_effect": 1.0}, 0.5, True),
        ({"smallest_effect": 1.0, "decision": "exceeds_smallest_effect"}, 0.5, False),
        ({"smallest_effect": 1.0, "decision": "exceeds_smallest_effect"}, 1.5, True),
        ({"direction": "non_inferior", "margin": 1.0, "test": {"kind": "non_inferiority"}}, -0.5, True),
        ({"direction": "non_inferior", "margin": 1.0, "test": {"kind": "non_inferiority"}}, -1.5, False),
    ],
)
def test_which_side_makes_a_prediction_right(changes: dict[str, Any], mean: float, right: bool) -> None:
    centred = (-2.0, -1, 0, 1, 2)
    found = verdicts((hypothesis("p0", **changes), shifted(mean, centred)), (board("p0"), FLAT))["board"]
    assert found.score is not None
    assert bool(found.score.right) == right


def test_a_prediction_that_is_missing_is_not_left_out_of_the_count() -> None:
    found = verdicts(*predictions(*[0.3] * 6), (hypothesis("gone"), None), (board(*names(6), "gone"), FLAT))
    assert found["board"].word == "INADMISSIBLE"
    assert "gone" in found["board"].reasons[0]


SEQUENCE = {"f": {"method": "fixed_sequence", "order": ["c", "b", "a"]}}


def test_behind_the_first_failure_of_a_sequence_nothing_is_tested() -> None:
    """The order is the family's, not the file's. Holm would have confirmed `a`, whose p is .0003."""
    found = verdicts(
        (hypothesis("a", family="f"), UP),
        (hypothesis("b", family="f"), FLAT),
        (hypothesis("c", family="f"), UP),
        families=SEQUENCE,
    )
    assert [found[name].word for name in "cba"] == ["CONFIRMED", "INCONCLUSIVE", "NOT_TESTED"]
    assert "b, which comes before it" in found["a"].reasons[0]
    assert found["a"].p_adjusted == found["b"].p
    assert found["c"].p_adjusted == found["c"].p, "the first is tested at the whole alpha"


def test_a_missing_member_stops_a_sequence() -> None:
    found = verdicts(
        (hypothesis("a", family="f"), UP),
        (hypothesis("b", family="f"), UP),
        (hypothesis("c", family="f"), None),
        families=SEQUENCE,
    )
    assert [found[name].word for name in "cba"] == ["INADMISSIBLE", "NOT_TESTED", "NOT_TESTED"]


def test_a_member_behind_a_closed_gate_stops_a_sequence() -> None:
    found = verdicts(
        (hypothesis("a", family="f"), UP),
        (hypothesis("b", family="f", gate="g"), UP),
        (hypothesis("c", family="f"), UP),
        (hypothesis("g"), FLAT),
        families=SEQUENCE,
    )
    assert [found[name].word for name in "cba"] == ["CONFIRMED", "NOT_TESTED", "NOT_TESTED"]


def test_refuting_in_a_sequence_is_adjusted_by_holm() -> None:
    """p .0359 against each: the second of two is reached, and .0718 does not refute it; .0003 does."""
    values = (-1.0, -2, -3, -4, 0.5)
    order = {"f": {"method": "fixed_sequence", "order": ["a", "b"]}}
    found = verdicts((hypothesis("a", family="f"), UP), (hypothesis("b", family="f"), values), families=order)
    assert found["b"].word == "INCONCLUSIVE"
    clear = verdicts(
        (hypothesis("a", family="f"), UP), (hypothesis("b", family="f"), shifted(-14, UP)), families=order
    )
    assert clear["b"].word == "REFUTED"


def graph(**transitions: dict[str, float]) -> dict[str, Any]:
    return {"f": {"method": "graph", "weights": {"a": 0.5, "b": 0.5, "c": 0.0}, "transitions": transitions}}


def test_a_graph_hands_its_levels_on() -> None:
    """p .0359 for b: not at .025, but at .05 once a has handed on its half; c waits for b."""
    values = (1.0, 2, 3, 4, -0.5)
    cases = (
        (hypothesis("a", family="f"), UP),
        (hypothesis("b", family="f"), values),
        (hypothesis("c", family="f"), UP),
    )
    kept = verdicts(*cases, families=graph(b={"c": 1.0}))
    assert [kept[name].word for name in "abc"] == ["CONFIRMED", "INCONCLUSIVE", "NOT_TESTED"]
    assert "no part of its family's alpha" in kept["c"].reasons[0]
    handed = verdicts(*cases, families=graph(a={"b": 1.0}, b={"c": 1.0}))
    assert [handed[name].word for name in "abc"] == ["CONFIRMED"] * 3


def test_a_long_chain_of_gates_opens_to_its_end_and_closes_from_its_break() -> None:
    chain = [(hypothesis(f"h{i}", **({"gate": f"h{i - 1}"} if i else {})), UP) for i in range(1200)]
    assert verdicts(*chain)["h1199"].word == "CONFIRMED"
    chain[600] = (chain[600][0], FLAT)
    found = verdicts(*chain)
    assert (found["h599"].word, found["h601"].word, found["h1199"].word) == (
        "CONFIRMED",
        "NOT_TESTED",
        "NOT_TESTED",
    )
    assert "its gate, h1198" in found["h1199"].reasons[0]


def results(case: Case) -> dict[str, HypothesisResult]:
    return {one.id: one for one in build_report(case.inputs()).hypotheses}


def with_hypotheses(*changes: dict[str, Any], **plan: Any) -> Case:
    """The known study, whose differences by seed are 10, 10, 10, 20, 20."""
    return make_case(hypotheses=[{**PLAN["hypotheses"][0], **one} for one in changes], **plan)


def test_the_interval_of_a_margin_is_the_one_that_decides_it() -> None:
    """Mean 14, se 2.4495: the 90 % interval has t(4) 2.1318, so 14 -+ 5.2219."""
    one = results(with_hypotheses(equivalent(margin=25.0)))["h"]
    assert one.effect is not None
    assert one.effect.level == pytest.approx(0.9)
    assert (one.effect.low, one.effect.high) == (
        pytest.approx(8.7781, abs=1e-4),
        pytest.approx(19.2219, abs=1e-4),
    )
    assert one.word == "EQUIVALENT"
    assert "90 % interval +8.8 to +19.2" in one.sentence
    assert "TOST p = " in one.sentence
    assert one.sentence.endswith("shown equivalent within 25.0 points.")
    assert one.test == (
        "two one-sided t tests (TOST) over seeds, against a difference of 25.0 points or more, either way, "
        "at alpha 0.05"
    )


def test_coming_within_the_margin_reads_not_shown_equivalent() -> None:
    one = results(with_hypotheses(equivalent(margin=15.0)))["h"]
    assert one.word == "INCONCLUSIVE"
    assert one.sentence.endswith("; not shown equivalent within 15.0 points.")
    far = results(with_hypotheses(equivalent(margin=0.5)))["h"]
    assert far.sentence.endswith(
        "shown to differ by more than 0.5 points: the claim of equivalence is refuted."
    )


def test_how_non_inferiority_reads() -> None:
    good = results(with_hypotheses(non_inferior(margin=0.25)))["h"]
    assert good.word == "NON_INFERIOR"
    assert good.sentence.endswith("shown to lose less than 0.25 points.")
    swapped = non_inferior(margin=9.0, treatment="grpo", control="mcpo")
    assert results(with_hypotheses(swapped))["h"].sentence.endswith(
        "not shown non-inferior by a margin of 9.0 points."
    )


def test_a_margin_can_speak_of_new_problems() -> None:
    one = results(with_hypotheses(equivalent(margin=25.0, population={"problems": "sampled"})))["h"]
    assert one.effect is not None
    assert one.other is not None
    assert "Satterthwaite" in one.effect.method
    assert one.other.level == one.effect.level
    assert "over seeds and problems" in one.test


def test_sensitivity_analyses_stand_beside_and_decide_nothing() -> None:
    """All flips of 10, 10, 10, 20, 20: two-sided .0625, where the paired t says .0046."""
    beside = [{"kind": "sign_flip"}, {"kind": "wild_bootstrap"}]
    one = results(with_hypotheses({"direction": "two_sided", "sensitivity": beside}))["h-tokens"]
    assert one.word == "CONFIRMED"
    assert one.p == pytest.approx(0.0046, abs=1e-4)
    flips, webb = one.sensitivity
    assert flips.p == 0.0625
    assert "all 32" in flips.name
    assert "all 7,776" in webb.name
    assert 1 / 7776 < webb.p < 0.1
    assert results(with_hypotheses({"direction": "two_sided", "sensitivity": beside}))["h-tokens"] == one


def whole_case() -> Case:
    """Every new test and family in one study."""
    return with_hypotheses(
        {"id": "p1", "family": "s"},
        {"id": "p2", "benchmarks": ["easy"], "family": "s"},
        {"id": "p3", "benchmarks": ["hard"], "test": {"kind": "sign_flip"}, "family": "g"},
        {
            "id": "p4",
            "metric": {"kind": "pass", "k": 2},
            "sensitivity": [{"kind": "wild_bootstrap"}],
            "family": "g",
        },
        {"id": "p5", "treatment": "grpo", "control": "mcpo"},
        {**equivalent("same", 25.0)},
        {**non_inferior("no-worse", 1.0)},
        {**board("p1", "p2", "p3", "p4", "p5")},
        families={
            "s": {"method": "fixed_sequence", "order": ["p2", "p1"]},
            "g": {"method": "graph", "weights": {"p3": 0.9, "p4": 0.1}, "transitions": {"p3": {"p4": 1.0}}},
        },
    )


def test_all_of_it_on_the_pages(tmp_path: Path) -> None:
    content = build_report(whole_case().inputs())
    words = {one.id: one.word for one in content.hypotheses}
    assert words == {
        "p1": "CONFIRMED",
        "p2": "CONFIRMED",
        "p3": "CONFIRMED",
        "p4": "CONFIRMED",
        "p5": "REFUTED",
        "same": "EQUIVALENT",
        "no-worse": "NON_INFERIOR",
        "board": "INCONCLUSIVE",
    }
    assert content.summary == (
        "Of 8 registered hypotheses: 4 confirmed, 1 equivalent, 1 non-inferior, 1 refuted and 1 inconclusive."
    )
    paths = write_report(content, tmp_path)
    page = paths.html.read_text(encoding="utf-8")
    for text in (
        "4 of 5 predictions came out right (80.0 %, ",
        "Clopper–Pearson 95 % interval 28.4 % to 99.5 %; wrong: p5)",
        "sequence-adjusted p",
        " · sign-flip p = 0.031, ",
        " · TOST p = 0.0054",
        " · p (as if independent) = 0.19",
        "graph-adjusted p",
        "as if predictions were independent, which predictions about the same runs are not",
        "exact sign flips over seeds",
        "Webb&#39;s weights, all 7,776; decides nothing",
        "Dashed: the smallest effect of interest, or the margin",
    ):
        assert text in page, text
    assert paths.pdf.stat().st_size > 10_000
    stored = json.loads((tmp_path / "tables" / "verdicts.json").read_text(encoding="utf-8"))
    assert {one["id"]: one["p"] for one in stored}["board"] == 6 / 32


def test_how_sign_flips_and_a_scoreboard_read() -> None:
    found = results(whole_case())
    assert (
        "one-sided sign-flip p = 0.031, graph-adjusted p = 0.035); the claim is confirmed."
        in found["p3"].sentence
    )
    assert found["board"].sentence == (
        "4 of 5 predictions came out right (80.0 %, Clopper–Pearson 95 % interval 28.4 % to 99.5 %; "
        "wrong: p5; one-sided p = 0.19, as if independent); the data do not decide the claim."
    )


def test_the_forest_shows_both_margins_and_no_row_for_a_scoreboard() -> None:
    rows = {row.label: row for row in build_report(whole_case().inputs()).forest}
    assert "board" not in rows
    assert (rows["same"].smallest_effect, rows["same"].other_bound) == (-25.0, 25.0)
    assert (rows["no-worse"].smallest_effect, rows["no-worse"].other_bound) == (-1.0, None)


def test_a_report_of_all_of_it_does_not_depend_on_the_order_of_rows() -> None:
    case = whole_case()
    assert render_html(build_report(case.inputs(reverse=True))) == render_html(build_report(case.inputs()))
