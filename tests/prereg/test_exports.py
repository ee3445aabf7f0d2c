"""Exports hold what the plan says, answer every question, and an RO-Crate is one by its own rules."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prereg.exports import aspredicted, osf, rocrate
from prereg.exports.answers import Answer, as_json, as_markdown
from prereg.exports.rocrate import CrateFile
from tests.prereg.stopping_refusals import looks
from tests.prereg.studies import loaded
from tests.prereg.test_lock import lock_of

OSF_QUESTIONS = [
    "Title",
    "Authors",
    "Description",
    "Hypotheses",
    "Study type",
    "Blinding",
    "Is there any additional blinding in this study?",
    "Study design",
    "Randomization",
    "Existing data",
    "Explanation of existing data",
    "Data collection procedures",
    "Sample size",
    "Sample size rationale",
    "Stopping rule",
    "Manipulated variables",
    "Measured variables",
    "Indices",
    "Statistical models",
    "Transformations",
    "Inference criteria",
    "Data exclusion",
    "Missing data",
    "Exploratory analysis",
    "Other",
]


def answer(answers: tuple[Answer, ...], question: str) -> str:
    (found,) = (one.answer for one in answers if one.question.split(")")[0] == question)
    return found


def test_every_question_of_osf_has_an_answer() -> None:
    study = loaded()
    lock = lock_of(study)
    answers = osf.answers(study.study, lock)
    assert [one.question for one in answers] == OSF_QUESTIONS
    assert all(one.answer.strip() for one in answers)
    assert "New beats base." in answer(answers, "Hypotheses")
    assert "6 runs: 2 arms x 1 model x 3 training seeds (1, 2, 3)" in answer(answers, "Sample size")
    assert "paired t" in answer(answers, "Statistical models")
    assert "first: alpha 0.05, one-sided, greater" in answer(answers, "Inference criteria")
    assert lock.sha256 in answer(answers, "Other")
    assert "draft" in answer(osf.answers(study.study, None), "Other")


@pytest.mark.parametrize(
    ("seen", "existing", "collected"),
    [
        ("nothing", "Registration prior to creation of data", "No, no data"),
        ("some_results", "Registration prior to analysis of the data", "It's complicated"),
        ("all_results", "Registration following analysis of the data", "Yes"),
    ],
)
def test_what_was_seen_is_not_glossed_over(seen: str, existing: str, collected: str) -> None:
    study = loaded(("seen: nothing", f"seen: {seen}")).study
    assert answer(osf.answers(study, None), "Existing data") == existing
    assert answer(aspredicted.answers(study, None), "1").startswith(collected)


def test_aspredicted_has_ten_questions() -> None:
    answers = aspredicted.answers(loaded().study, None)
    assert [one.question.split(")")[0] for one in answers] == [str(n) for n in range(1, 11)]
    assert "fixed" in answer(answers, "7")


def test_registries_are_told_of_planned_looks() -> None:
    study = loaded(*looks((3, 0.2), (5, 0.8))).study
    rule = answer(osf.answers(study, None), "Stopping rule")
    assert "look 1 after 3 seeds at 20 % of alpha, look 2 after 5 seeds at 80 % of alpha" in rule
    assert "number of runs is fixed" not in rule
    assert "number of runs is fixed" in answer(osf.answers(loaded().study, None), "Stopping rule")
    assert "look 1 after 3 seeds" in answer(aspredicted.answers(study, None), "7")


def test_markdown_and_json_hold_the_same() -> None:
    answers = osf.answers(loaded().study, None)
    page, document = as_markdown("T", answers), json.loads(as_json("OSF", answers))
    assert [one["question"] for one in document["answers"]] == OSF_QUESTIONS
    for one in document["answers"]:
        assert f"### {one['question']}\n\n{one['answer']}\n" in page


def test_a_crate_follows_the_rules_of_ro_crate() -> None:
    files = [
        CrateFile("study.yaml", "The study file", "application/yaml", 10, "a" * 64),
        CrateFile("study.runs/a b/ü#.log", "A log", "text/plain", 3, "b" * 64),
    ]
    lock = lock_of(loaded())
    document = json.loads(rocrate.crate(loaded().study, lock, files, "0.1.0", "2026-01-31"))
    entities: dict[str, dict[str, Any]] = {entity["@id"]: entity for entity in document["@graph"]}
    assert len(entities) == len(document["@graph"])
    descriptor = entities["ro-crate-metadata.json"]
    assert descriptor["@type"] == "CreativeWork"
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = entities[descriptor["about"]["@id"]]
    assert root["@type"] == "Dataset"
    assert {"name", "description", "datePublished", "license"} <= root.keys()
    assert root["identifier"] == lock.sha256
    assert [part["@id"] for part in root["hasPart"]] == ["study.yaml", "study.runs/a%20b/%C3%BC%23.log"]
    for part in root["hasPart"]:
        assert entities[part["@id"]]["@type"] == "File"
    assert entities["study.yaml"]["sha256"] == "a" * 64

    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            return {value["@id"]} if set(value) == {"@id"} else set().union(*map(references, value.values()))
        return set().union(*map(references, value)) if isinstance(value, list) else set()

    inside = {r for r in references(document["@graph"]) if not r.startswith("https://")}
    assert inside <= entities.keys()
