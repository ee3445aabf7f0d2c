"""The `selection` section of a trainer: which training prompts an update uses.

The formulas stand in docs/methods.md.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from prereg.fields import Count, Fraction, Positive, Section
from prereg.installed import InstalledMethod


class UniformSelection(Section):
    """Every training prompt once an epoch, in an order that depends on the data seed and the epoch alone."""

    kind: Literal["uniform"] = "uniform"


class HistoryPredictor(Section):
    """Success predicted from the prompt's own rollouts so far, older ones counting less."""

    kind: Literal["history"] = "history"
    discount: Annotated[float, Field(gt=0, le=1)] = 0.95
    """Factor of a count for each update since."""
    shrinkage: Positive = 4.0
    """Samples that the mean over the pool counts as."""
    prior: Literal["none", "base_model"] = "none"
    """What a prompt begins with: nothing, or samples of the base model, charged as screening."""
    prior_samples: Count = 4
    """Base-model samples a training prompt, all drawn before the first update."""


class ScreeningPredictor(Section):
    """Success measured on samples that the present policy draws for every candidate, charged as screening.

    They are not trained on.
    """

    kind: Literal["screening"]
    samples: Count = 4
    """Samples a candidate."""
    shrinkage: Positive = 4.0
    """Samples that the mean over the pool counts as."""


Predictor = Annotated[HistoryPredictor | ScreeningPredictor, Field(discriminator="kind")]


class NearestHalfSelection(Section):
    """Of a pool of candidates, those whose predicted success is nearest to one half."""

    kind: Literal["nearest_half"]
    pool_ratio: Annotated[int, Field(ge=2)] = 4
    """Candidates for each prompt that is used."""
    exploration: Fraction = 0.125
    """Share of an update's prompts that is drawn from the pool at random, so that all are seen again."""
    predictor: Predictor = HistoryPredictor()
    """Where the prediction comes from."""


class FilterHomogeneousSelection(Section):
    """DAPO's dynamic sampling: groups whose rewards are all equal are discarded and others drawn instead.

    This chooses prompts by the very samples that are trained on.
    """

    kind: Literal["filter_homogeneous"]
    max_rounds: Annotated[int, Field(ge=2)] = 4
    """Rounds of sampling an update, each of as many prompts as are missing. Then groups without a signal
    fill the update."""


Selection = Annotated[
    UniformSelection | NearestHalfSelection | FilterHomogeneousSelection | InstalledMethod,
    Field(discriminator="kind"),
]
