"""Planned looks: p by hand, what decides and when, families, and what looking too often would cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy import stats

from prereg.study import Study
from reports.build import build_report
from reports.comparisons import Comparison, shown_level
from reports.html import render_html
from reports.inputs import Event, LockFact
from reports.intervals import paired_t
from reports.looks import Judged, judge_looks
from reports.power.model import Bench, Model
from reports.power.simulate import Plan, simulate
from reports.power.summary import power_of
from reports.verdicts import SHOWN
from tests.harness.studies import hypothesis as tiny_hypothesis
from tests.harness.studies import tiny
from tests.reports.conftest import PLAN, Case, make_case, run_id

LOCKED = LockFact("ab" * 32)
LOOKS = ((3, 0.2), (5, 0.8))
EARLY = (5.0, 6, 7, 8, 9)
"""The first three: mean 6, t sqrt(108) with 2 df, one-sided p (1 - sqrt(108 / 110)) / 2 = .004566."""
LATE = (1.0, 2, 3, 4, -0.5)
"""The first three: t sqrt(12), one-sided p (1 - sqrt(12 / 14)) / 2 = .0371. All five: .0358857."""
FLAT = (-1.0, 2, -3, 3, 0)

Values = tuple[float, ...]


def down(values: Values) -> Values:
    return tuple(-value for value in values)


def stopping(looks: tuple[tuple[int, float], ...] = LOOKS) -> dict[str, Any]:
    return {
        "kind": "group_sequential",
        "looks": [{"seeds": seeds, "share": share} for seeds, share in looks],
    }


def hypothesis(name: str = "h", **changes: Any) -> dict[str, Any]:
    return {**PLAN["hypotheses"][0], "id": name, **changes}


def judged(
    *cases: tuple[dict[str, Any], Values],
    families: dict[str, Any] | None = None,
    looks: tuple[tuple[int, float], ...] = LOOKS,
    void: tuple[int, ...] = (),
) -> Judged:
    """The verdicts on hypotheses whose differences by seed are given, as many as were run.

    At the looks of `void`, from 1, no comparison can be made.
    """
    plan = {
        **PLAN, "hypotheses": [one for one, _ in cases], "families": families or {},
        "stopping": stopping(looks), "seeds": list(range(1, looks[-1][0] + 1)),
    }  # fmt: skip
    study = Study.model_validate_json(json.dumps(plan))
    looked = []
    for number, look in enumerate(study.looks, start=1):
        comparisons = {}
        for h, (_, values) in zip(study.hypotheses, cases, strict=True):
            first = np.array(values[: look.seeds], dtype=np.float64)
            if h.test.kind == "binomial_scoreboard":
                comparisons[h.id] = Comparison(h.id, ())
            elif number in void or len(first) < look.seeds:
                comparisons[h.id] = Comparison(h.id, ("a run is missing",))
            else:
                effect = paired_t(first, shown_level(h, look.share))
                comparisons[h.id] = Comparison(h.id, (), effect=effect, per_seed=tuple(first.tolist()))
        looked.append(comparisons)
    return judge_looks(study, LOCKED, (), looked)


def words(found: Judged) -> dict[str, str]:
    return {one.hypothesis: one.word for one in found.verdicts}


# ---- one hypothesis


def test_an_early_look_decides_by_its_own_share_and_with_its_own_interval() -> None:
    found = judged((hypothesis(), EARLY))
    (verdict,) = found.verdicts
    assert verdict.word == "CONFIRMED"
    assert verdict.p == pytest.approx((1 - sqrt(108 / 110)) / 2 / 0.2, rel=1e-12)
    effect = found.comparisons["h"].effect
    assert effect is not None
    assert effect.level == pytest.approx(0.99)
    # t(2, .995) = 9.924843 and se = 1 / sqrt(3), from a printed table.
    assert (effect.low, effect.high) == pytest.approx((6 - 9.924843 / sqrt(3), 6 + 9.924843 / sqrt(3)))
    assert (found.standings["h"].look, found.standings["h"].decided, found.look) == (1, True, 1)


def test_what_comes_after_the_deciding_look_is_in_no_verdict() -> None:
    """Later seeds can neither undo it nor make its p smaller, and need not have been run."""
    for values in (EARLY[:3], (5.0, 6, 7, -50, -60), EARLY):
        found = judged((hypothesis(), values))
        assert found.verdicts == judged((hypothesis(), EARLY)).verdicts
        effect = found.comparisons["h"].effect
        assert effect is not None
        assert effect.estimate == pytest.approx(6)


def test_a_p_that_only_full_alpha_would_take_goes_on_to_the_next_look() -> None:
    """.0371 < .05, but .0371 / .2 is not; at the end .0358857 / .8 = .0448571 is."""
    waiting = judged((hypothesis(), LATE[:3]))
    (verdict,) = waiting.verdicts
    assert verdict.word == "INADMISSIBLE"
    assert verdict.reasons[0] == (
        "no look before decides it, and look 2 of 2, after 5 seeds, cannot be judged"
    )
    assert waiting.look is None
    assert waiting.comparisons["h"].effect is None
    found = judged((hypothesis(), LATE))
    assert found.verdicts[0].word == "CONFIRMED"
    assert found.verdicts[0].p == pytest.approx(0.0358857 / 0.8, abs=1e-7)
    effect = found.comparisons["h"].effect
    assert effect is not None
    assert effect.level == pytest.approx(0.96)
    assert (effect.df, found.look) == (4, 2)


def test_the_smaller_of_the_two_counts_although_the_later_look_is_the_weaker() -> None:
    values = (1.0, 2, 3, -4, 2)
    first = (1 - sqrt(12 / 14)) / 2 / 0.2
    second = float(stats.ttest_1samp(values, 0, alternative="greater").pvalue) / 0.8
    assert first < second
    (verdict,) = judged((hypothesis(), values)).verdicts
    assert verdict.word == "INCONCLUSIVE"
    assert verdict.p == pytest.approx(first)


def test_the_first_look_that_is_missing_is_named_and_no_run_at_all_decides_nothing() -> None:
    (verdict,) = judged((hypothesis(), EARLY[:2])).verdicts
    assert verdict.reasons == ("look 1 of 2, after 3 seeds, cannot be judged", "a run is missing")


def test_a_look_that_cannot_be_judged_is_passed_over_and_its_alpha_is_lost() -> None:
    found = judged((hypothesis(), EARLY), void=(1,))
    (verdict,) = found.verdicts
    assert verdict.word == "CONFIRMED"
    assert verdict.p == pytest.approx(0.000584411 / 2 / 0.8, rel=1e-5)
    assert found.standings["h"].look == 2


@pytest.mark.parametrize(
    ("one", "values", "word", "look"),
    [
        (hypothesis(), down(EARLY), "REFUTED", 1),
        (hypothesis(), down(LATE), "REFUTED", 2),
        (hypothesis(), FLAT, "INCONCLUSIVE", 2),
        (hypothesis(direction="two_sided"), EARLY, "CONFIRMED", 1),
        (hypothesis(direction="two_sided"), LATE, "INCONCLUSIVE", 2),
        (hypothesis(decision="exceeds_smallest_effect", smallest_effect=5.5), EARLY, "INCONCLUSIVE", 2),
        (hypothesis(decision="exceeds_smallest_effect", smallest_effect=20), EARLY, "REFUTED", 1),
        (hypothesis(direction="equivalent", margin=15, test={"kind": "tost"}), EARLY, "EQUIVALENT", 1),
        (hypothesis(direction="equivalent", margin=1, test={"kind": "tost"}), EARLY, "REFUTED", 2),
    ],
)
def test_every_direction_follows_the_same_p(
    one: dict[str, Any], values: Values, word: str, look: int
) -> None:
    found = judged((one, values))
    assert (found.verdicts[0].word, found.standings["h"].look) == (word, look)


def test_the_interval_about_a_margin_holds_the_share_twice() -> None:
    """1 - 2 x .2 x .05: it lies within the margin exactly where TOST is below .2 x .05."""
    one = hypothesis(direction="equivalent", margin=15, test={"kind": "tost"})
    effect = judged((one, EARLY)).comparisons["h"].effect
    assert effect is not None
    assert effect.level == pytest.approx(0.98)
    assert effect.high < 15


def test_three_looks_and_a_share_that_is_not_spent() -> None:
    three = ((2, 0.1), (3, 0.1), (5, 0.3))
    found = judged((hypothesis(), LATE), looks=three)
    assert found.verdicts[0].word == "INCONCLUSIVE"
    assert found.verdicts[0].p == pytest.approx(0.0358857 / 0.3, abs=1e-6)


# ---- several


def test_holm_is_made_at_each_look_and_what_waits_counts_in_it() -> None:
    """p / .2 of EARLY is .0228: enough beside one other member; .03 / .2 would not be. The other goes on."""
    family: dict[str, Any] = {"families": {"f": {"method": "holm"}}}
    one, two = hypothesis("a", family="f"), hypothesis("b", family="f")
    waiting = judged((one, EARLY[:3]), (two, FLAT[:3]), **family)
    assert words(waiting) == {"a": "CONFIRMED", "b": "INADMISSIBLE"}
    assert waiting.verdicts[0].p_adjusted == pytest.approx(2 * waiting.verdicts[0].p)
    assert waiting.look is None
    both = judged((one, EARLY), (two, LATE), **family)
    # Once a is confirmed, b is tested at all of alpha: .0449 is enough at the end.
    assert words(both) == {"a": "CONFIRMED", "b": "CONFIRMED"}
    assert (both.standings["a"].look, both.standings["b"].look, both.look) == (1, 2, 2)
    three = judged((one, EARLY[:3]), (two, FLAT[:3]), (hypothesis("c", family="f"), FLAT[:3]), **family)
    assert words(three)["a"] == "INADMISSIBLE", "3 x .0228 is more than .05"


def test_a_gate_that_is_refuted_ends_the_study_and_one_that_opens_late_opens() -> None:
    gated = hypothesis("b", gate="a")
    refuted = judged((hypothesis("a"), down(EARLY[:3])), (gated, LATE[:3]))
    assert words(refuted) == {"a": "REFUTED", "b": "NOT_TESTED"}
    assert refuted.look == 1
    assert refuted.comparisons["b"].effect is not None
    waiting = judged((hypothesis("a"), LATE[:3]), (gated, EARLY[:3]))
    assert words(waiting) == {"a": "INADMISSIBLE", "b": "NOT_TESTED"}
    assert waiting.look is None
    opened = judged((hypothesis("a"), LATE), (gated, (5.0, 6, 7, -50, -60)))
    assert words(opened) == {"a": "CONFIRMED", "b": "CONFIRMED"}
    effect = opened.comparisons["b"].effect
    assert effect is not None
    assert effect.estimate == pytest.approx(6), "the evidence for b is that of look 1"


def test_a_scoreboard_counts_each_prediction_where_it_was_decided() -> None:
    names = tuple("abcde")
    board = hypothesis("board", test={"kind": "binomial_scoreboard", "predictions": list(names)})
    predictions = [(hypothesis(name), EARLY) for name in names]
    found = judged(*((one, values[:3]) for one, values in predictions), (board, ()))
    assert found.verdicts[-1].word == "CONFIRMED"
    assert found.verdicts[-1].p == pytest.approx(1 / 32), "once, at all of its alpha"
    assert found.look == 1
    mixed = [*predictions[:4], (hypothesis("e"), (1.0, 2, 3, -40, -40))]
    waiting = judged(*((one, values[:3]) for one, values in mixed), (board, ()))
    assert words(waiting)["board"] == "INADMISSIBLE"
    assert waiting.look is None
    score = judged(*mixed, (board, ())).verdicts[-1].score
    assert score is not None
    assert (score.right, score.wrong) == (names[:4], ("e",))


METHODS: tuple[dict[str, Any], ...] = (
    {"method": "holm"},
    {"method": "fixed_sequence", "order": ["a", "b", "c"]},
    {
        "method": "graph",
        "weights": {"a": 0.6, "b": 0.4, "c": 0.0},
        "transitions": {"a": {"c": 1.0}, "b": {"a": 0.5, "c": 0.5}},
    },
)


@pytest.mark.parametrize("method", METHODS, ids=lambda one: str(one["method"]))
def test_what_a_look_decides_stays_decided_whatever_comes_later(method: dict[str, Any]) -> None:
    random = np.random.default_rng(7)
    early = 0
    for _ in range(150):
        drawn = [
            tuple((4 * random.choice((-1, 0, 1, 1)) + random.standard_normal(5)).tolist()) for _ in range(3)
        ]
        members = [hypothesis(name, family="f", gate="a" if name == "c" else None) for name in "abc"]
        sizes = (3, 5)
        first, last = (
            judged(*((h, v[:n]) for h, v in zip(members, drawn, strict=True)), families={"f": method})
            for n in sizes
        )
        for before, after in zip(first.verdicts, last.verdicts, strict=True):
            if before.outcome in (*SHOWN, "REFUTED"):
                early += 1
                assert (after.outcome, after.p) == (before.outcome, before.p)
                assert after.p_adjusted == before.p_adjusted
        assert "INADMISSIBLE" not in words(last).values()
    assert early > 50


# ---- how often it errs


def sequential(effect: float, direction: str = "two_sided") -> Plan:
    claim = tiny_hypothesis(direction=direction, power={"effect": effect, "sd": 1.0})
    document = tiny(hypotheses=[claim], seeds=[1, 2, 3, 4, 5], stopping=stopping())
    study = Study.model_validate_json(json.dumps(document))
    return Plan.of(study, {"h1": Model.of(study.id, study.hypotheses[0], (Bench(10, 4, 1.0),))})


def test_looking_at_full_alpha_each_time_errs_too_often_and_the_shares_do_not() -> None:
    """At 3 and 5 seeds, .05 at either look: .086. The studies are those that the power is made of."""
    plan, studies = sequential(0.0), 3_000
    (found,) = power_of(plan, studies, (), search=False)
    ours = found.at_plan.power
    assert ours.value <= 0.05
    assert ours.value > 0.03, "the shares are spent"
    looked = simulate(plan, studies, (5,))[5]
    each = [np.array([looks[k]["h1"].per_seed for looks in looked]) for k in (0, 1)]
    p = np.minimum(*(stats.ttest_1samp(differences, 0, axis=1).pvalue for differences in each))
    naive = float((p <= 0.05).mean())
    assert naive == pytest.approx(0.086, abs=4 * (0.086 * 0.914 / studies) ** 0.5)


def test_power_and_stops_are_those_of_t_tests_on_the_same_draws() -> None:
    plan = sequential(3.0, "greater")
    (found,) = power_of(plan, 500, (3, 8, 10), search=False)
    assert [one.seeds for one in found.curve] == [5], "the looks belong to the plan's own seeds"
    draws = [plan.models["h1"].draw(k, 5).blocks[0].mean(axis=1) for k in range(500)]
    first = np.array([stats.ttest_1samp(d[:3], 0, alternative="greater").pvalue for d in draws]) <= 0.01
    last = np.array([stats.ttest_1samp(d, 0, alternative="greater").pvalue for d in draws]) <= 0.04
    stops = found.stops
    assert stops is not None
    assert stops.after == (3, 5)
    assert found.at_plan.power.value == pytest.approx(float((first | last).mean()))
    assert stops.at[0].value == pytest.approx(float(first.mean()))
    assert stops.at[0].value + stops.at[1].value == pytest.approx(1)
    assert stops.shown[1].value == pytest.approx(float((last & ~first).mean()))
    assert stops.seeds.value == pytest.approx(3 * float(first.mean()) + 5 * float((~first).mean()))
    assert 0.2 < stops.at[0].value < 0.8
    assert stops.study_seeds == stops.seeds


def test_a_study_of_two_needs_the_seeds_of_the_one_that_needs_more() -> None:
    """Drawn apart, each is decided at the first look with its own chance; both are with the product."""
    claims = [
        tiny_hypothesis(id=name, power={"effect": effect, "sd": 1.0}) for name, effect in (("a", 4), ("b", 3))
    ]
    document = tiny(hypotheses=claims, seeds=[1, 2, 3, 4, 5], stopping=stopping())
    study = Study.model_validate_json(json.dumps(document))
    plan = Plan.of(study, {h.id: Model.of(study.id, h, (Bench(10, 4, 1.0),)) for h in study.hypotheses})
    first, second = (one.stops for one in power_of(plan, 1_000, (), search=False))
    assert first is not None
    assert second is not None
    both = first.at[0].value * second.at[0].value
    assert first.study_seeds == second.study_seeds
    assert first.study_seeds.value == pytest.approx(5 - 2 * both, abs=4 * first.study_seeds.error)
    assert first.study_seeds.value > max(first.seeds.value, second.seeds.value)


def test_all_intervals_together_cover_at_least_as_often_as_one() -> None:
    for effect in (0.0, 3.0):
        (found,) = power_of(sequential(effect, "greater"), 1_000, (), search=False)
        assert found.at_plan.coverage.value >= 0.95 - 2 * found.at_plan.coverage.error


# ---- the report


def better(by: Callable[[int], int]) -> Callable[[str, int, int, str, int], int]:
    """Scores by which mcpo is better by so many of ten samples, by seed."""

    def score(arm: str, seed: int, step: int, benchmark: str, problem: int) -> int:
        return 2 if step == 0 else 4 + (by(seed) if arm == "mcpo" else 0)

    return score


def only_first(case: Case, count: int) -> Case:
    """As if only the first seeds had been run."""
    kept = [fact for fact in case.facts if fact.seed < 11 + count]
    runs = {fact.run_id for fact in kept}
    case.facts = [
        fact if fact in kept else replace(fact, state="planned", device_kind=None) for fact in case.facts
    ]
    for name, rows in case.ledger.rows.items():
        case.ledger.rows[name] = [row for row in rows if row["run_id"] in runs]
    return case


GAINS = {11: 3, 12: 4, 13: 4, 14: 4, 15: 3}
"""In tenths: 30, 40, 40 points at look 1. Mean 36.667, sd 5.7735, t 11, p (1 - sqrt(121 / 123)) / 2."""


@pytest.fixture
def large() -> Case:
    return make_case(better(lambda seed: GAINS[seed]), stopping=stopping())


def test_a_study_that_stops_as_planned_is_registered_and_says_so(large: Case) -> None:
    case = only_first(large, 3)
    at_look = Event("2026-01-03 01:00", "look", "planned look 1: ...", (6, 10), 1)
    case.events = (*case.events, at_look)
    content = build_report(case.inputs())
    (one,) = content.hypotheses
    assert (one.word, one.outcome) == ("CONFIRMED", "CONFIRMED")
    assert one.p == pytest.approx((1 - sqrt(121 / 123)) / 2 / 0.2)
    assert "99 % interval" in one.sentence
    assert "decided at look 1 of 2, after 3 of 5 seeds (its interval allows for its share" in one.sentence
    assert content.lock_line.endswith("Stopped at look 1 of 2, as planned.")
    assert content.flags[0].endswith("the seeds 14 and 15 were not needed.")
    assert not [flag for flag in content.flags if "could not be analysed" in flag or "looked at" in flag]
    page = render_html(content)
    assert "Nothing differs from the lock" in page
    assert "look 1 of the plan, with 6 of 10 runs complete" in page
    assert "No other look at results" in page
    flow = next(table for table in content.tables() if table.name == "run_flow")
    assert [(row[1], row[4], row[-1]) for row in flow.rows] == [(5, 3, 2), (5, 3, 2)]
    assert "not needed: the study stopped as planned" in page
    assert "the run was never started" not in page


def test_seeds_that_were_run_all_the_same_are_shown_as_what_came_later(large: Case) -> None:
    again = make_case(better(lambda seed: GAINS[seed]), stopping=stopping())
    stopped = build_report(only_first(again, 3).inputs())
    content = build_report(large.inputs())
    assert content.hypotheses[0].p == stopped.hypotheses[0].p
    assert content.hypotheses[0].effect == stopped.hypotheses[0].effect
    rows = next(table for table in content.tables() if table.name == "planned_looks").rows
    assert [row[-1] for row in rows] == ["decides", "came later, not in the verdict"]
    assert "h-tokens: seed 14 +40.0 and seed 15 +30.0 points." in render_html(content)


def test_a_study_that_must_go_on_is_not_called_stopped() -> None:
    """Gains of 10, 40 and 40 points: t 3, p .0477 / .2. At the end 10, 40, 40, 40, 30: decided."""
    gains = {11: 1, 12: 4, 13: 4, 14: 4, 15: 3}
    case = only_first(make_case(better(lambda seed: gains[seed]), stopping=stopping()), 3)
    content = build_report(case.inputs())
    (one,) = content.hypotheses
    assert one.word == "INADMISSIBLE"
    assert "look 2 of 2, after 5 seeds, cannot be judged" in one.sentence
    assert "4 planned runs could not be analysed" in " ".join(content.flags)
    assert "Stopped" not in content.lock_line
    whole = build_report(make_case(better(lambda seed: gains[seed]), stopping=stopping()).inputs())
    assert whole.hypotheses[0].word == "CONFIRMED"
    assert "at look 2 of 2, after 5 of 5 seeds" in whole.hypotheses[0].look


def test_a_control_is_measured_on_the_seeds_of_the_look(large: Case) -> None:
    """A bound that voids is kept on the first three seeds; those that were not run cannot break it."""
    large.plan["controls"] = {"short": {"measure": "training_length", "at_most": 50, "action": "void"}}
    content = build_report(only_first(large, 3).inputs())
    assert content.hypotheses[0].word == "CONFIRMED"
    large.plan["controls"]["short"]["at_most"] = 5
    assert build_report(large.inputs()).hypotheses[0].word == "INADMISSIBLE"


def test_without_looks_nothing_speaks_of_any(case: Case) -> None:
    content = build_report(case.inputs())
    assert content.hypotheses[0].look == ""
    assert "planned-looks" not in {section.name for section in content.sections}
    assert "over the looks" not in render_html(content)


def test_a_report_with_looks_does_not_depend_on_the_order_of_rows(large: Case) -> None:
    assert run_id("mcpo", 15) in {fact.run_id for fact in large.facts}
    assert render_html(build_report(large.inputs())) == render_html(build_report(large.inputs(reverse=True)))
