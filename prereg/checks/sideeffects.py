"""Bounds on side effects must be able to be kept and broken, and strata must not fake a gain."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.explain import did_you_mean
from prereg.problems import Problem
from prereg.sideeffects import EVALUATED
from prereg.source import LoadedStudy


def controls_name_arms(loaded: LoadedStudy) -> Iterator[Problem]:
    """A bound on an arm that does not exist watches nothing; one relative to itself is always kept."""
    known = tuple(loaded.study.arms)
    for name, control in loaded.study.controls.items():
        for index, arm in enumerate(control.arms or ()):
            if arm not in known:
                hint = did_you_mean(arm, known)
                yield loaded.problem(f"there is no arm `{arm}`", "controls", name, "arms", index, hint=hint)
            elif arm == control.relative_to:
                message = f"the arm `{arm}` is compared with itself"
                hint = "Leave it out of `arms`."
                yield loaded.problem(message, "controls", name, "arms", index, hint=hint)
        if control.relative_to is not None and control.relative_to not in known:
            hint = did_you_mean(control.relative_to, known)
            message = f"there is no arm `{control.relative_to}`"
            yield loaded.problem(message, "controls", name, "relative_to", hint=hint)


def controls_have_a_bound(loaded: LoadedStudy) -> Iterator[Problem]:
    """A control without a bound, or with one that no value can keep, decides nothing."""
    for name, control in loaded.study.controls.items():
        low, high = control.at_least, control.at_most
        if low is None and high is None:
            yield loaded.problem(
                f"the control `{name}` has no bound", "controls", name, hint="Add `at_most` or `at_least`."
            )
        elif low is not None and high is not None and low > high:
            message = f"no value is at least {low:g} and at most {high:g}"
            hint = "Lower `at_least`, or raise `at_most`."
            yield loaded.problem(message, "controls", name, "at_least", hint=hint)


def controls_can_be_measured(loaded: LoadedStudy) -> Iterator[Problem]:
    """The KL is computed only under a penalty, and only evaluation samples are read at a budget."""
    study = loaded.study
    for name, control in study.controls.items():
        if control.matched_on is not None and control.measure not in EVALUATED:
            message = f"`{control.measure}` is measured over the whole training run, not at a budget"
            yield loaded.problem(message, "controls", name, "matched_on", hint="Remove `matched_on`.")
        elif control.matched_on is not None and control.matched_on not in study.budget.declared():
            message = f"the study declares no budget on the axis `{control.matched_on}`"
            hint = f"Set `budget.{control.matched_on}`, or match on an axis with a budget."
            yield loaded.problem(message, "controls", name, "matched_on", hint=hint)
        if control.measure == "kl":
            watched = [*(control.arms or study.arms), *([control.relative_to] if control.relative_to else [])]
            for arm in dict.fromkeys(watched):
                if arm in study.arms and study.trainer_of(arm).loss.kl_coefficient == 0:
                    message = f"the arm `{arm}` computes no KL: its `kl_coefficient` is 0"
                    hint = "Name in `arms` only those with a penalty, or give this one a small coefficient."
                    yield loaded.problem(message, "controls", name, "measure", hint=hint)


def strata_are_independent(loaded: LoadedStudy) -> Iterator[Problem]:
    """Strata drawn from the compared samples fake a gain where they call a problem hard."""
    strata = loaded.study.strata
    if strata is None:
        return
    if strata.by == "compared_runs":
        message = (
            "strata drawn from the compared runs fake a gain among the hard problems and a loss among the "
            "easy ones, by regression to the mean"
        )
        hint = "Choose `base_model`, `other_seeds` or `cross_fit`."
        yield loaded.problem(message, "strata", "by", hint=hint)
    if strata.by in ("base_model", "other_seeds") and len(set(loaded.study.seeds)) < 2:
        yield loaded.problem(
            f"strata by `{strata.by}` need a second seed, whose samples enter no difference of the first",
            "strata", "by", hint="Choose `cross_fit`, or add seeds.",
        )  # fmt: skip
    if strata.by == "cross_fit":
        for name, benchmark in loaded.study.data.benchmarks.items():
            if benchmark.samples < 2:
                message = f"`cross_fit` halves the samples of a problem, and `{name}` has one"
                yield loaded.problem(message, "strata", "by", hint="Draw two samples or more a problem.")


def cut_points_rise(loaded: LoadedStudy) -> Iterator[Problem]:
    """Each cut point lies above the one before it."""
    strata = loaded.study.strata
    cuts = strata.cut_points if strata is not None else ()
    for index in range(1, len(cuts)):
        if cuts[index] <= cuts[index - 1]:
            message = f"the cut point {cuts[index]:g} does not lie above {cuts[index - 1]:g}"
            yield loaded.problem(message, "strata", "cut_points", index, hint="List them upwards.")
