"""The `reward` section of a trainer: what a completion, or each of its tokens, is worth.

The formulas stand in docs/methods.md.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from prereg.fields import Count, NonNegative, Positive, Section, Text
from prereg.installed import InstalledMethod


class OutcomeReward(Section):
    """1 for a correct answer, 0 for any other; a truncated answer is not an answer."""

    kind: Literal["outcome"] = "outcome"


class FormatOnlyReward(Section):
    """The negative control: 1 for an answer that the grader could read, whatever its value."""

    kind: Literal["format_only"]


class TextBoundaries(Section):
    """A step ends behind a separator in the decoded text; a token that straddles the place belongs to it."""

    kind: Literal["text"] = "text"
    separators: Annotated[tuple[Text, ...], Field(min_length=1)] = ("\n\n",)
    """Texts behind which a step ends, blanks after them included; a blank line by default."""
    max_step_tokens: Count = 128
    """A step longer than this ends at the next end of a line or sentence as well."""


class UniformBoundaries(Section):
    """Evenly spaced steps, whatever the text."""

    kind: Literal["uniform"]
    steps: Count = 8
    """Steps a completion; one of fewer tokens has one a token."""


Boundaries = Annotated[TextBoundaries | UniformBoundaries, Field(discriminator="kind")]


class Continuations(Section):
    """The value of a prefix is the mean outcome of completions sampled from it."""

    kind: Literal["continuations"] = "continuations"
    count: Count = 4
    """Continuations of each prefix (K); a prefix that several completions share is continued once."""
    temperature: Positive = 1.0
    """Of their sampling."""
    root: Literal["leave_one_out", "continuations"] = "leave_one_out"
    """Value of the bare prompt: the mean outcome of the group's other completions, which is free, or
    continuations like any other prefix."""


class PrefixTree(Section):
    """The value of a prefix is the mean outcome of the group's other completions that begin with it.

    Where there is none, a step is worth the completion's own outcome, less the value of the longest prefix
    that is shared. It costs no tokens.
    """

    kind: Literal["prefix_tree"]


Estimator = Annotated[Continuations | PrefixTree, Field(discriminator="kind")]


class StepValues(Section):
    """What the rewards from the values of steps have in common."""

    kind: str
    boundaries: Boundaries = TextBoundaries()
    """Where steps begin."""
    estimator: Estimator = Continuations()
    """Where a step's value comes from."""
    groups: Literal["all", "informative"] = "all"
    """Which groups are valued: all, or those alone whose outcomes differ; the others get no advantage."""
    shuffled: bool = False
    """The placebo: the scores of a completion's steps are permuted among them."""
    rescaled: bool = True
    """Scale all advantages of an update to the mean size of GRPO's on the same completions."""


class McAdvantageReward(StepValues):
    """VinePPO: the tokens of a step get the value behind it less the value before it."""

    kind: Literal["mc_advantage"]


class McValueSoftReward(StepValues):
    """Math-Shepherd's soft estimate: the values of later steps are added to the outcome advantage."""

    kind: Literal["mc_value_soft"]


class McValueHardReward(StepValues):
    """Math-Shepherd's hard estimate: a step counts 1 if any continuation of it is right."""

    kind: Literal["mc_value_hard"]


class ImplicitPrmReward(Section):
    """PRIME: token rewards from a model that is trained beside the policy to tell right from wrong."""

    kind: Literal["implicit_prm"]
    beta: Positive = 0.05
    """Factor of the log-ratio to the start policy."""
    learning_rate: NonNegative = 1e-6
    """Of the reward model, constant; its AdamW is otherwise the policy's."""
    shuffled: bool = False
    """The placebo: a completion's token rewards are permuted."""
    rescaled: bool = True
    """Scale all advantages of an update to the mean size of GRPO's on the same completions."""


Reward = Annotated[
    OutcomeReward
    | FormatOnlyReward
    | McAdvantageReward
    | McValueSoftReward
    | McValueHardReward
    | ImplicitPrmReward
    | InstalledMethod,
    Field(discriminator="kind"),
]
