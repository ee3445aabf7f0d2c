"""The truth that a simulated study is made from: `truth.yaml`."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from prereg.documents import Document, read_document
from prereg.explain import did_you_mean
from prereg.fielddocs import field_docs
from prereg.fields import Fraction, Name, NonNegative, Positive, Section
from prereg.problems import Problem, Refused
from prereg.study import Study

Accuracy = Annotated[float, Field(gt=0, lt=1)]


class Lengths(Section):
    """How long completions are, in tokens: log-normal, and cut at the cap that the study sets."""

    start: Positive
    """Mean before training, were nothing cut."""
    end: Positive
    """Mean at the end of learning."""
    spread: NonNegative = 0.3
    """Standard deviation of the logarithm of a length."""


class UpdateCost(Section):
    """What an update costs; its tokens are those of its completions."""

    seconds: NonNegative = 0.0
    """Device-seconds whatever its length."""
    seconds_per_token: Positive
    """Device-seconds a generated token."""
    flops_per_token: Positive
    """Floating-point operations a generated token."""
    spread: NonNegative = 0.05
    """Standard deviation of the logarithm of an update's seconds."""


class Failures(Section):
    """What goes wrong, as shares of an arm's runs."""

    crash: Fraction = 0.0
    """Runs that stop at some update and never finish."""
    divergence: Fraction = 0.0
    """Runs whose loss stops being finite at some update, and which fall back to the start's accuracy."""


class ArmTruth(Section):
    """How an arm learns, writes, costs and fails."""

    gain: float
    """What it learns at most, in log-odds: 0 leaves every accuracy where it started."""
    gains: dict[Name, float] = Field(default_factory=dict)
    """The same on single benchmarks, in the place of `gain`."""
    rate: Positive
    """Learning per update: after u updates 1 - exp(-rate u) of the gain is there."""
    lengths: Lengths
    """Tokens of its completions, in training and in evaluation."""
    cost: UpdateCost
    """What its updates cost."""
    failures: Failures = Failures()
    """What goes wrong in it."""


class BenchmarkTruth(Section):
    """A benchmark before training."""

    start: Accuracy
    """Mean accuracy over its problems."""
    spread: NonNegative = 1.0
    """Standard deviation of its problems' difficulty, in log-odds."""


class Variance(Section):
    """How runs and problems differ, as standard deviations in log-odds at the end of learning."""

    seeds: NonNegative = 0.0
    """Between seeds, shared by all arms of a seed: the pairing takes it away."""
    runs: NonNegative = 0.0
    """Between the runs of an arm, besides what their seeds share."""
    problems: NonNegative = 0.0
    """Between problems, in what an arm learns on each."""


class Truth(Section):
    """Everything that a simulated study is made from."""

    schema_version: Literal[1] = 1
    """Version of this format."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Every draw follows from it, from the study's id and from names."""
    arms: Annotated[dict[Name, ArmTruth], Field(min_length=1)]
    """Every arm of the study."""
    benchmarks: Annotated[dict[Name, BenchmarkTruth], Field(min_length=1)]
    """Every benchmark of the study."""
    variance: Variance = Variance()
    """How runs and problems differ."""
    start_evaluated: bool = True
    """Whether the start policy is evaluated, as in a real run; without, its rows are saved."""


def load_truth(path: Path, study: Study) -> Truth:
    """Read a truth and see that it fits the study. Raises Refused with every problem at its place."""
    document = read_document(path, Truth, hint="docs/simulate.md has an example.")
    if found := [
        *_names(document, "arms", study.arms),
        *_names(document, "benchmarks", study.data.benchmarks),
    ]:
        raise Refused(*found)
    found = [
        document.problem(
            f"the study has no benchmark `{name}`", "arms", arm, "gains", name,
            hint=did_you_mean(name, study.data.benchmarks), at_key=True,
        )
        for arm, one in document.content.arms.items()
        for name in one.gains
        if name not in study.data.benchmarks
    ]  # fmt: skip
    if found:
        raise Refused(*found)
    return document.content


def truth_schema() -> str:
    """The JSON Schema of truth files, for editors."""
    schema = Truth.model_json_schema(mode="validation")
    for section in (Truth, ArmTruth, BenchmarkTruth, Variance, Lengths, UpdateCost, Failures):
        target = schema if section is Truth else schema["$defs"][section.__name__]
        for name, text in field_docs(section).items():
            target["properties"][name]["description"] = text
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _names(document: Document[Truth], section: str, known: Collection[str]) -> list[Problem]:
    """Names of a section that the study has not, and names of the study that the section has not."""
    given: Collection[str] = getattr(document.content, section)
    noun = section.removesuffix("s")
    found = [
        document.problem(
            f"the study has no {noun} `{name}`", section, name, hint=did_you_mean(name, known), at_key=True
        )
        for name in given
        if name not in known
    ]
    missing = [name for name in known if name not in given]
    if missing and not found:
        listed = ", ".join(f"`{name}`" for name in missing)
        found = [document.problem(f"the study's {noun} {listed} is missing", section, at_key=True)]
    return found
