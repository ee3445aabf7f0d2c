"""The tests that can decide a hypothesis, and those that may only stand beside one (docs/statistics.md)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from prereg.fields import Name, Section


class PairedT(Section):
    """Paired t over training seeds (docs/statistics.md): generalises to new seeds on these problems."""

    kind: Literal["paired_t"]


class CrossedSatterthwaite(Section):
    """Seeds crossed with problems: generalises to new seeds and new problems."""

    kind: Literal["crossed_satterthwaite"]


class SignFlip(Section):
    """Exact: all 2^S flips of the signs of the paired differences. Needs no normal law, but many seeds."""

    kind: Literal["sign_flip"]


class Tost(Section):
    """Two one-sided tests against `margin` and its negative, for the direction `equivalent`.

    The standard error is that of `paired_t`, or of `crossed_satterthwaite` where problems are sampled.
    """

    kind: Literal["tost"]


class NonInferiority(Section):
    """One-sided test against a loss of `margin`, for the direction `non_inferior`.

    The standard error is that of `paired_t`, or of `crossed_satterthwaite` where problems are sampled.
    """

    kind: Literal["non_inferiority"]


class BinomialScoreboard(Section):
    """How many of several predictions come out right, against one half by chance, as exact binomial.

    A prediction is right when its observed effect lies on the stated side of its own null. The test takes the
    predictions for independent, which predictions about the same runs are not: the report says so.
    """

    kind: Literal["binomial_scoreboard"]
    predictions: Annotated[tuple[Name, ...], Field(min_length=1)]
    """Ids of other hypotheses of the study; each counts once."""


class WildBootstrap(Section):
    """Wild bootstrap of the t statistic with Webb's six weights. Only ever a sensitivity analysis."""

    kind: Literal["wild_bootstrap"]
    replicates: Annotated[int, Field(ge=999, le=99_999)] = 9_999
    """Draws, where the 6^S combinations are too many to take all."""


Test = Annotated[
    PairedT | CrossedSatterthwaite | SignFlip | Tost | NonInferiority | BinomialScoreboard,
    Field(discriminator="kind"),
]
"""The one test that decides."""

Sensitivity = Annotated[SignFlip | WildBootstrap, Field(discriminator="kind")]
"""A test that stands beside the deciding one and decides nothing."""
