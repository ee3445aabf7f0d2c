"""What a lock refuses although the file is well formed: each refusal is one small rule over the study."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prereg.checks import (
    attainable,
    budgets,
    decisions,
    exclusions,
    families,
    hypotheses,
    methods,
    names,
    power,
    reserve,
    scoreboards,
    sideeffects,
    stopping,
    training,
)
from prereg.problems import Problem, Refused
from prereg.source import LoadedStudy

Rule = Callable[[LoadedStudy], Iterator[Problem]]

RULES: tuple[Rule, ...] = (
    names.known_arms,
    names.known_models,
    names.known_benchmarks,
    names.known_families,
    names.known_gates,
    names.unique_hypothesis_ids,
    hypotheses.something_is_claimed,
    hypotheses.replication_names_its_lock,
    hypotheses.arms_differ,
    hypotheses.control_arm_exists,
    hypotheses.population_agrees_with_test,
    hypotheses.problems_enough_for_crossed_test,
    hypotheses.pass_k_is_estimable,
    hypotheses.smallest_effect_decides,
    decisions.direction_fits_test,
    decisions.margin_is_stated,
    decisions.margin_has_a_use,
    decisions.margin_replaces_smallest_effect,
    scoreboards.known_predictions,
    scoreboards.predictions_have_even_odds,
    scoreboards.predictions_differ,
    scoreboards.predictions_share_the_contrast,
    scoreboards.scoreboard_measures_nothing_itself,
    hypotheses.seeds_enough_for_a_test,
    hypotheses.seeds_are_fresh,
    reserve.reserve_is_fresh,
    hypotheses.offsets_reach_other_seeds,
    exclusions.exclusions_are_blind,
    exclusions.exclusions_have_one_bound,
    exclusions.exclusion_ids_are_unique,
    exclusions.missing_pairs_have_a_floor,
    exclusions.failure_is_decided_once,
    exclusions.looks_are_whole,
    exclusions.fewest_pairs_can_decide,
    families.gates_have_no_cycle,
    families.families_are_used,
    families.members_share_the_alpha,
    families.fields_fit_the_method,
    families.sequence_names_its_members_once,
    families.graph_weights_fit,
    families.graph_transitions_fit,
    attainable.alpha_is_attainable,
    attainable.flips_can_be_counted,
    stopping.looks_rise,
    stopping.looks_end_with_all_seeds,
    stopping.looks_have_two_seeds,
    stopping.shares_fit,
    stopping.looks_can_decide,
    budgets.some_budget,
    budgets.matched_axis_has_budget,
    budgets.time_is_measured,
    budgets.budget_holds_an_update,
    training.arms_are_consistent,
    training.schedule_axis_has_budget,
    training.decay_follows_the_matched_axis,
    training.prompts_enough_for_an_update,
    sideeffects.controls_name_arms,
    sideeffects.controls_have_a_bound,
    sideeffects.controls_can_be_measured,
    sideeffects.strata_are_independent,
    sideeffects.cut_points_rise,
    methods.pool_fits_the_training_set,
    power.powered_or_acknowledged,
)
"""Every rule, in the order in which a reader meets what it checks."""


def problems(loaded: LoadedStudy, *, powered: bool = True) -> tuple[Problem, ...]:
    """All that is wrong with a study, by place in the file; empty if it can be locked.

    Without `powered`, a low power is not among it: for the one who looks for a plan with more.
    """
    rules = [rule for rule in RULES if powered or rule is not power.powered_or_acknowledged]
    found = [problem for rule in rules for problem in rule(loaded)]
    return tuple(sorted(dict.fromkeys(found), key=lambda p: (p.line or 0, p.column or 0)))


def check(loaded: LoadedStudy, *, powered: bool = True) -> None:
    """Raises Refused with every problem if the study cannot be locked."""
    if found := problems(loaded, powered=powered):
        raise Refused(*found)
