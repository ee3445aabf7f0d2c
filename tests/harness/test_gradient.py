"""What a gradient test can be asked, which arms it scores, and what it says against its own numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.gradient import Asked, candidates_of, check_asked
from harness.gradientfile import permuted_less_uniform, warnings_of
from prereg.problems import Refused
from prereg.study import Study
from tests.harness.studies import tiny

LOO = {"advantage": {"baseline": "leave_one_out", "scale": "none"}}
ARMS: dict[str, Any] = {
    "grpo": {"role": "control"},
    "mcpo": {"role": "treatment", "trainer": {"credit": {"kind": "margin"}}},
    "loo": {"role": "treatment", "trainer": LOO},
    "margin-loo": {"role": "treatment", "trainer": LOO | {"credit": {"kind": "margin"}}},
    "loo-fast": {"role": "treatment", "trainer": LOO | {"optimizer": {"learning_rate": 2e-3}}},
    "long": {"role": "treatment", "trainer": {"max_new_tokens": 32, "credit": {"kind": "entropy"}}},
}


def study() -> Study:
    return Study.model_validate_json(json.dumps(tiny(arms=ARMS)))


def test_an_arm_of_another_advantage_has_a_signal_of_its_own() -> None:
    chosen, left = candidates_of(study(), "grpo")
    assert list(chosen) == ["grpo", "mcpo", "loo", "margin-loo"]
    assert left == {"loo-fast": "its signal is that of loo", "long": "it samples otherwise than grpo"}


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"arm": "grop"}, "--arm: the study has no arm `grop`", "Did you mean `grpo`"),
        ({"model": "x"}, "--model: the study has no model `x`", "Valid here: `small`"),
        ({"seed": 9}, "--seed: the study has no seed `9`", "`1`, `2`"),
        ({"checkpoint": "foo"}, "no checkpoint `foo`", "`start`, `updates`, `generated_tokens`"),
        ({"prompts": 0}, "--prompts: 0 is too few", "2 or more"),
        ({"prompts": -4}, "--prompts: -4 is too few", "2 or more"),
        ({"direction_prompts": 1}, "--direction-prompts: 1 is too few", "each half"),
    ],
)
def test_what_the_study_lacks_is_refused_with_what_it_has(
    changes: dict[str, Any], message: str, hint: str
) -> None:
    asked: dict[str, Any] = {"arm": "grpo", "model": "small", "seed": 1}
    check_asked(study(), Asked(**asked))
    with pytest.raises(Refused) as refused:
        check_asked(study(), Asked(**(asked | changes)))
    (problem,) = refused.value.problems
    assert message in problem.message
    assert hint in str(problem.hint)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(Refused) as refused:
        check_asked(study(), Asked("grpo", "x", 1, checkpoint="foo", prompts=0))
    assert len(refused.value.problems) == 3


def row(gain: float, halves: list[float], negative: float) -> dict[str, Any]:
    return {"gain": gain, "gain_by_half": halves, "negative_control": negative}


def made(floor: float, **candidates: dict[str, Any]) -> dict[str, Any]:
    return {"noise_floor": floor, "uniform_gain_by_half": [1.0, 1.2], "candidates": candidates}


def test_a_sound_test_is_shown_without_a_warning() -> None:
    sound = made(0.5, grpo=row(1.1, [1.0, 1.2], -1.1), mcpo=row(2.1, [2.0, 2.3], -2.0))
    assert warnings_of(sound) == ()


def test_a_noise_floor_wider_than_the_gains_is_said() -> None:
    (direction,) = warnings_of(made(0.1, grpo=row(1.1, [1.0, 1.2], -1.1)))
    assert "cos(v1, v2) = 0.100" in direction
    # Less uniform's: 0.2 and 0.6, which differ by 0.4 and are 0.4 on average; then 0.2 and 0.7.
    assert warnings_of(made(0.5, mcpo=row(1.5, [1.25, 1.75], -1.5))) == ()
    (wide,) = warnings_of(made(0.5, grpo=row(1.1, [1.0, 1.2], -1.1), mcpo=row(1.5, [1.2, 1.9], -1.5)))
    assert "mcpo" in wide
    assert "grpo" not in wide
    # Uniform credit's own difference is 0 in both halves: its gain is what is looked at.
    (own,) = warnings_of(made(0.5, grpo=row(1.1, [0.2, 2.0], -1.1)) | {"uniform_gain_by_half": [0.2, 2.0]})
    assert "grpo" in own


def test_a_negative_control_that_gains_is_said() -> None:
    (failed,) = warnings_of(made(0.5, grpo=row(1.1, [1.0, 1.2], 0.3)))
    assert "negative control failed" in failed
    assert "grpo" in failed


def test_a_placebo_stored_by_an_earlier_version_is_read_less_uniforms_gain() -> None:
    old = {
        "gain": 3.0,
        "versus_uniform": {"estimate": 2.0},
        "placebo": {"mean": 1.5, "low": 1.0, "high": 2.0},
    }
    assert permuted_less_uniform(old) == {"mean": 0.5, "low": 0.0, "high": 1.0}
