"""Simulated power against the noncentral t law, brute force, and formulas worked out apart from the code."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from prereg.checks.power import paired_t_power
from prereg.hypotheses import Hypothesis
from prereg.study import Study
from reports.power.model import Bench, Model
from reports.power.simulate import Plan, outcomes, simulate
from reports.power.summary import Figure, Performance, power_of
from tests.harness.studies import hypothesis, tiny

BENCHES = (Bench(40, 8, 0.5), Bench(60, 8, 0.5))
TABLE = {3: 3.264, 4: 2.128, 5: 1.682, 6: 1.4345, 8: 1.156, 10: 0.996}
"""Effects, in sds of the paired difference, that a two-sided t test at .05 shows with a power of .8."""


def study(*hypotheses: dict[str, Any], seeds: int = 5, **changes: Any) -> Study:
    document = tiny(hypotheses=list(hypotheses), seeds=list(range(1, seeds + 1)), **changes)
    return Study.model_validate_json(json.dumps(document))


def plan(plan_of: Study, benches: tuple[Bench, ...] = BENCHES) -> Plan:
    models = {h.id: Model.of(plan_of.id, h, benches) for h in plan_of.hypotheses if h.power is not None}
    return Plan.of(plan_of, models)


def claim(name: str = "h1", **changes: Any) -> dict[str, Any]:
    assumed = {"effect": 2.0, "sd": 1.0} | changes.pop("power", {})
    return hypothesis(id=name, power=assumed, **changes)


def at(found: Performance, figure: str) -> Figure:
    one = getattr(found, figure)
    assert isinstance(one, Figure)
    return one


def near(figure: Figure, expected: float, errors: float = 4.0) -> bool:
    return abs(figure.value - expected) <= errors * figure.error


def test_the_published_table_of_effects_has_a_power_of_four_fifths() -> None:
    for seeds, effect in TABLE.items():
        h = claim(direction="two_sided", power={"effect": effect})
        (one,) = power_of(plan(study(h, seeds=seeds)), 2_000, (), search=False)
        assert near(one.at_plan.power, 0.8), seeds
        assert near(one.at_plan.coverage, 0.95), seeds
        assert near(one.at_plan.bias, 0.0), seeds


def test_the_power_is_the_share_of_t_tests_that_reject_on_the_same_draws() -> None:
    h = claim(direction="two_sided", power={"effect": 1.5})
    plans = plan(study(h))
    (one,) = power_of(plans, 300, (), search=False)
    model = plans.models["h1"]
    seconds = [sum(0.5 * block.mean(axis=1) for block in model.draw(k, 5).blocks) for k in range(300)]
    p = stats.ttest_1samp(np.array(seconds), 0.0, axis=1).pvalue
    assert one.at_plan.power.value == pytest.approx(float((p <= 0.05).mean()), abs=1e-12)


def test_pooled_cells_would_promise_a_power_that_the_registered_test_does_not_have() -> None:
    h = claim(power={"effect": 1.0, "sd": 1.0, "base_accuracy": 0.5, "problem_sd": 3.0})
    wide = (Bench(400, 8, 0.5), Bench(400, 8, 0.5))
    plans = plan(study(h), wide)
    (one,) = power_of(plans, 300, (), search=False)
    cells = [np.concatenate([b.ravel() for b in plans.models["h1"].draw(k, 5).blocks]) for k in range(300)]
    pooled = float(np.mean([stats.ttest_1samp(c, 0.0, alternative="greater").pvalue <= 0.05 for c in cells]))
    assert near(one.at_plan.power, paired_t_power(1.0, 1.0, 5, 0.05, "greater"))
    assert pooled > one.at_plan.power.value + 0.1


def test_the_declared_sd_is_that_of_the_whole_paired_difference() -> None:
    # Sampling alone: sqrt(.25 (.5 .5 + .52 .48 - .05^2) (1/320 + 1/480)) = 2.5 points, worked out by hand.
    by_hand = 100 * (0.25 * (0.25 + 0.52 * 0.48 - 0.0025) * (1 / 320 + 1 / 480)) ** 0.5
    h = claim(power={"sd": 4.0, "base_accuracy": 0.5, "problem_sd": 5.0})
    model = plan(study(h)).models["h1"]
    assert model.sampling_sd == pytest.approx(by_hand, rel=1e-12)
    assert model.seed_sd == pytest.approx((16 - by_hand**2) ** 0.5)
    d = np.array([sum(0.5 * b.mean(axis=1) for b in model.draw(k, 5).blocks) for k in range(600)])
    assert d.mean() == pytest.approx(2.0, abs=4 * 4.0 / 3_000**0.5)
    assert d.std(ddof=1) == pytest.approx(4.0, rel=4 / (2 * 3_000) ** 0.5)


def test_sampling_that_explains_more_than_the_declared_sd_is_simulated_as_it_is() -> None:
    model = plan(study(claim(power={"sd": 0.5, "base_accuracy": 0.5}))).models["h1"]
    assert model.seed_sd == 0.0
    d = np.array([sum(0.5 * b.mean(axis=1) for b in model.draw(k, 5).blocks) for k in range(400)])
    assert d.std(ddof=1) == pytest.approx(model.sampling_sd, rel=4 / 4_000**0.5)


def test_fixed_problems_have_exactly_the_declared_effect_and_sampled_ones_differ() -> None:
    power = {"effect": 3.0, "base_accuracy": 0.6, "problem_sd": 10.0}
    fixed = plan(study(claim(power=power))).models["h1"]
    for accuracies in fixed.suite:
        assert accuracies.mean() == pytest.approx(0.63, abs=1e-6)
        assert accuracies.std() == pytest.approx(0.10, rel=0.03)
    test = {"kind": "crossed_satterthwaite"}
    sampled = plan(study(claim(power=power, test=test, population={"problems": "sampled"})))
    assert sampled.models["h1"].suite == ()
    (one,) = power_of(sampled, 600, (), search=False)
    assert near(one.at_plan.coverage, 0.95)


def test_the_crossed_test_pays_for_the_spread_over_problems() -> None:
    # Normal differences with V_s = 1/5 and V_p = 3^2 .25 (1/40 + 1/60).
    power = {"effect": 1.3, "problem_sd": 3.0}
    over_seeds = plan(study(claim(power=power)))
    crossed = plan(
        study(claim(power=power, test={"kind": "crossed_satterthwaite"}, population={"problems": "sampled"}))
    )
    (narrow,), (wide,) = (power_of(one, 1_000, (), search=False) for one in (over_seeds, crossed))
    assert narrow.at_plan.power.value > wide.at_plan.power.value + 0.05
    se = (0.2 + 9 * 0.25 * (1 / 40 + 1 / 60)) ** 0.5
    estimates = outcomes(crossed, simulate(crossed, 1_000, (5,))[5])["h1"].estimate
    assert estimates.std(ddof=1) == pytest.approx(se, rel=4 / 2_000**0.5)


def test_one_run_that_fails_makes_the_comparison_inadmissible() -> None:
    (one,) = power_of(
        plan(study(claim(power={"effect": 9.0, "failure_rate": 0.02}))), 2_000, (), search=False
    )
    assert near(one.at_plan.inadmissible, 1 - 0.98**10)
    assert near(one.at_plan.power, 0.98**10)


def test_families_and_gates_of_the_study_decide() -> None:
    effect = 1.5
    alone = paired_t_power(effect, 1.0, 5, 0.05, "greater")
    halved = paired_t_power(effect, 1.0, 5, 0.025, "greater")
    first = claim("h1", family="f", power={"effect": effect})
    silent = hypothesis(id="h2", family="f", matched_on="updates")
    (one,) = power_of(plan(study(first, silent, families={"f": {"method": "holm"}})), 2_000, (), search=False)
    assert near(one.at_plan.power, halved)
    assert not near(one.at_plan.power, alone)
    gated = claim("h2", gate="h1", power={"effect": effect})
    opener, behind = power_of(
        plan(study(claim("h1", power={"effect": effect}), gated)), 2_000, (), search=False
    )
    assert near(opener.at_plan.power, alone)
    assert near(behind.at_plan.power, alone**2)
    open_gate = plan(study(hypothesis(id="h1"), claim("h2", gate="h1", power={"effect": effect})))
    (taken_as_open,) = power_of(open_gate, 2_000, (), search=False)
    assert near(taken_as_open.at_plan.power, alone)


def test_a_scoreboard_has_the_power_of_its_predictions() -> None:
    # Five predictions, each right with the chance that a normal mean of sd 1 / sqrt(5) lies above 0.
    names = [f"p{k}" for k in range(5)]
    right = float(stats.norm.cdf(0.9 * 5**0.5))
    board = {"test": {"kind": "binomial_scoreboard", "predictions": names}}
    found = power_of(
        plan(study(*(claim(n, power={"effect": 0.9}) for n in names), hypothesis(id="b", **board))),
        1_000, (), search=False,
    )  # fmt: skip
    assert found[-1].hypothesis == "b"
    assert near(found[-1].at_plan.power, right**5)


@pytest.mark.parametrize(
    "changes",
    [
        {"direction": "equivalent", "margin": 2.0, "test": {"kind": "tost"}, "power": {"effect": 0.0}},
        {"direction": "non_inferior", "margin": 1.0, "test": {"kind": "non_inferiority"},
         "power": {"effect": 0.0}},
        {"direction": "less", "power": {"effect": -1.2}},
    ],
)  # fmt: skip
def test_every_direction_agrees_with_the_noncentral_t_law(changes: dict[str, Any]) -> None:
    one_study = study(claim(**changes))
    h: Hypothesis = one_study.hypotheses[0]
    assert h.power is not None
    (one,) = power_of(plan(one_study), 2_000, (), search=False)
    law = paired_t_power(h.power.effect, 1.0, 5, 0.05, h.direction, h.bound)
    assert near(one.at_plan.power, law)
    level = 0.9 if h.margin is not None else 0.95
    assert one.level == pytest.approx(level)
    assert near(one.at_plan.coverage, level)


def test_the_smallest_effect_is_the_one_of_the_t_law() -> None:
    (two,) = power_of(plan(study(claim(direction="two_sided", power={"effect": 0.3}))), 2_000, ())
    assert near(two.smallest_effect, TABLE[5])
    (less,) = power_of(plan(study(claim(direction="less", power={"effect": 0.0}))), 1_000, ())
    assert paired_t_power(less.smallest_effect.value, 1.0, 5, 0.05, "less") == pytest.approx(0.8, abs=0.05)
    flips = claim(direction="two_sided", test={"kind": "sign_flip"})
    (none,) = power_of(plan(study(flips)), 200, ())
    assert np.isnan(none.smallest_effect.value), "five seeds have no two-sided p below .0625"
    assert none.at_plan.power.value == 0


def test_type_m_exaggeration_of_a_weak_test() -> None:
    # Those that reach significance with a power of about .2 overstate the effect, by brute force here.
    rng = np.random.default_rng(1)
    d = rng.normal(0.6, 1.0, (100_000, 5))
    t, p = stats.ttest_1samp(d, 0.0, axis=1)
    shown = p <= 0.05
    exaggeration, wrong = float(np.abs(d.mean(axis=1)[shown]).mean() / 0.6), float((t[shown] < 0).mean())
    (one,) = power_of(
        plan(study(claim(direction="two_sided", power={"effect": 0.6}))), 4_000, (), search=False
    )
    assert near(one.at_plan.type_m, exaggeration)
    assert near(one.at_plan.type_s, wrong)
    assert one.at_plan.type_m.value > 1.5


def test_neither_threads_nor_other_seed_counts_change_a_number() -> None:
    h = claim(power={"base_accuracy": 0.4, "problem_sd": 5.0, "failure_rate": 0.01})
    plans = plan(study(h, seeds=4))
    (alone,) = power_of(plans, 60, (), threads=1)
    (curve,) = power_of(plans, 60, (3, 8), threads=3)
    assert [one.seeds for one in curve.curve] == [3, 4, 8]
    assert curve.at_plan == alone.at_plan
    assert curve.smallest_effect == alone.smallest_effect


def test_impossible_accuracies_are_refused_in_words() -> None:
    for power, words in (
        ({"effect": 60.0, "base_accuracy": 0.5}, "an accuracy of 1.1"),
        ({"effect": 0.0, "base_accuracy": 0.5, "problem_sd": 50.0}, "at most 50"),
    ):
        with pytest.raises(ValueError, match=words):
            plan(study(claim(power=power)))
