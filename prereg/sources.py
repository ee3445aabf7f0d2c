"""Where models and tasks come from. Each source resolves to a SHA-256 at the lock."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from prereg.fields import Count, Fraction, Name, Positive, Section, Text

RelativePath = Annotated[str, StringConstraints(min_length=1, max_length=1024)]
"""A path inside the study's folder; the lock refuses one that leaves it."""


class BuiltinModel(Section):
    """The small arithmetic model that the project ships (110 thousand parameters)."""

    kind: Literal["builtin"]
    name: Literal["arithmetic-110k"] = "arithmetic-110k"
    """Which of them."""


class LocalModel(Section):
    """A folder in Hugging Face layout, weights as safetensors."""

    kind: Literal["local"]
    path: RelativePath
    """The folder, beside or below the study file."""


class HubModel(Section):
    """A model of the Hugging Face Hub at a pinned revision."""

    kind: Literal["hub"]
    id: Annotated[str, StringConstraints(pattern=r"^[\w.-]+/[\w.-]+$")]
    """`owner/name`."""
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    """A full commit hash: a branch or a tag can move."""


ModelSource = Annotated[BuiltinModel | LocalModel | HubModel, Field(discriminator="kind")]


class PlannedShape(Section):
    """The shape of a Llama-like model, for `harness plan` where the model is not at hand."""

    layers: Count
    """Blocks."""
    hidden: Count
    """Width."""
    heads: Count
    """Query heads."""
    kv_heads: Count
    """Key and value heads."""
    head_dim: Count
    """Dimension of a head."""
    intermediate: Count
    """Width of the feed-forward block."""
    vocabulary: Count
    """Tokens."""
    tied: bool = False
    """Whether the output layer is the embedding."""


class Model(Section):
    """A base model, and how a problem becomes its prompt."""

    source: ModelSource
    """Where its weights and tokenizer come from."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Type of the weights."""
    prompt_template: Annotated[str, StringConstraints(pattern=r"\{problem\}")] = "{problem}"
    """`{problem}` is replaced by the problem's text; nothing else is special."""
    chat_template: bool = False
    """Whether the tokenizer's chat template is applied to the prompt."""
    stop: tuple[Text, ...] = ()
    """Strings that end a completion, besides the tokenizer's end-of-sequence token."""
    remote_code: bool = False
    """Run Python code that comes with the model. It is then part of what is locked; read it first."""
    planned_shape: PlannedShape | None = None
    """What `harness plan` computes with where the model is not at hand; nothing else reads it."""


class BuiltinTask(Section):
    """Generated arithmetic chains, e.g. `5+5-1=`, answered by worked steps and `#9`.

    Splits with equal `seed` are disjoint in their problems.
    """

    kind: Literal["builtin"]
    name: Literal["arithmetic"] = "arithmetic"
    """Which of them."""
    split: Literal["train", "easy", "medium", "hard"]
    """Training problems, or one of three levels of difficulty."""
    size: Count
    """Number of problems."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Draws the problems."""


class FileTask(Section):
    """A local JSONL or Parquet file with named columns."""

    kind: Literal["jsonl", "parquet"]
    path: RelativePath
    """The file, beside or below the study file."""
    problem: Text = "problem"
    """Column of the problem's text."""
    answer: Text = "answer"
    """Column of the gold answer."""
    id: Text | None = None
    """Column of the problem's id; without it the row number (from 0) is the id."""
    limit: Count | None = None
    """Only so many rows, drawn by `subset_seed`."""
    subset_seed: Annotated[int, Field(ge=0)] = 0
    """Decides which rows `limit` keeps."""


TaskSource = Annotated[BuiltinTask | FileTask, Field(discriminator="kind")]


class ExactGrader(Section):
    """The text after the last `marker`, compared exactly: as an integer, or as text with outer blanks cut."""

    kind: Literal["exact"]
    answer_type: Literal["integer", "text"] = "integer"
    """How answers are compared."""
    marker: Text = "#"
    """What stands before the answer."""


class MathGrader(Section):
    """math-verify on the last balanced `\\boxed{}`, in a killable process with time and memory limits."""

    kind: Literal["math"]
    timeout_seconds: Positive = 5.0
    """Time for one answer; beyond it the answer counts as wrong, and is counted apart."""
    memory_mb: Count = 1024
    """Memory for one answer, MiB."""


Grader = Annotated[ExactGrader | MathGrader, Field(discriminator="kind")]


class Training(Section):
    """The training prompts and how their completions are graded."""

    source: TaskSource
    """The problems."""
    grader: Grader
    """What decides whether an answer is right."""


class Benchmark(Section):
    """A set of problems on which every evaluated checkpoint is sampled."""

    source: TaskSource
    """The problems."""
    grader: Grader
    """What decides whether an answer is right."""
    samples: Count = 32
    """Samples a problem (n of avg@n)."""
    temperature: Positive = 1.0
    """Of sampling."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Nucleus of sampling; 1 is off."""
    max_new_tokens: Count = 1024
    """Cap on a sample; one that reaches it counts as wrong."""
    weight: Positive = 1.0
    """Weight in the mean over benchmarks; weights are normalised to sum to 1."""


class Data(Section):
    """Training prompts and benchmarks, each by name."""

    training: Training
    benchmarks: Annotated[dict[Name, Benchmark], Field(min_length=1)]
    """By name."""
    contamination_limit: Fraction = 0.0
    """Largest share of a benchmark's problems that may stand among the training prompts."""
