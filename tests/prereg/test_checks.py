"""Each refusal of the lock, by a study that differs from a good one in just that."""

from __future__ import annotations

from pathlib import Path

import pytest

from prereg import checks
from prereg.checks import budgets, families, hypotheses, methods, names, power, training
from prereg.problems import Refused
from prereg.source import load_study
from tests.prereg.decision_refusals import DECISION_REFUSALS
from tests.prereg.reserve_refusals import RESERVE_REFUSALS
from tests.prereg.sideeffect_refusals import SIDE_EFFECT_REFUSALS
from tests.prereg.stopping_refusals import STOPPING_REFUSALS, looks
from tests.prereg.studies import STUDY, changed, line_of, loaded

Change = tuple[str, str]

TEST = ("    test: {kind: paired_t}", "    test: {kind: paired_t}\n    EXTRA")
"""Adds to the first hypothesis; EXTRA is replaced in `extra`."""


def extra(text: str) -> Change:
    return TEST[0], TEST[1].replace("EXTRA", text)


def shared(text: str) -> Change:
    return "trainer:\n  prompts", f"trainer:\n  {text}\n  prompts"


CROSSED = (
    "test: {kind: paired_t}",
    "test: {kind: crossed_satterthwaite}\n    population: {problems: sampled}",
)
FAMILY = ("seeds: [1", "families: {f: {alpha: 0.05}}\nseeds: [1")

