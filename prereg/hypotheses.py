"""Hypotheses as estimands: what is claimed, of whom, measured how, at which budget, tested how."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from prereg.fields import Axis, Count, Fraction, Name, NonNegative, Positive, Section, Text
from prereg.testkinds import CrossedSatterthwaite, NonInferiority, Sensitivity, Test, Tost


class AverageMetric(Section):
    """avg@n: the mean over samples, then problems, then benchmarks."""

    kind: Literal["avg"] = "avg"


class PassMetric(Section):
    """pass@k by the unbiased estimator of Chen et al. (2021)."""

    kind: Literal["pass"]
    k: Count
    """Samples of which one must be right."""


Direction = Literal["greater", "less", "two_sided", "equivalent", "non_inferior"]

Metric = Annotated[AverageMetric | PassMetric, Field(discriminator="kind")]


class Population(Section):
    """To what a result generalises. The training seed is always sampled; problems may be fixed."""

    seeds: Literal["sampled"] = "sampled"
    """New training seeds."""
    problems: Literal["fixed", "sampled"] = "fixed"
    """These problems, or problems like them."""


class IntercurrentEvents(Section):
    """What an event that is not part of the treatment does to the estimand."""

    crash: Literal["resume", "exclude_pair"] = "resume"
    """A killed run is resumed at its last commit. One that failed for good makes the verdict inadmissible, or
    its seed is left out of both arms."""
    divergence: Literal["include", "exclude_pair"] = "include"
    """A run whose loss or gradient stops being finite keeps the scores it has, and is named; or its seed is
    left out of both arms."""
    truncation: Literal["incorrect"] = "incorrect"
    """A completion cut at its cap is wrong."""


class PowerAssumption(Section):
    """What the authors expected when they chose the number of seeds."""

    effect: float
    """True difference, percentage points."""
    sd: Positive
    """Standard deviation over seeds of the paired difference on these problems, sampling noise included."""
    problem_sd: NonNegative = 0.0
    """Standard deviation over problems of the treatment's effect, percentage points."""
    base_accuracy: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Accuracy of the control, by which sampled answers are drawn; left out, their noise is only in `sd`."""
    failure_rate: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of runs that never finish."""


class Hypothesis(Section):
    """One claim, with everything that decides its verdict."""

    id: Name
    """Names it in tables and gates."""
    statement: Text
    """The claim in words."""
    treatment: Name
    """The arm that the claim is about."""
    control: Name
    """The arm it is compared with."""
    model: Name | None = None
    """The model it speaks of; may be left out where the study has one."""
    matched_on: Axis
    """The axis on which both arms are read at the study's declared budget."""
    metric: Metric = AverageMetric()
    """What is measured, in percentage points."""
    benchmarks: tuple[Name, ...] | None = None
    """Benchmarks of the mean; left out, all of them by their weights."""
    population: Population = Population()
    intercurrent: IntercurrentEvents = IntercurrentEvents()
    direction: Direction
    """How the treatment is claimed to stand to the control. The last two are relative to `margin`."""
    smallest_effect: NonNegative = 0.0
    """Smallest effect of interest, percentage points."""
    margin: Positive | None = None
    """Percentage points within which arms are `equivalent`, or below which a loss is still `non_inferior`."""
    test: Test
    """The one test that decides."""
    sensitivity: tuple[Sensitivity, ...] = ()
    """Tests shown beside it, which decide nothing."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    """Level of the test."""
    family: Name | None = None
    """Family whose error rate it shares."""
    gate: Name | None = None
    """Tested only if the hypothesis with this id was confirmed, or found equivalent or non-inferior."""
    decision: Literal["differs_from_zero", "exceeds_smallest_effect"] = "differs_from_zero"
    """Whether the null is an effect of 0, or one of `smallest_effect` in the stated direction."""
    power: PowerAssumption | None = None
    """Checked at the lock."""
    role: Literal["primary", "secondary", "control"] = "primary"
    """Its weight in the study; the report says it."""
    acknowledge_underpowered: bool = False
    """The authors know that the power under their own assumptions is below 0.8, and run it all the same."""

    @property
    def over_problems(self) -> bool:
        """Whether the standard error is the crossed one, of new problems as well as new seeds."""
        if isinstance(self.test, Tost | NonInferiority):
            return self.population.problems == "sampled"
        return isinstance(self.test, CrossedSatterthwaite)

    @property
    def bound(self) -> float:
        """Size of the effect at the null, percentage points: the margin, the smallest effect or 0."""
        if self.margin is not None:
            return self.margin
        return self.smallest_effect if self.decision == "exceeds_smallest_effect" else 0.0


class Family(Section):
    """Hypotheses whose error rate is controlled together."""

    method: Literal["holm", "fixed_sequence", "graph"] = "holm"
    """Holm's step-down correction; one after the other in a fixed order; or a graph (Bretz et al. 2009)."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    """Error rate of the family."""
    order: tuple[Name, ...] = ()
    """For `fixed_sequence`: every member's id once. Behind the first that fails, none is tested."""
    weights: dict[Name, Fraction] = Field(default_factory=dict)
    """For `graph`: the share of alpha that each member starts with; together at most 1."""
    transitions: dict[Name, dict[Name, Fraction]] = Field(default_factory=dict)
    """For `graph`: the share of its level that a rejected member hands to each other; together at most 1."""
