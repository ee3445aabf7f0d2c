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


class LocalModel(Section):
    """A folder in Hugging Face layout, weights as safetensors."""

    kind: Literal["local"]
    path: RelativePath


class HubModel(Section):
    """A model of the Hugging Face Hub at a pinned revision."""

    kind: Literal["hub"]
    id: Annotated[str, StringConstraints(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    """A full commit hash: a branch or a tag can move."""


ModelSource = Annotated[BuiltinModel | LocalModel | HubModel, Field(discriminator="kind")]


class Model(Section):
    """A base model, and how a problem becomes its prompt."""

    source: ModelSource
    dtype: Literal["float32", "bfloat16"] = "float32"
    prompt_template: Annotated[str, StringConstraints(pattern=r"\{problem\}")] = "{problem}"
    """`{problem}` is replaced by the problem's text; nothing else is special."""
    chat_template: bool = False
    """Whether the tokenizer's chat template is applied to the prompt."""
    stop: tuple[Text, ...] = ()
    """Strings that end a completion, besides the tokenizer's end-of-sequence token."""


class BuiltinTask(Section):
    """Generated arithmetic chains, e.g. `5+5-1=`, answered by worked steps and `#9`.

    Splits with equal `seed` are disjoint in their problems.
    """

    kind: Literal["builtin"]
    name: Literal["arithmetic"] = "arithmetic"
    split: Literal["train", "easy", "medium", "hard"]
    size: Count
    seed: Annotated[int, Field(ge=0)] = 0


class FileTask(Section):
    """A local JSONL or Parquet file with named columns."""

    kind: Literal["jsonl", "parquet"]
    path: RelativePath
    problem: Text = "problem"
    """Column of the problem's text."""
    answer: Text = "answer"
    """Column of the gold answer."""
    id: Text | None = None
    """Column of the problem's id; without it the row number (from 0) is the id."""
    limit: Count | None = None
    """Only so many rows, drawn by `subset_seed`."""
    subset_seed: Annotated[int, Field(ge=0)] = 0


TaskSource = Annotated[BuiltinTask | FileTask, Field(discriminator="kind")]


class ExactGrader(Section):
    """The text after the last `marker`, compared exactly: as an integer, or as text with outer blanks cut."""

    kind: Literal["exact"]
    answer_type: Literal["integer", "text"] = "integer"
    marker: Text = "#"


class MathGrader(Section):
    """math-verify on the last balanced `\\boxed{}`, in a killable process with time and memory limits."""

    kind: Literal["math"]
    timeout_seconds: Positive = 5.0
    memory_mb: Count = 1024


Grader = Annotated[ExactGrader | MathGrader, Field(discriminator="kind")]


class Training(Section):
    """The training prompts and how their completions are graded."""

    source: TaskSource
    grader: Grader


class Benchmark(Section):
    """A set of problems on which every evaluated checkpoint is sampled."""

    source: TaskSource
    grader: Grader
    samples: Count = 32
    """Samples a problem (n of avg@n)."""
    temperature: Positive = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    max_new_tokens: Count = 1024
    weight: Positive = 1.0
    """Weight in the mean over benchmarks; weights are normalised to sum to 1."""


class Data(Section):
    """Training prompts and benchmarks, each by name."""

    training: Training
    benchmarks: Annotated[dict[Name, Benchmark], Field(min_length=1)]
    contamination_limit: Fraction = 0.0
    """Largest share of a benchmark's problems that may stand among the training prompts."""
