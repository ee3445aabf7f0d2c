"""The refusals about bounds on side effects and about strata: see `test_checks.py`."""

from __future__ import annotations

from prereg import checks
from prereg.checks import sideeffects

Change = tuple[str, str]


def control(fields: str) -> tuple[Change, ...]:
    """One bound, named `c`."""
    return (("seeds: [1", f"controls:\n  c: {{{fields}}}\nseeds: [1"),)


def strata(fields: str) -> Change:
    return "seeds: [1", f"strata: {{{fields}}}\nseeds: [1"


SIDE_EFFECT_REFUSALS: list[tuple[checks.Rule, tuple[Change, ...], str, str]] = [
    (
        sideeffects.controls_name_arms,
        control("measure: length, arms: [nwe], at_most: 50"),
        "controls.c.arms.0",
        "Did you mean `new`?",
    ),
    (
        sideeffects.controls_name_arms,
        control("measure: length, relative_to: bse, at_most: 2"),
        "controls.c.relative_to",
        "Did you mean `base`?",
    ),
    (
        sideeffects.controls_name_arms,
        control("measure: length, arms: [base], relative_to: base, at_most: 2"),
        "controls.c.arms.0",
        "with itself",
    ),
    (sideeffects.controls_have_a_bound, control("measure: length"), "controls.c", "no bound"),
    (
        sideeffects.controls_have_a_bound,
        control("measure: entropy, at_least: 2, at_most: 1"),
        "controls.c.at_least",
        "no value",
    ),
    (
        sideeffects.controls_can_be_measured,
        control("measure: entropy, at_least: 0.1, matched_on: updates"),
        "controls.c.matched_on",
        "whole training run",
    ),
    (
        sideeffects.controls_can_be_measured,
        control("measure: length, at_most: 30, matched_on: train_flops"),
        "controls.c.matched_on",
        "no budget",
    ),
    (
        sideeffects.controls_can_be_measured,
        control("measure: kl, at_most: 0.1, arms: [new]"),
        "controls.c.measure",
        "computes no KL",
    ),
    (
        sideeffects.strata_are_independent,
        (strata("by: compared_runs"),),
        "strata.by",
        "regression to the mean",
    ),
    (
        sideeffects.strata_are_independent,
        (strata("by: cross_fit"), ("samples: 4", "samples: 1")),
        "strata.by",
        "`hard` has one",
    ),
    (
        sideeffects.cut_points_rise,
        (strata("cut_points: [0.5, 0.5]"),),
        "strata.cut_points.1",
        "does not lie above",
    ),
]
"""The rule, the changes, the field it is reported at, and words of the message and the hint."""
