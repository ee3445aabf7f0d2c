"""The readable plan, the editor's schema, and the study that `init` writes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prereg import checks
from prereg.contamination import find_matches
from prereg.schema import schema_text, study_schema
from prereg.show import render_plan
from prereg.source import load_study
from prereg.starter import Variant, starter_files
from tests.prereg.studies import loaded

ROOT = Path(__file__).parents[2]


def test_the_plan_says_who_is_compared_on_what_and_how() -> None:
    gate = (
        "    test: {kind: paired_t}",
        "    test: {kind: paired_t}\n    gate: second\n    metric: {kind: pass, k: 4}",
    )
    plan = render_plan(loaded(gate).study)
    for words in (
        "# A tiny study",
        "Study `tiny`, confirmatory, by A, B.",
        "Compared: `new` against `base`, on the model `m`.",
        "read at 10 updates",
        "read at 5,000 tokens",
        "pass@4",
        "avg@4/8",
        "paired t over training seeds (generalises to new seeds on these problems), 3 paired seeds",
        "Tested only if `second` is confirmed.",
        "`credit.kind`: `margin` instead of `uniform`",
        "`credit.high`: 0.8 instead of (not there)",
        "Runs: 2 arms x 1 model x 3 seeds = 6.",
        "10 generated problems of `arithmetic` easy (seed 0), 8 samples a problem",
        "`optimizer.learning_rate`: 1e-06",
    ):
        assert words in plan, words
    assert plan.count("instead of") == 4  # an arm shows what differs and nothing else
    assert "no difference" in plan


def test_the_plan_states_a_shifted_null_with_its_sign() -> None:
    exceed = "decision: exceeds_smallest_effect\n    smallest_effect: 2"
    less = loaded(("direction: greater\n", f"direction: less\n    {exceed}\n"))
    assert "the treatment is lower; the null is an effect of -2 percentage points" in render_plan(less.study)


def test_text_of_a_study_cannot_start_a_heading_or_a_line() -> None:
    text = ("title: A tiny study", 'title: "A\\n# CONFIRMED"')
    assert "\n# CONFIRMED" not in render_plan(loaded(text).study)


def test_every_field_of_the_study_has_a_place_in_the_schema() -> None:
    schema = study_schema()
    assert schema["$schema"].endswith("2020-12/schema")
    assert set(schema["required"]) >= {"id", "title", "models", "data", "arms", "seeds", "budget"}
    assert json.loads(schema_text()) == json.loads(json.dumps(schema))
    trainer = schema["$defs"]["Trainer"]["properties"]
    assert trainer["samples_per_prompt"]["minimum"] == 2
    assert "no baseline" in trainer["samples_per_prompt"]["description"]
    assert schema["$defs"]["Arm"]["properties"]["trainer"]["$ref"] == "#/$defs/Trainer"
    assert "reached" in schema["$defs"]["Budget"]["description"]
    described = [p for d in schema["$defs"].values() for p in d["properties"].values() if "description" in p]
    assert len(described) > 40


def resolve(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def fits(schema: dict[str, Any], node: dict[str, Any], value: Any) -> bool:
    """The part of JSON Schema that the study's schema uses for sections, lists and constants."""
    node = resolve(schema, node)
    if "anyOf" in node:
        return any(fits(schema, option, value) for option in node["anyOf"])
    if "const" in node:
        return bool(value == node["const"])
    if "enum" in node:
        return value in node["enum"]
    if isinstance(value, dict):
        known = node.get("properties", {})
        patterns = node.get("patternProperties", {})
        inner = next(iter(patterns.values()), node.get("additionalProperties", True))
        if patterns and not all(re.search(next(iter(patterns)), key) for key in value):
            return False
        if node.get("type") != "object" or not set(node.get("required", [])) <= set(value):
            return False
        if inner is False and not set(value) <= set(known):
            return False
        return all(
            fits(schema, known.get(key, inner if isinstance(inner, dict) else {}), v)
            for key, v in value.items()
        )
    if isinstance(value, list):
        return node.get("type") == "array" and all(fits(schema, node.get("items", {}), v) for v in value)
    return True


