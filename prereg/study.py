"""The study file as a typed, frozen object: the one input of the lock, the runs and the analysis."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from prereg.exclusions import Exclusion, Missing
from prereg.fields import AXES, Axis, Count, Name, Positive, Section, Text
from prereg.hypotheses import Family, Hypothesis
from prereg.sideeffects import Control, Strata
from prereg.sources import Data, Model
from prereg.stopping import FixedSeeds, Look, Stopping, looks_of
from prereg.trainer import Trainer
from prereg.wanted import Receipts

SCHEMA_VERSION: Literal[1] = 1


class Arm(Section):
    """A way to train, stated as its difference from the shared trainer."""

    role: Literal["control", "treatment", "placebo", "negative_control", "length_matched"]
    """What it is there for; the report says it."""
    description: Text | None = None
    """In words, for the report."""
    trainer: dict[str, Any] = Field(default_factory=dict)
    """Fields of `trainer` that this arm sets differently, nested as there."""
    seed_offset: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Added to every data seed for training. An arm equal to the control but for this is an A/A arm: what
    differs between the two is the luck of the prompts and the sampling. Evaluation noise stays shared."""


class Budget(Section):
    """Where every arm is read: one value an axis. A run goes on until all of them are reached."""

    updates: Count | None = None
    """Updates of the policy."""
    generated_tokens: Count | None = None
    """Training tokens: rollouts, continuations, screening and discarded; evaluation is not charged."""
    device_seconds: Positive | None = None
    """Devices held x wall seconds on a GPU; process CPU-seconds on a CPU. Evaluation is not charged."""
    train_flops: Positive | None = None
    """Floating-point operations of sampling and training, counted from the model and the tokens."""
    clock: Literal["device", "counted"] = "device"
    """`counted` replaces seconds by a fixed price a token, for rehearsals; reports are then marked."""

    def declared(self) -> dict[Axis, float]:
        """The axes that have a budget, in the order of `AXES`."""
        return {axis: value for axis in AXES if (value := getattr(self, axis)) is not None}


class Grid(Section):
    """Additional evaluations at regular intervals of one axis, for the curves."""

    axis: Literal["updates", "generated_tokens"] = "updates"
    """Axis along which the evaluations are spaced."""
    every: Count
    """Distance between two of them, in units of the axis."""


class Evaluation(Section):
    """When checkpoints are evaluated. The start and every declared budget always are."""

    grid: Grid | None = None
    pass_k: tuple[Count, ...] = (1, 2, 4, 8, 16, 32)
    """The values of k for which the report shows pass@k."""
    token_caps: tuple[Count, ...] | None = None
    """Caps in tokens at which accuracy is shown; left out, ten up to the largest `max_new_tokens`."""
    max_batch: Count = 1024
    """Sequences decoded at once in evaluation."""
    reevaluate: bool = False
    """Evaluate the start policy and those at the budgets once more, under other sampling noise: how far the
    two differ is the noise of measuring. No verdict uses the second evaluation."""


class DataStatus(Section):
    """What the authors had seen when they wrote the plan."""

    seen: Literal["nothing", "pilot_runs", "some_results", "all_results"] = "nothing"
    """Of results of the runs that this study plans or of runs like them."""
    pilots: tuple[Text, ...] = ()
    """Locks or descriptions of the pilot runs that informed the plan."""
    pilot_seeds: tuple[int, ...] = ()
    """Seeds that the pilots used; the study's own must differ."""


class Environment(Section):
    """Where the study is meant to run."""

    device: Literal["cpu", "cuda"] = "cpu"
    """`cuda` runs one cell on each GPU."""
    slots: Count | None = None
    """Runs at a time; left out, one a CPU core or one a GPU."""
    deterministic: bool = True
    """Ask torch for deterministic kernels."""
    commit_seconds: Positive = 10.0
    """Work after which the ledger and a checkpoint are committed."""
    acknowledge_dirty_code: bool = False
    """The authors know that the harness differs from its git commit, and lock it all the same."""


Seed = Annotated[int, Field(ge=0, lt=2**31)]


