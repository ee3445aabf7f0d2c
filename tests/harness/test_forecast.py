"""Costs and memory on a GPU that is not here, against numbers worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from harness.builtin import ARITHMETIC_110K
from harness.devices import DEVICES, device_named
from harness.forecast import Assumptions, forecast
from harness.memory import MODELS, Training, cache_tokens, need_of, page
from harness.shapes import Shape, shape_of_folder, shape_of_plan
from prereg.problems import Refused
from prereg.source import load_study
from tests.e2e.cli import harness
from tests.harness.studies import loaded, write_study

TOY = Shape(2, 64, 4, 2, 16, 128, 1000, True)
"""By hand, a block: q 64x64, k and v 64x32, o 64x64, gate, up and down 64x128: 36,864 weights."""


def test_weights_of_a_shape_by_hand() -> None:
    assert TOY.linear_weights == 2 * (64 * 64 + 2 * 64 * 32 + 64 * 64 + 3 * 64 * 128) == 2 * 36_864
    assert TOY.weights == 2 * 36_864 + 64_000
    assert TOY.cache_values_a_token == 2 * 2 * 2 * 16
    assert TOY.adapter_weights(4, ("q_proj", "down_proj")) == 2 * 4 * ((64 + 64) + (128 + 64))


@pytest.mark.parametrize(
    ("name", "parameters"), [("Qwen3-0.6B", 0.596e9), ("Qwen2.5-1.5B", 1.54e9), ("Qwen3-4B", 4.02e9)]
)
def test_published_shapes_have_their_published_sizes(name: str, parameters: float) -> None:
    assert MODELS[name].weights == pytest.approx(parameters, rel=0.01)


def test_the_shape_of_the_built_in_model() -> None:
    from safetensors.numpy import load_file

    weights = load_file(str(next(ARITHMETIC_110K.glob("*.safetensors"))))
    assert shape_of_folder(ARITHMETIC_110K).weights == sum(w.size for w in weights.values() if w.ndim == 2)


def test_decoding_is_bound_by_memory_and_training_by_arithmetic(tmp_path: Path) -> None:
    """Ten updates of 16 answers of 24 tokens, decoded 512 at a time, one evaluation of nothing else."""
    study = loaded(
        tmp_path, budget={"updates": 10}, evaluation={"pass_k": [1]}, hypotheses=[], kind="pilot"
    ).study
    device = device_named("h100-80gb")
    assumed = Assumptions(0.5, 100, 0.5, 0.5, 0.5, 2.0)
    found = forecast(study, "grpo", "small", TOY, {"easy": 5, "hard": 5}, device, assumed)
    tokens = 16 * 24
    assert found.generated_tokens == 10 * tokens
    a_step = 4 * (TOY.linear_weights + 64_000 + 512 * 128 * (100 + 12)) / (3.35e12 * 0.5)
    positions = 124 * 125 / 2
    one_way = 2 * TOY.linear_weights * 16 * 124 + 4 * 2 * 64 * 16 * positions + 2 * 64_000 * tokens
    expected = tokens / 512 * a_step + 16 * 2 * TOY.weights * 100 / (989e12 * 0.5) + 2.0
    expected += 3 * one_way / (989e12 * 0.5)
    assert found.train_hours == pytest.approx(10 * expected / 3600, rel=1e-9)


def test_a_run_goes_on_until_its_last_budget(tmp_path: Path) -> None:
    study = loaded(tmp_path, budget={"updates": 10, "generated_tokens": 10_000}).study
    found = forecast(
        study, "grpo", "small", TOY, {"easy": 5, "hard": 5}, DEVICES["h200"], Assumptions(length_share=0.5)
    )
    assert found.updates == math.ceil(10_000 / (16 * 24)) == 27
    assert found.evaluations == 1 + 2 + 27 // 4  # the grid of every fourth update goes on past the tenth


def test_memory_by_hand() -> None:
    need = need_of(TOY, Training(rank=4, checkpointing=False, micro_batch_tokens=10, logits_chunk=5))
    assert need.weights == 2 * 137_728
    adapter = 2 * 4 * (2 * (64 + 64) + 2 * (64 + 32) + 3 * (64 + 128))
    assert need.optimizer == 20 * adapter
    assert need.activations == 2 * 10 * (2 * (6 * 64 + 2 * 64 + 4 * 32 + 4 * 128) + 8 * 64)
    assert need.logits == 12 * 5 * 1000
    left = 1e6 * 0.92 - need.weights - need.optimizer - need.weights
    assert cache_tokens(TOY, need, 1e6) == int(left // 256)


def test_a_smaller_micro_batch_and_checkpointing_save_activations() -> None:
    shape = MODELS["Qwen3-4B"]
    plain = need_of(shape, Training(16, False))
    assert need_of(shape, Training(16, False, micro_batch_tokens=8192)).activations == plain.activations / 2
    assert need_of(shape, Training(16, True)).activations < plain.activations / 10


def test_the_shape_of_the_main_studys_model_is_the_one_that_it_plans_with() -> None:
    """32 x (2 x 2048^2 + 2 x 2048 x 512 + 3 x 2048 x 8192) + 2 x 151,936 x 2048 = 2.57e9 weights."""
    planned = load_study(Path("studies/mcpo.yaml")).study.models["base"].planned_shape
    assert planned is not None
    assert MODELS["MiniCPM5-2B*"] == shape_of_plan(planned)
    assert MODELS["MiniCPM5-2B*"].weights == 1_946_157_056 + 622_329_856


def test_the_page_is_current() -> None:
    assert Path("docs/memory.md").read_text(encoding="utf-8") == page()


def test_the_command_prints_hours_and_what_it_assumed(tmp_path: Path) -> None:
    write_study(tmp_path)
    called = harness("plan", "study.yaml", "--device", "h100-80gb", folder=tmp_path)
    assert called.code == 0, called.err
    printed = called.out
    assert "computed for one h100-80gb" in printed
    assert "GPU-hours" in printed
    assert "assumed, and not measured" in printed


def test_an_unknown_device_is_refused_with_the_nearest() -> None:
    with pytest.raises(Refused, match=r"no device named 'h100'"):
        device_named("h100")


def test_a_model_that_is_not_at_hand_needs_a_planned_shape(tmp_path: Path) -> None:
    from harness.shapes import shape_of_model

    gone = {"source": {"kind": "local", "path": "gone"}}
    with pytest.raises(Refused, match="planned_shape"):
        shape_of_model(loaded(tmp_path, models={"small": gone}), "small")
    stated = {
        "layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "head_dim": 16, "intermediate": 128,
        "vocabulary": 1000, "tied": True,
    }  # fmt: skip
    with_shape = loaded(tmp_path, models={"small": gone | {"planned_shape": stated}})
    assert shape_of_model(with_shape, "small") == TOY


def test_a_model_of_code_is_refused_unless_the_study_allows_it(tmp_path: Path) -> None:
    import shutil

    from harness.modelcheck import model_problems

    folder = tmp_path / "model"
    shutil.copytree(ARITHMETIC_110K, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "homemade", "auto_map": {"AutoModelForCausalLM": "modeling.Homemade"}}
    (folder / "config.json").write_text(json.dumps(config))
    model = {"source": {"kind": "local", "path": "model"}}
    refused = list(model_problems(loaded(tmp_path, models={"small": model}), "small", folder, []))
    assert ["Python code" in problem.message for problem in refused] == [True]
    allowed = loaded(tmp_path, models={"small": model | {"remote_code": True}})
    assert list(model_problems(allowed, "small", folder, [])) == []


def test_continuations_are_part_of_the_forecast(tmp_path: Path) -> None:
    """K (S + 1) / 2 of them for each rollout token, and K (S - 1) / 2 where the root's value is free."""
    reward = {"kind": "mc_advantage", "boundaries": {"kind": "uniform", "steps": 8}}
    estimator = {"kind": "continuations", "count": 2}
    found = {}
    for root in ("leave_one_out", "continuations"):
        arm = {"role": "control", "trainer": {"reward": reward | {"estimator": estimator | {"root": root}}}}
        study = loaded(tmp_path, arms={"mc": arm}, hypotheses=[], kind="pilot", budget={"updates": 1}).study
        found[root] = forecast(
            study, "mc", "small", TOY, {"easy": 5, "hard": 5}, DEVICES["h200"], Assumptions()
        )
    assert found["leave_one_out"].generated_tokens == 16 * 24 * (1 + 7)
    assert found["continuations"].generated_tokens == 16 * 24 * (1 + 9)