REFUSALS: list[tuple[checks.Rule, tuple[Change, ...], str, str]] = [
    # the rule, the changes, the field it is reported at, words of the message and the hint
    (
        names.known_arms,
        (("treatment: new", "treatment: nwe"),),
        "hypotheses.0.treatment",
        "Did you mean `new`?",
    ),
    (names.known_arms, (("control: base", "control: bse"),), "hypotheses.0.control", "Did you mean `base`?"),
    (names.known_models, (extra("model: n"),), "hypotheses.0.model", "no model `n`"),
    (
        names.known_models,
        (("models:\n", "models:\n  k: {source: {kind: builtin}}\n"),),
        "hypotheses.0",
        "which of the 2 models",
    ),
    (
        names.known_benchmarks,
        (extra("benchmarks: [easy, hrd]"),),
        "hypotheses.0.benchmarks.1",
        "Did you mean `hard`?",
    ),
    (names.known_benchmarks, (extra("benchmarks: []"),), "hypotheses.0.benchmarks", "empty"),
    (names.known_benchmarks, (extra("benchmarks: [easy, easy]"),), "hypotheses.0.benchmarks.1", "twice"),
    (names.known_families, (extra("family: f"),), "hypotheses.0.family", "declares no family"),
    (names.known_gates, (extra("gate: secnd"),), "hypotheses.0.gate", "Did you mean `second`?"),
    (
        names.unique_hypothesis_ids,
        (("id: second", "id: first"),),
        "hypotheses.1.id",
        f"line {line_of(STUDY, 'id: first')}",
    ),
    (
        hypotheses.something_is_claimed,
        ((STUDY[STUDY.index("hypotheses:") :], ""),),
        "kind",
        "at least one hypothesis",
    ),
    (
        hypotheses.replication_names_its_lock,
        (("kind: confirmatory", "kind: replication"),),
        "kind",
        "which lock",
    ),
    (
        hypotheses.replication_names_its_lock,
        (("id: tiny", f"id: tiny\nreplicates: {'a' * 64}"),),
        "replicates",
        "confirmatory",
    ),
    (
        hypotheses.arms_differ,
        (("treatment: new", "treatment: base"),),
        "hypotheses.0.treatment",
        "with itself",
    ),
    (
        hypotheses.arms_differ,
        (("{kind: margin, low: 0.2}", "{kind: uniform}"),),
        "hypotheses.0.treatment",
        "same way",
    ),
    (
        hypotheses.control_arm_exists,
        (("{role: control}", "{role: placebo}"),),
        "arms",
        "no arm of role `control`",
    ),
    (
        hypotheses.population_agrees_with_test,
        (extra("population: {problems: sampled}"),),
        "hypotheses.0.population.problems",
        "fixed",
    ),
    (
        hypotheses.population_agrees_with_test,
        (("{kind: paired_t}", "{kind: crossed_satterthwaite}"),),
        "hypotheses.0.population.problems",
        "sampled",
    ),
    (
        hypotheses.problems_enough_for_crossed_test,
        (CROSSED, ("split: hard, size: 10", "split: hard, size: 1")),
        "hypotheses.0.test",
        "`hard` has 1",
    ),
    (
        hypotheses.pass_k_is_estimable,
        (extra("metric: {kind: pass, k: 5}"),),
        "hypotheses.0.metric.k",
        "4 samples of benchmark `hard`",
    ),
    (
        hypotheses.smallest_effect_decides,
        (extra("decision: exceeds_smallest_effect"),),
        "hypotheses.0.decision",
        "above 0",
    ),
    (
        hypotheses.smallest_effect_decides,
        (
            extra("decision: exceeds_smallest_effect\n    smallest_effect: 1"),
            ("direction: greater", "direction: two_sided"),
        ),
        "hypotheses.0.decision",
        "direction",
    ),
    (hypotheses.seeds_enough_for_a_test, (("seeds: [1, 2, 3]", "seeds: [1]"),), "seeds", "at least two"),
    (hypotheses.seeds_are_fresh, (("seeds: [1, 2, 3]", "seeds: [1, 2, 1]"),), "seeds.2", "twice"),
    (hypotheses.seeds_are_fresh, (("seeds: [1, 2, 3]", "seeds: [1, 91, 3]"),), "seeds.1", "pilot"),
    (
        hypotheses.offsets_reach_other_seeds,
        (("base: {role: control}", "base: {role: control, seed_offset: 2}"),),
        "arms.base.seed_offset",
        "the seed 3",
    ),
    (
        hypotheses.offsets_reach_other_seeds,
        (("base: {role: control}", "base: {role: control, seed_offset: 88}"),),
        "arms.base.seed_offset",
        "the seed 90",
    ),
    (
        hypotheses.offsets_reach_other_seeds,
        (("base: {role: control}", "base: {role: control, seed_offset: 2147483646}"),),
        "arms.base.seed_offset",
        "past the largest",
    ),
    (families.gates_have_no_cycle, (extra("gate: first"),), "hypotheses.0.gate", "remove one of these gates"),
    (families.families_are_used, (FAMILY,), "families.f", "no hypothesis belongs"),
    (
        families.members_share_the_alpha,
        (FAMILY, extra("family: f\n    alpha: 0.01")),
        "hypotheses.0.alpha",
        "0.01",
    ),
    (
        budgets.some_budget,
        (("budget: {updates: 10, generated_tokens: 5000}", "budget: {}"),),
        "budget",
        "never end",
    ),
    (
        budgets.matched_axis_has_budget,
        (("updates: 10, ", ""),),
        "hypotheses.0.matched_on",
        "`updates`, which has no budget",
    ),
    (
        budgets.time_is_measured,
        (
            ("matched_on: updates", "matched_on: device_seconds"),
            ("updates: 10", "clock: counted, device_seconds: 9"),
        ),
        "hypotheses.0.matched_on",
        "counted",
    ),
    (
        budgets.budget_holds_an_update,
        (("generated_tokens: 5000", "generated_tokens: 23"),),
        "budget.generated_tokens",
        "24 completions",
    ),
    (
        training.arms_are_consistent,
        (shared("loss: {aggregation: constant}"),),
        "trainer.loss.aggregation",
        "needs `constant`",
    ),
    (training.arms_are_consistent, (shared("loss: {constant: 9}"),), "trainer.loss.constant", "no meaning"),
    (
        training.arms_are_consistent,
        (("low: 0.2}", "low: 0.8}"),),
        "arms.new.trainer.credit.low",
        "below `high`",
    ),
    (
        training.arms_are_consistent,
        (shared("optimizer_steps_per_update: 5"),),
        "trainer.optimizer_steps_per_update",
        "24 completions",
    ),
    (
        training.arms_are_consistent,
        (shared("micro_batch_tokens: 32"),),
        "trainer.micro_batch_tokens",
        "32 tokens",
    ),
    (
        training.schedule_axis_has_budget,
        (shared("optimizer: {schedule: {axis: train_flops, warmup: 0.1}}"),),
        "trainer.optimizer.schedule.axis",
        "train_flops",
    ),
    (
        training.decay_follows_the_matched_axis,
        (shared("optimizer: {schedule: {kind: cosine}}"),),
        "hypotheses.1.matched_on",
        "decays on `updates`",
    ),
    (
        training.prompts_enough_for_an_update,
        (("train, size: 100", "train, size: 3"),),
        "data.training.source.size",
        "4 prompts",
    ),
    (
        methods.pool_fits_the_training_set,
        (shared("selection: {kind: nearest_half, pool_ratio: 26}"),),
        "trainer.selection",
        "104 candidates",
    ),
    (
        training.arms_are_consistent,
        (shared("reward: {kind: mc_advantage, shuffled: true, boundaries: {kind: uniform, steps: 1}}"),),
        "trainer.reward.shuffled",
        "the placebo would be the method",
    ),
    (
        training.arms_are_consistent,
        (shared("credit: {kind: shuffled, floor: 1.0}"),),
        "trainer.credit.floor",
        "would be `uniform`",
    ),
    (
        training.arms_are_consistent,
        (shared("credit: {kind: entropy, share: 1.0}"),),
        "trainer.credit.share",
        "would be `uniform`",
    ),
    (
        training.arms_are_consistent,
        (shared("reward: {kind: implicit_prm, learning_rate: 0}"),),
        "trainer.reward.learning_rate",
        "token rewards are 0",
    ),
    (
        training.arms_are_consistent,
        (shared("reward: {kind: mc_value_hard, estimator: {kind: continuations, count: 1}}"),),
        "trainer.reward.estimator.count",
        "would be `mc_value_soft`",
    ),
    (
        training.arms_are_consistent,
        (shared("selection: {kind: nearest_half, exploration: 1}"),),
        "trainer.selection.exploration",
        "nothing would be chosen",
    ),
    (
        training.arms_are_consistent,
        (shared("selection: {kind: nearest_half, predictor: {kind: history, prior_samples: 9}}"),),
        "trainer.selection.predictor.prior_samples",
        "without a prior",
    ),
    (
        training.arms_are_consistent,
        (shared("reward: {kind: mc_value_soft, estimator: {kind: continuations, root: continuations}}"),),
        "trainer.reward.estimator.root",
        "paid for nothing",
    ),
    (
        power.powered_or_acknowledged,
        (extra("power: {effect: 3.2, sd: 1}"),),
        "hypotheses.0.power",
        "power of",
    ),
    *DECISION_REFUSALS,
    *SIDE_EFFECT_REFUSALS,
    *RESERVE_REFUSALS,
    *STOPPING_REFUSALS,
]