def test_the_schema_accepts_studies_and_an_arm_without_a_kind_and_refuses_unknown_keys() -> None:
    from prereg.yamltree import read_yaml

    schema = study_schema()
    text = (ROOT / "studies" / "arithmetic.yaml").read_text()
    data = read_yaml(text, "f").data
    assert fits(schema, schema, data)
    data["arms"]["mcpo"]["trainer"]["credit"] = {"low": 0.1}
    assert fits(schema, schema, data)
    data["arms"]["mcpo"]["trainer"]["credit"] = {"lo": 0.1}
    assert not fits(schema, schema, data)
    data["arms"]["mcpo"]["trainer"]["credit"] = {"kind": "margin"}
    data["arms"]["Bad Name"] = data["arms"].pop("mcpo")
    assert not fits(schema, schema, data)


def test_the_schema_asks_for_a_grader_where_the_source_brings_none() -> None:
    for name in ("Training", "Benchmark"):
        section = study_schema()["$defs"][name]
        assert section["required"] == ["source"]
        assert section["if"]["properties"]["source"]["properties"]["kind"]["const"] == "named"
        assert section["else"] == {"required": ["grader"]}


@pytest.mark.parametrize("variant", ["files", "builtin", "dense-rewards"])
def test_the_starter_can_be_locked_as_it_stands(tmp_path: Path, variant: Variant) -> None:
    for name, text in starter_files(variant).items():
        (tmp_path / name).write_text(text)
    study = load_study(tmp_path / "study.yaml")
    checks.check(study)
    schema = json.loads((tmp_path / "study.schema.json").read_text())
    from prereg.yamltree import read_yaml

    assert fits(schema, schema, read_yaml((tmp_path / "study.yaml").read_text(), "f").data)


def test_the_starter_s_problems_are_right_distinct_and_apart() -> None:
    files = starter_files("files")
    rows = {
        name: [json.loads(line) for line in files[name].splitlines()]
        for name in ("train.jsonl", "test.jsonl")
    }
    assert [len(found) for found in rows.values()] == [120, 24]
    for row in (*rows["train.jsonl"], *rows["test.jsonl"]):
        left, right = row["problem"].rstrip("=").split("-")
        one, two = left.split("+")
        assert row["answer"] == str(int(one) + int(two) - int(right))
    problems = {name: [row["problem"] for row in found] for name, found in rows.items()}
    assert len({*problems["train.jsonl"], *problems["test.jsonl"]}) == 144
    assert find_matches(problems["train.jsonl"], problems["test.jsonl"]) == ()


def test_every_field_that_the_starter_comments_on_exists(tmp_path: Path) -> None:
    """Uncommenting the offered lines gives a study that is still valid."""
    files = starter_files("files")
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    text = files["study.yaml"]
    for old, new in (
        ("# description: A", "description: A"),
        ("    # family: main  ", "    family: main  "),
        ("# families:\n#   main:", "families:\n  main:"),
        ("adapter: {kind: full}", "adapter: {kind: lora, rank: 16, alpha: 32}"),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "study.yaml").write_text(text)
    checks.check(load_study(tmp_path / "study.yaml"))


def test_reading_a_plan_loads_no_heavy_library() -> None:
    code = (
        "import sys, prereg.checks, prereg.difference, prereg.events, prereg.starter, prereg.show;"
        "import prereg.contamination;"
        "print(*sorted({'scipy', 'numpy', 'torch', 'harness', 'trainers', 'reports'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_an_arm_on_other_seeds_names_them() -> None:
    study = loaded(("base: {role: control}", "base: {role: control, seed_offset: 1000}")).study
    assert "`seed_offset`: trains on the seeds 1001, 1002, 1003" in render_plan(study)