class Study(Section):
    """A whole study. See docs/study-file.md for an annotated example."""

    schema_version: Literal[1] = SCHEMA_VERSION
    """Version of this format."""
    id: Name
    """Names folders and tables."""
    title: Text
    """The question, as a heading."""
    authors: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Who answers for the plan."""
    description: Text | None = None
    """A paragraph for the report's first page."""
    kind: Literal["confirmatory", "pilot", "replication"]
    """Whether it makes claims (`confirmatory`), only looks (`pilot`), or repeats another (`replication`)."""
    replicates: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    """SHA-256 of the lock that a replication repeats."""
    data_status: DataStatus = DataStatus()
    models: Annotated[dict[Name, Model], Field(min_length=1)]
    """Base models by name; every arm is run on each."""
    data: Data
    trainer: Trainer
    arms: Annotated[dict[Name, Arm], Field(min_length=1)]
    """The ways to train that are compared, by name."""
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)]
    """Data seeds, paired across arms."""
    reserve_seeds: tuple[Seed, ...] = ()
    """Seeds that are run only in the place of a seed one of whose runs failed for good, in this order: in all
    arms and on all models. A run has failed for good when two attempts at it ended with an error. A run that
    diverged, or came out badly, is not replaced."""
    exclusions: tuple[Exclusion, ...] = ()
    """Rules that leave a run's seed out by how the run was made."""
    missing: Missing = Missing()
    stopping: Stopping = FixedSeeds()
    """When the study ends: after all seeds, or at a declared look that decides every hypothesis."""
    budget: Budget
    evaluation: Evaluation = Evaluation()
    hypotheses: tuple[Hypothesis, ...] = ()
    """What is claimed; each gets a verdict."""
    families: dict[Name, Family] = Field(default_factory=dict)
    """Hypotheses that share one error rate, by name."""
    controls: dict[Name, Control] = Field(default_factory=dict)
    """Bounds on side effects, by name: an arm that breaks one is flagged, or voided."""
    strata: Strata | None = None
    """Groups of problems by difficulty, within which the registered differences are also shown."""
    environment: Environment = Environment()
    receipts: Receipts = Receipts()
    """Who is to sign the lock, and who is to say when it existed: `harness prereg stamp`."""
    exploratory: tuple[Text, ...] = ()
    """Analyses that the authors intend to look at without a claim."""

    def trainer_of(self, arm: str) -> Trainer:
        """The shared trainer with the arm's differences applied.

        Raises pydantic.ValidationError if the differences do not fit; `prereg.checks` reports them with
        their place before anything else calls this.
        """
        return merged_trainer(self.trainer, self.arms[arm].trainer)

    def training_seed(self, arm: str, seed: int) -> int:
        """The seed from which an arm's run of a data seed draws its prompts and its sampling noise."""
        return seed + self.arms[arm].seed_offset

    @property
    def looks(self) -> tuple[Look, ...]:
        """The planned looks, of which a study with a fixed number of seeds has one, at its end."""
        return looks_of(self.stopping, len(self.seeds))

    def weights(self, names: tuple[str, ...] | None = None) -> dict[str, float]:
        """Benchmark weights, summing to 1, over `names` or all benchmarks, in the study's order."""
        chosen = {k: b.weight for k, b in self.data.benchmarks.items() if names is None or k in names}
        total = sum(chosen.values())
        return {name: weight / total for name, weight in chosen.items()}


def merged_trainer(shared: Trainer, difference: Mapping[str, Any]) -> Trainer:
    """`shared` with `difference` laid over it. A section whose `kind` changes starts from its defaults.

    Raises pydantic.ValidationError, its `loc` relative to the trainer section.
    """
    merged = _overlay(shared.model_dump(mode="json"), difference)
    return Trainer.model_validate_json(json.dumps(merged))


def _overlay(base: Mapping[str, Any], difference: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in difference.items():
        old = result.get(key)
        same_kind = isinstance(old, dict) and isinstance(value, Mapping) and (
            "kind" not in value or value["kind"] == old.get("kind")
        )  # fmt: skip
        result[key] = _overlay(old, value) if same_kind and isinstance(old, dict) else value
    return result
