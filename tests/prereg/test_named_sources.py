"""Sources on the Hub and by name in a study file: what they bring, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from prereg.problems import Refused
from prereg.show import render_plan
from prereg.source import parse_study
from prereg.sources import MathGrader, NamedTask
from prereg.study import Study
from tests.prereg.studies import STUDY

OLD = """\
      source: {kind: builtin, name: arithmetic, split: hard, size: 10}
      grader: {kind: exact}
"""


def study(source: str, grader: str = "") -> str:
    assert OLD in STUDY
    return STUDY.replace(OLD, f"      source: {source}\n" + (f"      grader: {grader}\n" if grader else ""))


def parse(text: str) -> Study:
    return parse_study(text.encode(), Path("somewhere/study.yaml")).study


def test_a_named_set_brings_its_grader_and_takes_another() -> None:
    loaded = parse(study("{kind: named, name: aime24}"))
    hard = loaded.data.benchmarks["hard"]
    assert isinstance(hard.source, NamedTask)
    assert hard.grader == MathGrader(kind="math", answer_type="integer")
    assert "AIME 2024 (HuggingFaceH4/aime_2024 at 2fe88a2f" in render_plan(loaded)
    other = parse(study("{kind: named, name: aime24, path: a.jsonl}", "{kind: exact, marker: '='}"))
    assert other.data.benchmarks["hard"].grader.kind == "exact"


@pytest.mark.parametrize(
    ("source", "grader", "message"),
    [
        ("{kind: named, name: aime23}", "", "aime23"),
        ("{kind: hub, id: a/b, revision: main}", "{kind: math}", "revision"),
        ("{kind: hub, id: a, revision: " + "0" * 40 + "}", "{kind: math}", "id"),
        ("{kind: hub, id: a/b, revision: " + "0" * 40 + "}", "", "grader"),
        ("{kind: named, name: aime24, path: ../a.jsonl}", "", "leaves the study's folder"),
        ("{kind: named, name: aime24, path: /a.jsonl}", "", "not relative"),
        ("{kind: named, name: aime24, column: x}", "", "column"),
        ("{kind: named, name: aime24}", "{kind: math, answer_type: numeral}", "numeral"),
    ],
)
def test_what_is_refused(source: str, grader: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        parse(study(source, grader))
