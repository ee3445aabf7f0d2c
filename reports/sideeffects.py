"""The declared bounds on side effects, held against what the runs did: kept, broken, or not measurable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, isnan
from typing import Literal

from prereg.fields import Axis
from prereg.sideeffects import EVALUATED, Control
from reports.comparisons import Comparison, model_of
from reports.inputs import RunFact
from reports.leftout import is_missing
from reports.scores import Evidence, reading

Finding = Literal["kept", "broken", "not measured"]


@dataclass(frozen=True, slots=True)
class Checked:
    """One bound on one arm, on one model and (for evaluation samples) at one budget."""

    name: str
    control: Control
    model: str
    arm: str
    axis: Axis | None
    value: float
    """Mean over seeds; a share where the measure is one. NaN if no run has it."""
    reference: float
    """The same of the arm it is relative to; NaN where the bound is absolute."""
    finding: Finding

    @property
    def bounded(self) -> float:
        """What the bound is held against: the value, or its ratio to the reference."""
        return self.value if self.control.relative_to is None else _ratio(self.value, self.reference)


def check_all(evidence: Evidence) -> tuple[Checked, ...]:
    """Every declared bound on every arm it watches, in the plan's order.

    A bound that cannot be measured is never taken as kept: it is shown as `not measured`.
    """
    study = evidence.study
    found: list[Checked] = []
    for name, control in study.controls.items():
        watched = control.arms or tuple(arm for arm in study.arms if arm != control.relative_to)
        axes: tuple[Axis | None, ...] = (None,)
        if control.measure in EVALUATED:
            axes = (control.matched_on,) if control.matched_on else tuple(study.budget.declared())
        found.extend(
            _check(evidence, name, control, model, arm, axis)
            for model in study.models
            for arm in watched
            for axis in axes
        )
    return tuple(found)


def voided(
    evidence: Evidence, comparisons: Mapping[str, Comparison], checked: Sequence[Checked]
) -> dict[str, Comparison]:
    """The comparisons, those of an arm that broke a voiding bound replaced by the reasons.

    A bound at a budget voids the hypotheses that are read there; a bound on training voids all of the arm.
    """
    result = dict(comparisons)
    for hypothesis in evidence.study.hypotheses:
        reasons = tuple(
            words
            for one in checked
            if one.control.action == "void"
            and one.finding != "kept"
            and one.arm in (hypothesis.treatment, hypothesis.control)
            and one.model == model_of(evidence, hypothesis)
            and one.axis in (None, hypothesis.matched_on)
            for words in [_void_words(one)]
        )
        before = comparisons[hypothesis.id]
        if reasons:
            result[hypothesis.id] = Comparison(hypothesis.id, (*before.reasons, *reasons))
    return result


def bound_words(control: Control) -> str:
    """`at least 0.8 and at most 1.25 times that of grpo`."""
    parts = []
    if control.at_least is not None:
        parts.append(f"at least {control.at_least:g}")
    if control.at_most is not None:
        parts.append(f"at most {control.at_most:g}")
    relative = "" if control.relative_to is None else f" times that of {control.relative_to}"
    return " and ".join(parts) + relative


def _void_words(one: Checked) -> str:
    if one.finding == "not measured":
        return f"the control {one.name} could not be measured on {one.arm}"
    return (
        f"the control {one.name} was broken by {one.arm}: {one.control.measure.replace('_', ' ')} "
        f"{one.bounded:.4g}, where {bound_words(one.control)} was declared"
    )


def _check(
    evidence: Evidence, name: str, control: Control, model: str, arm: str, axis: Axis | None
) -> Checked:
    value = _value(evidence, control, model, arm, axis)
    reference = float("nan")
    if control.relative_to is not None:
        reference = _value(evidence, control, model, control.relative_to, axis)
    one = Checked(name, control, model, arm, axis, value, reference, "not measured")
    held = one.bounded
    if isnan(held):
        return one
    low = control.at_least is not None and held < control.at_least
    high = control.at_most is not None and held > control.at_most
    return replace(one, finding="broken" if low or high else "kept")


def _value(evidence: Evidence, control: Control, model: str, arm: str, axis: Axis | None) -> float:
    """Mean over the seeds' runs; NaN unless every planned seed has a value.

    A run that the plan leaves out of a comparison (by a rule, failed, diverged) is left out here as well.
    """
    runs = evidence.runs_of(model, arm)
    if len(runs) < len(evidence.study.seeds):
        return float("nan")
    values = [
        _of_samples(evidence, control, run.run_id, axis)
        if axis is not None
        else _of_training(evidence, control, run.run_id)
        for run in runs
        if not _left_out(evidence, run)
    ]
    return fsum(values) / len(values) if values else float("nan")


def _left_out(evidence: Evidence, run: RunFact) -> bool:
    rules = [hypothesis.intercurrent for hypothesis in evidence.study.hypotheses]
    return (
        is_missing(evidence, run)
        or run.run_id in evidence.as_run.excluded
        or any(
            (rule.divergence == "exclude_pair" and run.diverged)
            or (rule.crash == "exclude_pair" and run.state == "failed")
            for rule in rules
        )
    )


def _of_samples(evidence: Evidence, control: Control, run: str, axis: Axis) -> float:
    """The measure over the benchmarks by weight, of the policy that is read at the budget."""
    at = reading(evidence, run, axis)
    if isinstance(at, str):
        return float("nan")
    parts = []
    for benchmark, weight in evidence.study.weights().items():
        cell = evidence.ledger.cells.get((run, at.step, benchmark))
        if cell is None or not cell.samples.sum():
            return float("nan")
        samples = int(cell.samples.sum())
        count = {
            "length": int(cell.tokens.sum()),
            "truncation": int(cell.truncated.sum()),
            "duplicate_samples": samples - int(cell.distinct_texts.sum()),
        }[control.measure]
        parts.append(weight * count / samples)
    return fsum(parts)


def _of_training(evidence: Evidence, control: Control, run: str) -> float:
    training = evidence.ledger.training.get(run)
    rollouts = evidence.ledger.completions.get((run, "rollout"))
    if training is None:
        return float("nan")
    if control.measure == "entropy":
        return training.entropy_last
    if control.measure == "kl":
        return training.kl
    if control.measure == "informative_groups":
        return training.informative_groups / training.groups if training.groups else float("nan")
    return rollouts.tokens / rollouts.completions if rollouts and rollouts.completions else float("nan")


def _ratio(value: float, reference: float) -> float:
    return value / reference if reference else float("nan")
