"""A model that cannot serve a study is refused at the lock, from its files alone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.builtin import ARITHMETIC_110K
from harness.modelcheck import model_problems
from prereg.problems import Problem
from tests.harness.studies import loaded, tiny


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ARITHMETIC_110K, tmp_path / "model")
    return tmp_path / "model"


def problems(folder: Path, prompts: list[tuple[str, int]] | None = None, **changes: Any) -> list[Problem]:
    study = loaded(folder.parent, **changes)
    return list(model_problems(study, "small", folder, prompts or [("1+1=", 48)]))


def test_the_built_in_model_serves(folder: Path) -> None:
    assert problems(folder) == []


def test_no_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    assert "no tokenizer" in problems(folder)[0].message


def test_cut_weights(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    found = problems(folder)[0]
    assert "model.safetensors" in found.message
    assert found.line is not None


def test_lora_targets_that_are_not_there_are_named_at_their_arm(folder: Path) -> None:
    adapter = {"kind": "lora", "rank": 2, "alpha": 4.0, "targets": ["q_proj", "nope_proj"]}
    arms = tiny()["arms"] | {"mcpo": {"role": "treatment", "trainer": {"adapter": adapter}}}
    (found,) = problems(folder, arms=arms)
    assert "nope_proj" in found.message
    assert "q_proj" not in found.message
    assert found.path[:2] == ("arms", "mcpo")
    assert found.hint is not None
    assert "up_proj" in found.hint


def test_a_prompt_past_the_models_positions(folder: Path) -> None:
    assert problems(folder, [("1" * 80, 48)]) == []  # 128 positions, just enough
    (found,) = problems(folder, [("1+1=", 48), ("1" * 81, 48)])
    assert "81 tokens" in found.message
    assert "128 positions" in found.message