def test_the_good_study_passes() -> None:
    assert checks.problems(loaded()) == ()
    checks.check(loaded())


@pytest.mark.parametrize("name", ["arithmetic.yaml", "dense-rewards-arithmetic.yaml"])
def test_the_studies_that_come_with_the_project_pass(name: str) -> None:
    checks.check(load_study(Path(__file__).parents[2] / "studies" / name))


@pytest.mark.parametrize(("rule", "changes", "field", "words"), REFUSALS)
def test_each_refusal(rule: checks.Rule, changes: tuple[Change, ...], field: str, words: str) -> None:
    if rule is power.powered_or_acknowledged:
        changes = (*changes, ("direction: greater", "direction: two_sided"))
    study = loaded(*changes)
    found = [p for p in rule(study) if ".".join(map(str, p.path)) == field]
    assert found, list(rule(study))
    assert words in str(found[0])
    text = changed(*changes)
    assert found[0].line is not None
    assert found[0].file == str(Path("somewhere") / "study.yaml")
    assert 1 <= found[0].line <= text.count("\n")
    with pytest.raises(Refused, match=r"study\.yaml:"):
        checks.check(study)


def test_looks_that_fit_are_accepted_and_a_fixed_number_of_seeds_needs_no_word() -> None:
    assert checks.problems(loaded(*looks((3, 0.2), (5, 0.8)))) == ()
    assert checks.problems(loaded(*looks((2, 0.1), (3, 0.1), (5, 0.3)))) == ()
    assert loaded().study == loaded(("seeds: [1", "stopping: {kind: fixed}\nseeds: [1")).study
    with pytest.raises(Refused, match=r"found the number 1\.5, expected at most 1"):
        loaded(*looks((3, 1.5), (5, 0.1)))


