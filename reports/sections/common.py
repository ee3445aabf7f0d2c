"""What several sections need: the arms in order, the moments at which they are read, means over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from prereg.fields import Axis
from prereg.hypotheses import AverageMetric
from reports import words
from reports.content import Column, Estimate, Value
from reports.inputs import RunFact
from reports.intervals import t_over_seeds
from reports.scores import Evidence, reading


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of one arm on one model."""

    model: str
    arm: str
    style: int
    runs: tuple[RunFact, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """When policies are read: before the first update, or at an axis's budget."""

    axis: Axis | None
    budget: float = 0.0

    @property
    def key(self) -> str:
        """Name in exports."""
        return self.axis or "start"

    @property
    def title(self) -> str:
        """Name on pages."""
        return "start" if self.axis is None else f"{words.compact(self.budget)} {words.axis_unit(self.axis)}"


def groups(evidence: Evidence, model: str | None = None) -> tuple[Group, ...]:
    """Every arm on every model (or one), in the study's order."""
    return tuple(
        Group(name, arm, style, evidence.runs_of(name, arm))
        for name in evidence.study.models
        if model is None or name == model
        for style, arm in enumerate(evidence.study.arms)
    )


def moments(evidence: Evidence) -> tuple[Moment, ...]:
    """The start and every declared budget."""
    return (
        Moment(None),
        *(Moment(axis, budget) for axis, budget in evidence.study.budget.declared().items()),
    )


def step_at(evidence: Evidence, run_id: str, moment: Moment) -> int | None:
    """Updates of the policy that is read at a moment; None if there is none."""
    if moment.axis is None:
        return 0 if evidence.checkpoint(run_id, 0) is not None else None
    at = reading(evidence, run_id, moment.axis)
    return None if isinstance(at, str) else at.step


def policies(evidence: Evidence, group: Group, moment: Moment) -> list[tuple[str, int]]:
    """Run and step of every policy of the group that can be read at the moment."""
    steps = [(run.run_id, step_at(evidence, run.run_id, moment)) for run in group.runs]
    return [(run_id, step) for run_id, step in steps if step is not None]


def over_seeds(values: Iterable[float]) -> tuple[Estimate, int]:
    """Mean and t interval over the seeds that have a value, and how many they are."""
    known = np.array([value for value in values if not np.isnan(value)], dtype=np.float64)
    if len(known) == 0:
        return Estimate(float("nan"), float("nan"), float("nan")), 0
    interval = t_over_seeds(known)
    return Estimate(interval.estimate, interval.low, interval.high), len(known)


def with_model(
    evidence: Evidence, columns: Iterable[Column]
) -> tuple[tuple[Column, ...], Callable[[Group], tuple[Value, ...]]]:
    """Columns with the arm (and, where the study has several, the model) in front, and their values."""
    if len(evidence.study.models) == 1:
        return (Column("arm", "Arm"), *columns), lambda group: (group.arm,)
    return (Column("model", "Model"), Column("arm", "Arm"), *columns), lambda group: (group.model, group.arm)


def average_name(evidence: Evidence) -> str:
    """`avg@32` of this study's benchmarks."""
    samples = tuple(benchmark.samples for benchmark in evidence.study.data.benchmarks.values())
    return words.metric_name(AverageMetric(), samples)


def arm_model(evidence: Evidence, group: Group) -> str:
    """The group's name in a sentence."""
    return group.arm if len(evidence.study.models) == 1 else f"{group.arm} on {group.model}"
