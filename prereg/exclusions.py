"""What the plan leaves out and what it does about a gap, declared before anything is known.

A run may be left out for how it was made: resumed too often, on another device, with another library. It may
not be left out for what came of it, nor for what depends on that: answers that grow longer make a run longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from prereg.fields import Name, Section, Text

COUNTED: Mapping[str, str] = {
    "resumptions": "times that the run was cut off and resumed",
    "lost_updates": "updates that were made again because a cut lost them",
}
"""Run facts that are numbers, and what they count."""

NAMED: Mapping[str, str] = {
    "device_kind": "kind of device that the run was on",
    "torch_version": "version of torch that the run used",
    "transformers_version": "version of transformers that the run used",
}
"""Run facts that are texts, and what they name."""

_RESULT = "it is what the study measures"
_TRAINING = "it is what the arm's own training did"
_DURATION = "it follows from how long the arm's answers grow"

OUTCOMES: Mapping[str, str] = {
    **dict.fromkeys(("score", "accuracy", "correct", "avg", "pass", "pass_at_k", "effect"), _RESULT),
    **dict.fromkeys(("reward", "loss", "gradient_norm", "entropy", "kl", "clip_share"), _TRAINING),
    **dict.fromkeys(("informative_groups", "duplicate_samples", "advantage", "logprob_gap"), _TRAINING),
    **dict.fromkeys(("length", "mean_length", "training_length", "truncation", "truncated"), _DURATION),
    **dict.fromkeys(("tokens", "generated_tokens", "lost_tokens", "updates", "train_flops"), _DURATION),
    **dict.fromkeys(("device_seconds", "wall_seconds", "wall_time", "lost_seconds"), _DURATION),
    **dict.fromkeys(
        ("divergence", "diverged"),
        "it is what the arm's own training did; `intercurrent.divergence` says what becomes of such a run",
    ),
}
"""Facts that no rule may use, and why: they depend on the outcome."""


class Exclusion(Section):
    """A rule that leaves a run out by how it was made, and never by what came of it.

    The seed of such a run is left out of both arms of every hypothesis that compares the run, on its model.
    The report names the rule. A run whose record does not hold the fact is not left out.
    """

    id: Name
    """Names it in the report."""
    field: Text
    """A run fact: `resumptions`, `lost_updates`, `device_kind`, `torch_version` or `transformers_version`."""
    above: Annotated[int, Field(ge=0)] | None = None
    """For `resumptions` and `lost_updates`: a run with more than this is left out."""
    differs_from: Text | None = None
    """For the others: a run with another value than this is left out."""

    def __str__(self) -> str:
        if self.above is not None:
            return f"more than {self.above} {self.field.replace('_', ' ')}"
        return f"{self.field.replace('_', ' ')} other than {self.differs_from}"


class Missing(Section):
    """What a comparison does about pairs of runs, and about samples, that are missing.

    A pair is missing if one of its runs failed for good and no reserve seed took its place. A run that was
    never started, or was cut off, is not missing: `harness run` makes it, and until then there is no verdict.
    """

    pairs: Literal["inadmissible", "complete_cases"] = "inadmissible"
    """A missing pair makes the verdict INADMISSIBLE; or the verdict is on the complete pairs, with each
    missing one named beside it, and with the p that would result if the missing ones were like the worst."""
    at_least: Annotated[int, Field(ge=2)] | None = None
    """For `complete_cases`: with fewer complete pairs than this, the verdict is INADMISSIBLE all the same."""
    samples: Literal["block"] = "block"
    """A sample that is missing or could not be graded blocks its comparison until it is there; there is no
    other way."""