def test_every_refusal_names_its_line_and_says_how_to_mend_it() -> None:
    found = [problem for rule, changes, _, _ in REFUSALS for problem in rule(loaded(*changes))]
    assert [problem.message for problem in found if not problem.hint or not problem.line] == []


def test_every_rule_is_registered_once_and_has_a_refusal() -> None:
    assert {rule for rule, *_ in REFUSALS} == set(checks.RULES)
    assert len(set(checks.RULES)) == len(checks.RULES)


def test_the_place_is_where_the_fault_is_written() -> None:
    changes = (("low: 0.2}", "low: 0.8}"),)
    (only,) = checks.problems(loaded(*changes))
    line = changed(*changes).splitlines()[(only.line or 0) - 1]
    assert line[(only.column or 0) - 1 :] == "0.8}"


def test_several_faults_are_reported_at_once() -> None:
    study = loaded(
        ("treatment: new", "treatment: nwe"), ("seeds: [1, 2, 3]", "seeds: [1, 2, 1]"), extra("gate: x")
    )
    assert len(checks.problems(study)) == 3


def test_a_longer_circle_of_gates_is_named_once_and_a_chain_is_none() -> None:
    second = ("tokens\n    direction", "tokens\n    gate: first\n    direction")
    (only,) = families.gates_have_no_cycle(loaded(extra("gate: second"), second))
    assert "`first` -> `second` -> `first`" in only.message
    assert list(families.gates_have_no_cycle(loaded(second))) == []


def test_a_hypothesis_behind_a_circle_is_not_in_it() -> None:
    third = (
        STUDY[STUDY.index("  - id: second") :]
        .replace("second", "third")
        .replace("    test", "    gate: first\n    test")
    )
    study = loaded(extra("gate: first"), ("  - id: second", f"{third}  - id: second"))
    (only,) = families.gates_have_no_cycle(study)
    assert only.path == ("hypotheses", 0, "gate")


def test_an_a_a_comparison_is_accepted_as_negative_control() -> None:
    same = (("role: treatment", "role: negative_control"), ("{kind: margin, low: 0.2}", "{kind: uniform}"))
    assert checks.problems(loaded(*same)) == ()


def test_pilots_may_count_their_clock_and_claim_nothing() -> None:
    pilot = ("kind: confirmatory", "kind: pilot")
    assert checks.problems(loaded(pilot, (STUDY[STUDY.index("hypotheses:") :], ""))) == ()
    counted = (
        ("matched_on: updates", "matched_on: device_seconds"),
        ("updates: 10", "clock: counted, device_seconds: 9"),
    )
    assert checks.problems(loaded(pilot, *counted)) == ()


def test_a_warm_up_alone_restricts_no_comparison_and_a_decay_on_the_axis_is_accepted() -> None:
    assert checks.problems(loaded(shared("optimizer: {schedule: {warmup: 0.1}}"))) == ()
    on_tokens = shared("optimizer: {schedule: {kind: linear, axis: generated_tokens}}")
    matched = ("matched_on: updates", "matched_on: generated_tokens")
    assert checks.problems(loaded(on_tokens, matched)) == ()


def test_an_arm_mends_a_fault_of_the_shared_trainer() -> None:
    both = "loss: {constant: 9, aggregation: constant}"
    study = loaded(
        shared("loss: {constant: 9}"),
        ("base: {role: control}", f"base: {{role: control, trainer: {{{both}}}}}"),
        ("      credit: {kind: margin, low: 0.2}", f"      credit: {{kind: margin, low: 0.2}}\n      {both}"),
    )
    assert checks.problems(study) == ()


def test_pass_k_above_the_samples_of_another_benchmark_is_accepted() -> None:
    assert checks.problems(loaded(extra("metric: {kind: pass, k: 8}\n    benchmarks: [easy]"))) == ()


