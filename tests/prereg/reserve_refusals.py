"""The refusals about reserve seeds, exclusions and missing pairs: see `test_checks.py`."""

from __future__ import annotations

from prereg import checks
from prereg.checks import exclusions, hypotheses, reserve

Change = tuple[str, str]

SEEDS = "seeds: [1"


def above_seeds(text: str) -> tuple[Change, ...]:
    return ((SEEDS, f"{text}\n{SEEDS}"),)


def exclude(fields: str) -> tuple[Change, ...]:
    return above_seeds(f"exclusions: [{{id: a, {fields}}}]")


def missing(fields: str) -> tuple[Change, ...]:
    return above_seeds(f"missing: {{{fields}}}")


FLIPS = ("test: {kind: paired_t}", "test: {kind: sign_flip}")
EIGHT = ("seeds: [1, 2, 3]", "seeds: [1, 2, 3, 4, 5, 6, 7, 8]")
COMPLETE = "missing: {pairs: complete_cases, at_least: 2}"
CRASH = (
    "test: {kind: paired_t}",
    "test: {kind: paired_t}\n    intercurrent: {crash: exclude_pair}",
)

RESERVE_REFUSALS: list[tuple[checks.Rule, tuple[Change, ...], str, str]] = [
    (reserve.reserve_is_fresh, above_seeds("reserve_seeds: [7, 7]"), "reserve_seeds.1", "twice"),
    (reserve.reserve_is_fresh, above_seeds("reserve_seeds: [7, 2]"), "reserve_seeds.1", "already"),
    (reserve.reserve_is_fresh, above_seeds("reserve_seeds: [91]"), "reserve_seeds.0", "pilot"),
    (
        hypotheses.offsets_reach_other_seeds,
        (
            *above_seeds("reserve_seeds: [50]"),
            ("base: {role: control}", "base: {role: control, seed_offset: 49}"),
        ),
        "arms.base.seed_offset",
        "the seed 50",
    ),
    (
        hypotheses.offsets_reach_other_seeds,
        (
            *above_seeds("reserve_seeds: [50]"),
            ("base: {role: control}", "base: {role: control, seed_offset: 40}"),
        ),
        "arms.base.seed_offset",
        "the seed 90",
    ),
    (
        exclusions.exclusions_are_blind,
        exclude("field: resumption, above: 3"),
        "exclusions.0.field",
        "Did you mean `resumptions`?",
    ),
    (
        exclusions.exclusions_are_blind,
        exclude("field: accuracy, above: 3"),
        "exclusions.0.field",
        "what the study measures",
    ),
    (
        exclusions.exclusions_are_blind,
        exclude("field: reward, above: 3"),
        "exclusions.0.field",
        "training did",
    ),
    (
        exclusions.exclusions_are_blind,
        exclude("field: wall_seconds, above: 3"),
        "exclusions.0.field",
        "how long the arm's answers grow",
    ),
    (
        exclusions.exclusions_are_blind,
        exclude("field: divergence, above: 0"),
        "exclusions.0.field",
        "intercurrent.divergence",
    ),
    (
        exclusions.exclusions_have_one_bound,
        exclude("field: resumptions"),
        "exclusions.0",
        "say `above:`",
    ),
    (
        exclusions.exclusions_have_one_bound,
        exclude("field: resumptions, above: 3, differs_from: x"),
        "exclusions.0.differs_from",
        "does not fit",
    ),
    (
        exclusions.exclusions_have_one_bound,
        exclude("field: device_kind, above: 3"),
        "exclusions.0.above",
        "say `differs_from:`",
    ),
    (
        exclusions.exclusion_ids_are_unique,
        above_seeds(
            "exclusions: [{id: a, field: resumptions, above: 3}, {id: a, field: lost_updates, above: 3}]"
        ),
        "exclusions.1.id",
        "stands already",
    ),
    (
        exclusions.missing_pairs_have_a_floor,
        missing("pairs: complete_cases"),
        "missing.pairs",
        "from 2 to 3",
    ),
    (exclusions.missing_pairs_have_a_floor, missing("at_least: 2"), "missing.at_least", "no use"),
    (
        exclusions.missing_pairs_have_a_floor,
        missing("pairs: complete_cases, at_least: 4"),
        "missing.at_least",
        "3 seeds",
    ),
    (
        exclusions.failure_is_decided_once,
        (*above_seeds(COMPLETE), CRASH),
        "hypotheses.0.intercurrent.crash",
        "both say",
    ),
    (
        exclusions.looks_are_whole,
        above_seeds(
            f"{COMPLETE}\nstopping: {{kind: group_sequential, looks: [{{seeds: 2, share: 0.5}}, "
            "{seeds: 3, share: 0.5}]}"
        ),
        "missing.pairs",
        "planned looks",
    ),
    # 2^-4 is .0625 and 2^-5 .03125: four pairs cannot reach .05 one-sided, and five can.
    (
        exclusions.fewest_pairs_can_decide,
        (*above_seeds("missing: {pairs: complete_cases, at_least: 4}"), FLIPS, EIGHT),
        "missing.at_least",
        "at least 5 pairs",
    ),
]
"""The rule, the changes, the field it is reported at, and words of the message and the hint."""
