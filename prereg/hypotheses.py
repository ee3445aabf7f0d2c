"""Hypotheses as estimands: what is claimed, of whom, measured how, at which budget, tested how."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from prereg.fields import Axis, Count, Name, NonNegative, Positive, Section, Text


class AverageMetric(Section):
    """avg@n: the mean over samples, then problems, then benchmarks."""

    kind: Literal["avg"] = "avg"


class PassMetric(Section):
    """pass@k by the unbiased estimator of Chen et al. (2021)."""

    kind: Literal["pass"]
    k: Count
    """Samples of which one must be right."""


Metric = Annotated[AverageMetric | PassMetric, Field(discriminator="kind")]


class Population(Section):
    """To what a result generalises. The training seed is always sampled; problems may be fixed."""

    seeds: Literal["sampled"] = "sampled"
    """New training seeds."""
    problems: Literal["fixed", "sampled"] = "fixed"
    """These problems, or problems like them."""


class IntercurrentEvents(Section):
    """What an event that is not part of the treatment does to the estimand."""

    crash: Literal["resume"] = "resume"
    """A killed run is resumed at its last commit; one that never finishes makes the verdict inadmissible."""
    divergence: Literal["include"] = "include"
    """A run whose loss or weights stop being finite keeps the scores it has, and is named."""
    truncation: Literal["incorrect"] = "incorrect"
    """A completion cut at its cap is wrong."""


class PairedT(Section):
    """Paired t over training seeds (docs/statistics.md): generalises to new seeds on these problems."""

    kind: Literal["paired_t"]


class CrossedSatterthwaite(Section):
    """Seeds crossed with problems: generalises to new seeds and new problems."""

    kind: Literal["crossed_satterthwaite"]


Test = Annotated[PairedT | CrossedSatterthwaite, Field(discriminator="kind")]


class PowerAssumption(Section):
    """What the authors expected when they chose the number of seeds."""

    effect: float
    """Expected difference, percentage points."""
    sd: Positive
    """Standard deviation over seeds of the paired difference, percentage points."""


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
    direction: Literal["greater", "less", "two_sided"]
    """Which sign of treatment less control the claim predicts."""
    smallest_effect: NonNegative = 0.0
    """Smallest effect of interest, percentage points."""
    test: Test
    """The one test that decides."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    """Level of the test."""
    family: Name | None = None
    """Family whose error rate it shares."""
    gate: Name | None = None
    """Tested only if the hypothesis with this id was confirmed."""
    decision: Literal["differs_from_zero", "exceeds_smallest_effect"] = "differs_from_zero"
    """Whether the null is an effect of 0, or one of `smallest_effect` in the stated direction."""
    power: PowerAssumption | None = None
    """Checked at the lock."""
    role: Literal["primary", "secondary", "control"] = "primary"
    """Its weight in the study; the report says it."""
    acknowledge_underpowered: bool = False
    """The authors know that the power under their own assumptions is below 0.8, and run it all the same."""


class Family(Section):
    """Hypotheses whose error rate is controlled together."""

    method: Literal["holm"] = "holm"
    """Holm's step-down correction."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    """Error rate of the family."""
