"""The lean decoder gives the logits of the model's own code, or is not used."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3Config,
)

from prereg.trainer import LoraAdapter
from tests.trainers.conftest import load_policy
from trainers.engines.transformers import _lean_decoder, _prefill, _Reader
from trainers.policy import Policy
from trainers.types import Request

SHAPE: dict[str, Any] = {
    "vocab_size": 40, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64,
}  # fmt: skip


def random_policy(config: PreTrainedConfig) -> Policy:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))  # norms and biases too
    return Policy(model, torch.device("cpu"), 1024)


def agree(policy: Policy) -> None:
    """Six steps of both decoders on prompts of several lengths, rows dropped in between."""
    lean = _Reader(policy.model)
    lean.lean = _lean_decoder(policy)
    assert lean.lean is not None, "the lean decoder is not used"
    plain = _Reader(policy.model)
    generator = torch.Generator().manual_seed(1)
    prompts = [tuple(torch.randint(1, 17, (n,), generator=generator).tolist()) for n in (3, 7, 5, 7)]
    with torch.inference_mode():
        states = [_prefill(r, [Request(p, 0) for p in prompts], 8, policy.device) for r in (plain, lean)]
        for step in range(6):
            if step == 3:
                for state in states:
                    state.keep(torch.tensor([2, 0, 3]))
            tokens = torch.randint(1, 17, (len(states[0].positions),), generator=generator)
            for state, reader in zip(states, (plain, lean), strict=True):
                state.step(reader, tokens)
            torch.testing.assert_close(states[1].logits, states[0].logits, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "config",
    [
        LlamaConfig(**SHAPE),
        LlamaConfig(**SHAPE, attention_bias=True),
        LlamaConfig(**SHAPE, rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 10_000.0}),
        Qwen2Config(**SHAPE),
        Qwen3Config(**SHAPE),
        MistralConfig(**SHAPE, sliding_window=None),
    ],
    ids=["llama", "llama with biases", "llama with scaled positions", "qwen2", "qwen3", "mistral"],
)
def test_logits_are_the_models_own(config: PreTrainedConfig) -> None:
    agree(random_policy(config))


def test_adapters_are_part_of_it_and_the_base_is_left_alone() -> None:
    lora = LoraAdapter(kind="lora", rank=4, alpha=8.0, targets=("q_proj", "o_proj", "down_proj"))
    policy = load_policy(lora)
    generator = torch.Generator().manual_seed(0)
    policy.set_weights({n: torch.randn(p.shape, generator=generator) for n, p in policy.trainable.items()})
    base = policy.digest(base=True)
    agree(policy)
    assert policy.digest(base=True) == base


def test_models_of_another_shape_decode_through_their_own_code() -> None:
    gpt2 = GPT2Config(vocab_size=40, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    assert _lean_decoder(random_policy(gpt2)) is None
    gemma = Gemma2Config(**SHAPE, final_logit_softcapping=None, attn_logit_softcapping=None)
    assert _lean_decoder(random_policy(gemma)) is None


def test_a_model_that_only_looks_alike_is_found_by_the_probe(policy: Policy) -> None:
    assert _lean_decoder(policy) is not None
    layer = policy.model.get_decoder().layers[0]
    mlp = layer.mlp.forward
    layer.mlp.forward = lambda x: 1.05 * mlp(x)
    assert _lean_decoder(policy) is None
