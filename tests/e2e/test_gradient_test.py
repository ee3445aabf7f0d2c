"""`harness gradient-test`, then training, then the report that shows both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.cli import harness
from tests.harness.studies import tiny, write_study

ARMS = {
    "grpo": {"role": "control"},
    "mcpo": {"role": "treatment", "trainer": {"credit": {"kind": "margin"}}},
    "placebo": {"role": "placebo", "trainer": {"credit": {"kind": "shuffled"}}},
    "dense": {
        "role": "treatment",
        "trainer": {"reward": {"kind": "mc_value_hard", "boundaries": {"kind": "uniform", "steps": 2}}},
    },
    "fast": {"role": "treatment", "trainer": {"optimizer": {"learning_rate": 2e-3}}},
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gradient")
    write_study(folder, arms=ARMS, budget=tiny()["budget"] | {"updates": 4, "generated_tokens": 1000})
    return folder


def test_predictions_are_stored_before_training_and_shown_beside_it(study: Path) -> None:
    assert harness("prereg", "lock", folder=study).code == 0
    few = ("--prompts", "16", "--direction-prompts", "32")
    made = harness("gradient-test", *few, "--json", folder=study)
    assert made.code == 0, made.err
    test = made.json()
    assert test["runs_begun"] == 0
    assert test["left_out"] == {"fast": "its signal is that of grpo"}
    rows = test["candidates"]
    assert set(rows) == {"grpo", "mcpo", "placebo", "dense"}
    assert rows["grpo"]["versus_uniform"]["estimate"] == 0
    assert rows["dense"]["generated_tokens"] > rows["grpo"]["generated_tokens"], "continuations are paid for"
    assert rows["mcpo"]["generated_tokens"] == rows["grpo"]["generated_tokens"]
    check = test["finite_difference"]
    assert check["approximate"] == pytest.approx(check["exact"], rel=0.02, abs=1e-4)
    assert rows["grpo"]["permuted_less_uniform"] == {"mean": 0, "low": 0, "high": 0}
    assert rows["grpo"]["negative_control"] == pytest.approx(-rows["grpo"]["gain"], rel=0.2)
    assert any("mostly noise" in one for one in test["warnings"]) == (test["noise_floor"] < 1 / 3)
    events = [json.loads(line) for line in (study / "study.events.jsonl").read_text().splitlines()]
    assert [event["kind"] for event in events] == ["lock", "prediction"]

    assert harness("run", folder=study).code == 0
    late = harness("gradient-test", *few, "--checkpoint", "updates", folder=study)
    assert late.code == 0, late.err
    assert "10 runs of the study begun" in late.err
    assert harness("report", folder=study).code == 0
    page = (study / "study.report" / "report.html").read_text()
    assert "Predicted by the gradient test, and realised" in page
    assert "before any run of the study had begun" in page
    assert "10 runs had begun: not a prediction made before training" in page


def test_what_cannot_be_tested_is_said(study: Path) -> None:
    unknown = harness("gradient-test", "--arm", "grop", folder=study)
    assert unknown.code == 3
    assert "Did you mean `grpo`?" in unknown.err
    many = harness("gradient-test", "--prompts", "64", folder=study)
    assert many.code == 3
    assert "192 prompts are asked for" in many.err
    several = harness("gradient-test", "--model", "x", "--prompts", "0", "--checkpoint", "foo", folder=study)
    assert several.code == 3
    assert "Traceback" not in several.err
    assert "Valid here: `small`" in several.err
    assert "--prompts: 0 is too few" in several.err
    assert "`start`, `updates`, `generated_tokens`" in several.err
    none = harness("gradient-test", "--checkpoint", "train_flops", "--prompts", "8",
                   "--direction-prompts", "16", folder=study)  # fmt: skip
    assert none.code == 3
    assert "no checkpoint `train_flops`" in none.err


def test_weights_that_were_not_kept_and_a_damaged_file_of_predictions_are_named(tmp_path: Path) -> None:
    write_study(tmp_path)
    few = ("--exploratory", "--prompts", "4", "--direction-prompts", "16")
    none = harness("gradient-test", *few, "--checkpoint", "updates", folder=tmp_path)
    assert none.code == 3
    assert "kept no weights at a budget in updates" in none.err
    (tmp_path / "study.gradient.json").write_text("{")
    refused = harness("gradient-test", *few, folder=tmp_path)
    assert refused.code == 3
    assert "study.gradient.json" in refused.err
