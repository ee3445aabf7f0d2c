"""Where models and tasks come from. Each source resolves to a SHA-256 at the lock."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from prereg.fields import Count, Fraction, Name, Positive, Section, Text
from prereg.namedsets import NAMED, AnswerRule, AnswerType

RelativePath = Annotated[str, StringConstraints(min_length=1, max_length=1024)]
"""A path inside the study's folder; the lock refuses one that leaves it."""

HubId = Annotated[str, StringConstraints(pattern=r"^[\w.-]+/[\w.-]+$")]
Revision = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
"""A full commit hash: a branch or a tag can move."""


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
    id: HubId
    """`owner/name`."""
    revision: Revision
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


Repeats = Literal["keep", "drop"]
Contradictions = Literal["refuse", "keep", "drop"]


class FileTask(Section):
    """A local JSONL, CSV or Parquet file with named columns."""

    kind: Literal["jsonl", "csv", "parquet"]
    path: RelativePath
    """The file, beside or below the study file."""
    problem: Text = "problem"
    """Column of the problem's text; dots lead into nested values, e.g. `prompt.0.content`."""
    answer: Text = "answer"
    """Column of the gold answer."""
    answer_rule: AnswerRule = "whole"
    """How that column becomes the answer: as it is, its last box, what follows its last `####`, or the one
    entry of a list."""
    id: Text | None = None
    """Column of the problem's id; without it the row number (from 0) is the id."""
    repeats: Repeats = "keep"
    """Whether a problem that stands again with the same answer is kept, and noted, or dropped."""
    contradictions: Contradictions = "refuse"
    """What is done with a problem that stands with two different answers: the lock refuses it, or it is
    kept, or every row of it is dropped."""
    max_characters: Count | None = None
    """Only problems of at most so many characters; the lock notes how many are left out."""
    limit: Count | None = None
    """Only so many rows, drawn by `subset_seed`."""
    subset_seed: Annotated[int, Field(ge=0)] = 0
    """Decides which rows `limit` keeps."""


class HubTask(Section):
    """A JSONL, CSV or Parquet file in a data set of the Hugging Face Hub, at a pinned revision.

    Only such files are ever read: no data-set scripts, no pickles.
    """

    kind: Literal["hub"]
    id: HubId
    """`owner/name`."""
    revision: Revision
    """A full commit hash: a branch or a tag can move."""
    file: RelativePath | None = None
    """The file in the repository; without it, the files of `config` and `split` are found by their names."""
    config: Text = "default"
    """Configuration of the data set, where no `file` is given."""
    split: Text = "train"
    """Split of the data set, where no `file` is given."""
    problem: Text = "problem"
    """Column of the problem's text; dots lead into nested values, e.g. `prompt.0.content`."""
    answer: Text = "answer"
    """Column of the gold answer."""
    answer_rule: AnswerRule = "whole"
    """How that column becomes the answer: as it is, its last box, what follows its last `####`, or the one
    entry of a list."""
    id_column: Text | None = None
    """Column of the problem's id; without it the row number (from 0) is the id."""
    repeats: Repeats = "keep"
    """Whether a problem that stands again with the same answer is kept, and noted, or dropped."""
    contradictions: Contradictions = "refuse"
    """What is done with a problem that stands with two different answers: the lock refuses it, or it is
    kept, or every row of it is dropped."""
    max_characters: Count | None = None
    """Only problems of at most so many characters; the lock notes how many are left out."""
    limit: Count | None = None
    """Only so many rows, drawn by `subset_seed`."""
    subset_seed: Annotated[int, Field(ge=0)] = 0
    """Decides which rows `limit` keeps."""


class NamedTask(Section):
    """A published problem set by name; docs/data.md lists them with their sources and licences."""

    kind: Literal["named"]
    name: Literal[
        "aime24", "aime25", "aime26", "amc23", "math500", "minerva_math", "olympiadbench", "hmmt25", "gsm8k",
        "dapo_math",
    ]  # fmt: skip
    """Which of them."""
    revision: Revision | None = None
    """Commit of its repository on the Hub; without it, the one that docs/data.md lists."""
    path: RelativePath | None = None
    """A local copy in the published file's own columns, read in place of the Hub's."""
    repeats: Repeats | None = None
    """Whether a problem that stands again with the same answer is kept or dropped; by default dropped from
    `dapo_math` and kept elsewhere."""
    contradictions: Contradictions | None = None
    """What is done with a problem that stands with two different answers; by default all its rows are dropped
    from `dapo_math`, and the lock refuses it elsewhere."""
    max_characters: Count | None = None
    """Only problems of at most so many characters; the lock notes how many are left out."""
    limit: Count | None = None
    """Only so many rows, drawn by `subset_seed`."""
    subset_seed: Annotated[int, Field(ge=0)] = 0
    """Decides which rows `limit` keeps."""


TaskSource = Annotated[BuiltinTask | FileTask | HubTask | NamedTask, Field(discriminator="kind")]


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
    answer_type: AnswerType = "auto"
    """What kind of answer is expected. `auto` takes whatever mathematics the gold answer is; a declared
    kind also makes an answer of another kind unparseable, and a gold answer of another kind an error at the
    lock."""
    timeout_seconds: Positive = 5.0
    """Time for one answer; beyond it the answer counts as wrong, and is counted apart."""
    memory_mb: Count = 1024
    """Memory for one answer, MiB."""


Grader = Annotated[ExactGrader | MathGrader, Field(discriminator="kind")]


def _with_default_grader(section: Any) -> Any:
    """A named set without a grader gets its own: the math grader with the set's type of answer."""
    source = section.get("source") if isinstance(section, dict) else None
    if isinstance(source, dict) and source.get("kind") == "named" and "grader" not in section:
        named = NAMED.get(str(source.get("name")))
        if named is not None:
            return {**section, "grader": {"kind": "math", "answer_type": named.answer_type}}
    return section


class Training(Section):
    """The training prompts and how their completions are graded."""

    source: TaskSource
    """The problems."""
    grader: Grader
    """What decides whether an answer is right; a source of kind `named` brings its own."""

    _default_grader = model_validator(mode="before")(_with_default_grader)


class Benchmark(Section):
    """A set of problems on which every evaluated checkpoint is sampled."""

    source: TaskSource
    """The problems."""
    grader: Grader
    """What decides whether an answer is right; a source of kind `named` brings its own."""
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

    _default_grader = model_validator(mode="before")(_with_default_grader)


class Data(Section):
    """Training prompts and benchmarks, each by name."""

    training: Training
    benchmarks: Annotated[dict[Name, Benchmark], Field(min_length=1)]
    """By name."""
    contamination_limit: Fraction = 0.0
    """Largest share of a benchmark's problems that may stand among the training prompts."""
