"""What the plan watches besides its claims: bounds on side effects, and strata of difficulty.

A method can win by writing longer answers, by collapsing its entropy or by being trained on fewer
informative groups. A bound that is declared before the runs flags such an arm on the report's first page,
or voids its hypotheses.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from prereg.fields import Axis, Name, Section

Measure = Literal[
    "length", "truncation", "duplicate_samples", "entropy", "kl", "informative_groups", "training_length"
]

EVALUATED: tuple[Measure, ...] = ("length", "truncation", "duplicate_samples")
"""Measures of evaluation samples; the others are of training."""


class Control(Section):
    """A bound on a side effect of training: what is measured, in which arms, and what breaking it means.

    `length` is mean tokens an evaluation sample, `truncation` the share cut at the cap and
    `duplicate_samples` the share whose text repeats an earlier sample of the same problem, each at the
    budgets. `entropy` (nats a token, last tenth of the updates), `kl` (to the start policy, nats a token,
    last update), `informative_groups` (share of groups whose rewards differ) and `training_length` (mean
    tokens a rollout) are of the whole training run. All are means over seeds.
    """

    measure: Measure
    """What is measured."""
    arms: tuple[Name, ...] | None = None
    """Arms that must keep the bound; left out, all but `relative_to`."""
    relative_to: Name | None = None
    """An arm; the bound is then on the ratio to this arm's value."""
    matched_on: Axis | None = None
    """For measures of evaluation samples: the axis at whose budget they are read; left out, every one."""
    at_least: float | None = None
    """The value, or ratio, may not lie below this."""
    at_most: float | None = None
    """The value, or ratio, may not lie above this."""
    action: Literal["flag", "void"] = "flag"
    """A broken bound is named on the first page, or also makes every hypothesis on the arm inadmissible."""


class Strata(Section):
    """How the benchmark problems are divided by difficulty, to ask where a method helps.

    A stratum drawn from the compared samples fakes a gain in the hard one and a loss in the easy one, by
    regression to the mean. So difficulty comes from samples that do not enter the difference: those of the
    start policy under other seeds (`base_model`), of the control's runs on other seeds (`other_seeds`), or
    of the other half of the control's samples, both ways round (`cross_fit`).
    """

    by: Literal["base_model", "other_seeds", "cross_fit", "compared_runs"] = "base_model"
    """Whose success rate is the difficulty. `compared_runs` is refused, with the reason."""
    cut_points: Annotated[tuple[Annotated[float, Field(gt=0, lt=1)], ...], Field(min_length=1)] = (0.25, 0.75)
    """Success rates that divide the strata, rising; a problem at a cut point belongs to the easier side."""
