"""A truth file is refused as a study file is: at its place, in words, with the name that was meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.simulation.truth import load_truth, truth_schema
from prereg.problems import Problem, Refused
from prereg.source import load_study
from prereg.study import Study
from tests.harness.simulation.truths import arm, study, truth, write

ROOT = Path(__file__).parents[3]


def refusals(folder: Path, text: str) -> tuple[Problem, ...]:
    path = folder / "truth.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Refused) as refused:
        load_truth(path, Study.model_validate_json(json.dumps(study())))
    return refused.value.problems


@pytest.mark.parametrize(
    ("changes", "place", "message", "hint"),
    [
        ({"seedd": 1}, "seedd", "unknown key `seedd`", "Did you mean `seed`?"),
        ({"arms": {"grpo": arm(), "mcp": arm()}}, "arms.mcp", "no arm `mcp`", "Did you mean `mcpo`?"),
        ({"arms": {"grpo": arm()}}, "arms", "arm `mcpo` is missing", None),
        ({"arms": {"grpo": arm(), "mcpo": arm(gains={"hrd": 1})}}, "arms.mcpo.gains.hrd",
         "no benchmark `hrd`", "Did you mean `hard`?"),
        ({"benchmarks": {"easy": {"start": 1.0}, "hard": {"start": 0.1}}}, "benchmarks.easy.start",
         "expected less than 1", None),
        ({"arms": {"grpo": arm(failures={"crash": 2}), "mcpo": arm()}}, "arms.grpo.failures.crash",
         "expected at most 1", None),
        ({"arms": {"grpo": arm(rate="fast"), "mcpo": arm()}}, "arms.grpo.rate", "expected a number", None),
    ],
)  # fmt: skip
def test_every_fault_has_its_place(
    tmp_path: Path, changes: dict[str, Any], place: str, message: str, hint: str | None
) -> None:
    (problem,) = refusals(tmp_path, json.dumps(truth(**changes), indent=1))
    assert ".".join(map(str, problem.path)) == place
    assert message in problem.message
    assert problem.line is not None
    assert problem.line > 1
    if hint:
        assert problem.hint == hint


@pytest.mark.parametrize(
    "text", ["", "- 1\n", "arms: {grpo: *x}\n", "a: 1\na: 2\n", "\ttab: 1\n", "seed: .nan\n"]
)
def test_what_is_no_truth_is_refused_in_words(tmp_path: Path, text: str) -> None:
    assert refusals(tmp_path, text)


def test_a_missing_file_says_where_an_example_is(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        load_truth(tmp_path / "none.yaml", Study.model_validate_json(json.dumps(study())))
    assert refused.value.problems[0].hint == "docs/simulate.md has an example."


def test_the_example_fits_the_built_in_study() -> None:
    made = load_truth(
        ROOT / "studies/arithmetic.truth.yaml", load_study(ROOT / "studies/arithmetic.yaml").study
    )
    assert set(made.arms) == {"grpo", "mcpo", "grpo_2x_lr"}


def test_the_schema_explains_every_field() -> None:
    schema = json.loads(truth_schema())
    sections = [schema, *schema["$defs"].values()]
    fields = [field for section in sections for field in section.get("properties", {}).values()]
    assert len(fields) > 20
    assert all("description" in field for field in fields)


def test_a_truth_beside_a_study_is_not_taken_for_one(tmp_path: Path) -> None:
    from prereg.layout import find_study

    study_path, _ = write(tmp_path)
    assert find_study(tmp_path) == study_path
