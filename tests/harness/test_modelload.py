"""A damaged model is refused at the lock and again at loading: never trained with weights made up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from harness.builtin import ARITHMETIC_110K
from harness.cells import cells_of
from harness.modelload import loading_problems
from harness.preparing import prepare_cell
from prereg.problems import Problem, Refused
from prereg.trainer import FullAdapter
from tests.e2e.cli import Called, harness
from tests.harness.studies import loaded, write_study
from trainers.policy import Policy
from trainers.whole_weights import DamagedWeights

QUERY = "model.layers.1.self_attn.q_proj.weight"
NORM = "model.norm.weight"
LOCAL = {"source": {"kind": "local", "path": "model"}}

Weights = dict[str, torch.Tensor]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ARITHMETIC_110K, tmp_path / "model")
    return tmp_path / "model"


def rewrite(folder: Path, change: Callable[[Weights], Weights]) -> None:
    file = folder / "model.safetensors"
    save_file(change(load_file(file)), file, metadata={"format": "pt"})


def edit(file: Path, **changes: Any) -> None:
    content = json.loads(file.read_text(encoding="utf-8")) | changes
    file.write_text(json.dumps(content), encoding="utf-8")


def problems(folder: Path, **model: Any) -> list[Problem]:
    study = loaded(folder.parent, models={"small": LOCAL | model})
    return list(loading_problems(study, "small", folder, [("1+1=", 48)]))


def load(folder: Path) -> Policy:
    return Policy.load(
        folder, dtype="float32", adapter=FullAdapter(kind="full"), device=torch.device("cpu"), seed=1
    )


def without_query(weights: Weights) -> Weights:
    return {name: one for name, one in weights.items() if name != QUERY}


def nothing_but_x(weights: Weights) -> Weights:
    return {"x": torch.zeros(1)}


def cut_query(weights: Weights) -> Weights:
    return weights | {QUERY: weights[QUERY][:32].clone()}


def with_nan(weights: Weights) -> Weights:
    weights[NORM][3] = float("nan")
    return weights


def with_infinity(weights: Weights) -> Weights:
    weights[QUERY][5, 7] = float("-inf")
    return weights


DAMAGE = [
    (without_query, f"lack {QUERY}"),
    # 20 weights and the output layer that is tied to one of them; three are named.
    (nothing_but_x, "lack lm_head.weight, model.embed_tokens.weight, "),
    (cut_query, f"{QUERY} has the shape (32, 64), but the config makes it (64, 64)"),
    (with_nan, f"NaN or infinite values in {NORM}"),
    (with_infinity, f"NaN or infinite values in {QUERY}"),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGE)
def test_damaged_weights_at_the_lock_and_at_loading(
    folder: Path, damage: Callable[[Weights], Weights], words: str
) -> None:
    rewrite(folder, damage)
    (found,) = problems(folder)
    assert words in found.message
    assert found.path == ("models", "small")
    assert found.line is not None
    assert found.hint is not None
    with pytest.raises(DamagedWeights) as raised:
        load(folder)
    assert words in str(raised.value)


def test_tied_and_superfluous_weights_are_no_damage(folder: Path) -> None:
    """The output layer is the embedding and is not stored; a head for another task is not looked at."""
    assert "lm_head.weight" not in load_file(folder / "model.safetensors")
    rewrite(folder, lambda weights: weights | {"score.weight": torch.zeros(2, 64)})
    assert problems(folder) == []
    load(folder)


def test_an_output_layer_that_is_not_tied_must_be_there(folder: Path) -> None:
    edit(folder / "config.json", tie_word_embeddings=False)
    (found,) = problems(folder)
    assert "lack lm_head.weight" in found.message
    with pytest.raises(DamagedWeights, match=r"lack lm_head\.weight"):
        load(folder)


def test_weights_under_the_names_of_the_bare_model_are_found(folder: Path) -> None:
    """A checkpoint of the model without its head leaves the prefix out, and loads all the same."""
    rewrite(folder, lambda weights: {name.removeprefix("model."): one for name, one in weights.items()})
    assert problems(folder) == []
    load(folder)


def test_a_shard_that_the_index_names_is_not_there(folder: Path) -> None:
    shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    names = sorted(load_file(folder / "model.safetensors"))
    (folder / "model.safetensors").rename(folder / shards[0])
    index = {"metadata": {}, "weight_map": {name: shards[name == NORM] for name in names}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    (found,) = problems(folder)
    assert shards[1] in found.message
    assert shards[0] not in found.message
    whole = load_file(folder / shards[0])
    save_file({NORM: whole.pop(NORM)}, folder / shards[1], metadata={"format": "pt"})
    save_file(whole, folder / shards[0], metadata={"format": "pt"})
    assert problems(folder) == []
    save_file({"x": torch.zeros(1)}, folder / shards[1], metadata={"format": "pt"})
    (found,) = problems(folder)
    assert f"lack {NORM}" in found.message


def test_a_config_of_another_vocabulary(folder: Path) -> None:
    edit(folder / "config.json", vocab_size=30)
    (found,) = problems(folder)
    assert (
        "model.embed_tokens.weight has the shape (17, 64), but the config makes it (30, 64)" in found.message
    )


def test_tokens_beyond_the_embedding(folder: Path) -> None:
    """The tokenizer has 17 tokens, ids 0 to 16; an embedding of 12 rows ends at 11."""
    edit(folder / "config.json", vocab_size=12)
    rewrite(folder, lambda weights: {n: w[:12].clone() if "embed" in n else w for n, w in weights.items()})
    (found,) = problems(folder)
    assert "knows 5 tokens" in found.message
    assert "go up to 16" in found.message
    assert "ends at 11" in found.message


def test_a_chat_template_that_is_not_there(folder: Path) -> None:
    (found,) = problems(folder, chat_template=True)
    assert "no chat template" in found.message
    assert found.path == ("models", "small", "chat_template")
    template = "{% for m in messages %}{{ m.content }}{% endfor %}="
    edit(folder / "tokenizer_config.json", chat_template=template)
    assert problems(folder, chat_template=True) == []
    edit(folder / "tokenizer_config.json", chat_template="{{ raise_exception('only in pairs') }}")
    (found,) = problems(folder, chat_template=True)
    assert "only in pairs" in found.message


def test_a_prompt_past_the_positions_by_its_chat_template(folder: Path) -> None:
    """128 positions, 48 of them for the answer: 80 tokens fit, and the template doubles the problem."""
    template = "{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}"
    edit(folder / "tokenizer_config.json", chat_template=template)
    study = loaded(folder.parent, models={"small": LOCAL | {"chat_template": True}})
    assert list(loading_problems(study, "small", folder, [("1" * 40, 48)])) == []
    (found,) = loading_problems(study, "small", folder, [("1" * 41, 48)])
    assert "82 tokens" in found.message
    assert found.hint is not None
    assert "max_characters" in found.hint


def of_code(folder: Path) -> None:
    changes = {"tokenizer_class": "Homemade", "auto_map": {"AutoTokenizer": ["tok.Homemade", None]}}
    edit(folder / "tokenizer_config.json", **changes)
    (folder / "tok.py").write_text("class Homemade: pass\n", encoding="utf-8")


def test_a_tokenizer_of_code_and_one_that_is_damaged(folder: Path) -> None:
    of_code(folder)
    (found,) = problems(folder)
    assert "the tokenizer is defined by Python code" in found.message
    assert found.hint is not None
    assert "remote_code: true" in found.hint
    shutil.copy(ARITHMETIC_110K / "tokenizer_config.json", folder)
    (folder / "tokenizer.json").write_text('{"version"', encoding="utf-8")
    (found,) = problems(folder)
    assert "tokenizer cannot be loaded" in found.message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "nonesuch"}, "nonesuch"),
        ({"num_attention_heads": 7}, "cannot be loaded"),
        ({"hidden_act": "nonesuch"}, "cannot be loaded"),
    ],
)
def test_a_config_that_the_library_refuses(folder: Path, changes: dict[str, Any], words: str) -> None:
    edit(folder / "config.json", **changes)
    (found,) = problems(folder)
    assert words in found.message


def refused(called: Called, *words: str) -> None:
    assert called.code != 0
    assert "Traceback" not in called.err
    assert "internal error" not in called.err
    for word in words:
        assert word in called.err, called.err


def test_neither_locked_nor_run(folder: Path) -> None:
    """The lock names the line; a run apart from any lock says the same, and trains nothing."""
    pilot = {"data_status": {"seen": "pilot_runs", "pilot_seeds": [7]}}
    write_study(folder.parent, models={"small": LOCAL}, **pilot)
    rewrite(folder, without_query)
    refused(harness("prereg", "lock", folder=folder.parent), "study.yaml:", "models.small", QUERY)
    assert not (folder.parent / "study.lock.json").exists()
    apart = ("run", "--exploratory", "--only", "arm=grpo")
    refused(harness(*apart, folder=folder.parent), QUERY, "save_pretrained")
    assert not list(folder.parent.glob("study.exploratory/*/*.parquet"))


def test_a_run_refuses_what_it_cannot_write_prompts_with(folder: Path) -> None:
    """The same, where no lock looked: with what to do, and as no error of the harness's own."""
    chat = loaded(folder.parent, models={"small": LOCAL | {"chat_template": True}}).study
    with ExitStack() as stack, pytest.raises(Refused, match="no chat template"):
        prepare_cell(chat, folder.parent, cells_of(chat)[0], stack)
    plain = loaded(folder.parent, models={"small": LOCAL}).study
    edit(folder / "config.json", vocab_size=12)
    rewrite(folder, lambda weights: {n: w[:12].clone() if "embed" in n else w for n, w in weights.items()})
    with ExitStack() as stack, pytest.raises(Refused, match="embedding ends at 11"):
        prepare_cell(plain, folder.parent, cells_of(plain)[0], stack)
    of_code(folder)
    with ExitStack() as stack, pytest.raises(Refused, match="tokenizer is defined by Python code"):
        prepare_cell(plain, folder.parent, cells_of(plain)[0], stack)
