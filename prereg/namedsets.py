"""The problem sets that a study may name: where each is published, how its columns are read, what it holds.

A revision here stands in several independent public repositories that pin it. It was not fetched by this
project's tests, which have no network: the first `harness prereg lock` on a machine with one reads the set,
and refuses it if the number of problems is not what stands here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

AnswerRule = Literal["whole", "last_box", "after_hashes", "only_entry"]
"""How a column becomes the gold answer: as it is; what stands in its last box; what follows its last `####`;
the one entry of a list."""

AnswerType = Literal[
    "auto", "integer", "number", "expression", "tuple", "set", "interval", "equation", "choice", "text"
]
"""What kind of answer the math grader expects."""

_BOXED = "\nPlease reason step by step, and put your final answer within \\boxed{}."


@dataclass(frozen=True, slots=True)
class Layout:
    """One set of columns in which a problem set is published."""

    problem: str
    """Column of the problem; dots lead into nested values, e.g. `prompt.0.content`."""
    answer: str
    rule: AnswerRule = "whole"
    before: str = ""
    """Instruction that stands before every problem, and is cut: how to prompt is the study's to say."""
    after: str = ""
    """Instruction that stands after every problem, and is cut."""


@dataclass(frozen=True, slots=True)
class NamedSet:
    """A published problem set."""

    title: str
    id: str
    """`owner/name` on the Hugging Face Hub."""
    revision: str
    """The commit that is read, unless the study gives another."""
    file: str
    """The file within the repository."""
    layouts: tuple[Layout, ...]
    """The columns of that file, then those of other public copies; the first that fits is used."""
    problems: tuple[int, ...]
    """Numbers of problems of the published copies; empty where it is not checked."""
    answer_type: AnswerType
    """Of the default grader."""
    licence: str
    """As its publisher states it."""
    drops_repeats: bool = False
    """Whether repeated problems are dropped and contradictory ones left out: a training set by design."""


NAMED: dict[str, NamedSet] = {
    "aime24": NamedSet(
        "AIME 2024", "HuggingFaceH4/aime_2024", "2fe88a2f1091d5048c0f36abc874fb997b3dd99a",
        "data/train-00000-of-00001.parquet",
        (Layout("problem", "answer"), Layout("prompt", "answer", after=_BOXED)),
        (30,), "integer", "none stated",
    ),
    "aime25": NamedSet(
        "AIME 2025", "math-ai/aime25", "563bb8404243c5f09de6ec262f2db674fe5bce9b", "test.jsonl",
        (Layout("problem", "answer"), Layout("prompt", "answer", after=_BOXED)),
        (30,), "number", "Apache-2.0",
    ),
    "aime26": NamedSet(
        "AIME 2026", "MathArena/aime_2026", "d2de22f3c656b4f56cf8981212186377d1e23bc3",
        "data/train-00000-of-00001.parquet",
        (Layout("problem", "answer"), Layout("prompt", "answer", after=_BOXED)),
        (30,), "integer", "CC-BY-NC-SA-4.0",
    ),
    "amc23": NamedSet(
        "AMC 12, 2023", "math-ai/amc23", "80815d37005feb82cd7f8fbc6901d5d3eff43057",
        "test-00000-of-00001.parquet",
        (Layout("problem", "answer"), Layout("question", "answer")),
        (40,), "number", "none stated",
    ),
    "math500": NamedSet(
        "MATH-500", "HuggingFaceH4/MATH-500", "6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be", "test.jsonl",
        (Layout("problem", "answer"),), (500,), "auto", "MIT",
    ),
    "minerva_math": NamedSet(
        "Minerva Math", "math-ai/minervamath", "ee46ddc498933b1977577953250ca5c66be64f96", "test.jsonl",
        (Layout("question", "answer"), Layout("problem", "solution", "last_box")),
        (272,), "auto", "none stated",
    ),
    "olympiadbench": NamedSet(
        "OlympiadBench: English competition mathematics without pictures", "Hothan/OlympiadBench",
        "91184b52131e7fc9455fef848035173aea8cc01a",
        "OlympiadBench/OE_TO_maths_en_COMP/OE_TO_maths_en_COMP.parquet",
        (Layout("question", "final_answer", "only_entry"),), (674, 675), "auto", "Apache-2.0",
    ),
    "hmmt25": NamedSet(
        "HMMT February 2025", "MathArena/hmmt_feb_2025", "6fdc4277120810ff75aa22d2d5489b91f7a262a1",
        "data/train-00000-of-00001.parquet",
        (Layout("problem", "answer"), Layout("prompt", "answer", after=_BOXED)),
        (30,), "auto", "CC-BY-NC-SA-4.0",
    ),
    "gsm8k": NamedSet(
        "GSM8K", "openai/gsm8k", "740312add88f781978c0658806c59bc2815b9866",
        "main/test-00000-of-00001.parquet",
        (Layout("question", "answer", "after_hashes"),), (1319,), "number", "MIT",
    ),
    "dapo_math": NamedSet(
        "DAPO-Math-17k", "BytedTsinghua-SIA/DAPO-Math-17k", "65877096c24ffa7abc4e4fa5edb95cf3413a5674",
        "data/dapo-math-17k.parquet",
        (
            Layout(
                "prompt.0.content", "reward_model.ground_truth",
                before="Solve the following math problem step by step. The last line of your response should "
                "be of the form Answer: $Answer (without quotes) where $Answer is the answer to the problem."
                "\n\n",
                after='\n\nRemember to put your answer on its own line after "Answer:".',
            ),
            Layout(
                "messages.0.content", "answer",
                before="Please solve the following math problem: ",
                after=". The assistant first thinks about the reasoning process step by step and then "
                "provides "
                "the user with the answer. Return the final answer in \\boxed{} tags, for example "
                "\\boxed{1}. Let's solve this step by step. ",
            ),
        ),
        (), "auto", "Apache-2.0", drops_repeats=True,
    ),
}  # fmt: skip
"""By the name that a study gives."""