@pytest.mark.parametrize(
    ("seeds", "effect"), [(3, 3.264), (4, 2.128), (5, 1.682), (6, 1.4345), (8, 1.156), (10, 0.996)]
)
def test_power_of_the_paired_t_two_sided(seeds: int, effect: float) -> None:
    assert power.paired_t_power(effect, 1, seeds, 0.05, "two_sided") == pytest.approx(0.8, abs=1e-3)
    assert power.paired_t_power(-effect, 1, seeds, 0.05, "two_sided") == pytest.approx(0.8, abs=1e-3)
    # the plausible wrong one, from the normal law, promises much more with so few seeds
    from scipy.stats import norm

    normal = norm.sf(norm.isf(0.025) - effect * seeds**0.5)
    assert normal > 0.87


def test_power_has_the_level_as_its_value_without_an_effect_and_follows_the_direction() -> None:
    for direction in ("greater", "less", "two_sided"):
        assert power.paired_t_power(0, 1, 5, 0.03, direction) == pytest.approx(0.03, abs=1e-6)
    up, down = (power.paired_t_power(2, 1, 5, 0.05, d) for d in ("greater", "less"))
    assert up > 0.97
    assert down < 0.001
    # one-sided at alpha is two-sided at twice alpha, but for the far tail
    assert up == pytest.approx(power.paired_t_power(2, 1, 5, 0.1, "two_sided"), abs=1e-4)


def test_power_agrees_with_the_noncentral_t_law_and_has_no_gaps() -> None:
    from scipy.stats import nct, t

    for seeds, effect, alpha in (
        (2, 9.0, 0.05),
        (3, 1.0, 0.05),
        (5, 2.0, 0.025),
        (10, 0.5, 0.01),
        (40, 0.4, 0.05),
    ):
        expected = nct.sf(t.isf(alpha, seeds - 1), seeds - 1, effect * seeds**0.5)
        assert power.paired_t_power(effect, 1, seeds, alpha, "greater") == pytest.approx(expected, abs=1e-5)
    for effect in range(5, 2000, 37):
        assert power.paired_t_power(effect, 1, 10, 0.05, "two_sided") == pytest.approx(1)


def test_power_agrees_with_a_simulation_of_the_test() -> None:
    import numpy as np
    from scipy.stats import t

    draws = np.random.default_rng(7).normal(1.0, 1.0, (40_000, 5))
    statistic = draws.mean(1) / draws.std(1, ddof=1) * 5**0.5
    simulated = float((statistic > t.isf(0.05, 4)).mean())
    assert power.paired_t_power(1, 1, 5, 0.05, "greater") == pytest.approx(simulated, abs=0.01)


def test_underpowered_hypotheses_can_be_acknowledged_and_the_family_counts() -> None:
    # Three seeds, one-sided: a power of 0.80 at .05 and of 0.56 at .025.
    assumption = "power: {effect: 2.3, sd: 1}"
    assert checks.problems(loaded(extra(assumption))) == ()
    both = (("tokens\n    direction", "tokens\n    family: f\n    direction"), FAMILY)
    (only,) = checks.problems(loaded(extra(f"{assumption}\n    family: f"), *both))
    assert "alpha 0.05 / 2 (Holm)" in only.message
    told = extra(f"{assumption}\n    family: f\n    acknowledge_underpowered: true")
    assert checks.problems(loaded(told, *both)) == ()


def test_an_expected_effect_of_the_wrong_sign_is_named() -> None:
    (only,) = checks.problems(loaded(extra("power: {effect: -9, sd: 1}")))
    assert "other sign" in (only.hint or "")


def test_the_smallest_effect_is_taken_off_the_expected_one_where_it_is_the_null() -> None:
    exceed = "smallest_effect: 1\n    decision: exceeds_smallest_effect\n    power: {effect: %s, sd: 1}"
    for expected, shifted in ((4.0, 3.0), (2.0, 1.0)):
        hypothesis = loaded(extra(exceed % expected)).study.hypotheses[0]
        assert power.hypothesis_power(hypothesis, 5, 1) == power.paired_t_power(
            shifted, 1, 5, 0.05, "greater"
        )
    less = loaded(extra(exceed % "-4.0"), ("direction: greater", "direction: less")).study.hypotheses[0]
    assert power.hypothesis_power(less, 5, 1) == pytest.approx(power.paired_t_power(3, 1, 5, 0.05, "greater"))
