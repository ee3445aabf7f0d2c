"""Decoding steps for small models, whose time goes into calls and not into arithmetic.

A step of a model of a hundred thousand parameters is a few hundred calls of some microseconds each. For
decoders of the Llama shape (Llama, Qwen, Mistral and their like) this does the same arithmetic in a tenth of
the calls: projections of one input are one product, norms are one call, rotary tables are made once. It is
used only where it gives the model's own logits on a probe, so a model that differs in any way decodes through
its own code. Weights are gathered anew for each batch of completions, adapters included, since training
changes them in between; the gathered copy is why it is for small models only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

SMALL_WEIGHTS = 20_000_000
"""Weights up to which a copy is cheaper than the calls it saves."""

ROTARY_KINDS = ("default", "linear", "llama3")
"""Rotary embeddings whose tables do not depend on the length of the sequence."""


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer's weights, gathered."""

    input_norm: Any
    output_norm: Any
    qkv: tuple[torch.Tensor, torch.Tensor | None]
    head_norms: tuple[Any, Any] | None
    """Norms of each head's queries and keys (Qwen3)."""
    output: tuple[torch.Tensor, torch.Tensor | None]
    gate_up: tuple[torch.Tensor, torch.Tensor | None]
    down: tuple[torch.Tensor, torch.Tensor | None]
    scaling: float


class LeanDecoder:
    """Single-token steps over a cache that the model's own prefill has filled."""

    def __init__(self, model: Any) -> None:
        """Raises AttributeError or ValueError where the model is not of the shape that this can decode."""
        self._body = model.get_decoder()
        self._head = model.get_output_embeddings()
        config = model.config.get_text_config()
        self._heads: int = config.num_attention_heads
        self._kv_heads: int = config.num_key_value_heads
        if sum(p.numel() for p in model.parameters()) > SMALL_WEIGHTS:
            raise ValueError("the model is not small")
        if self._body.rotary_emb.rope_type not in ROTARY_KINDS:
            raise ValueError("the rotary table depends on the length")
        if any(
            type(layer.mlp.act_fn).__name__ not in ("SiLU", "SiLUActivation") for layer in self._body.layers
        ):
            raise ValueError("another activation")
        self._layers: list[_Layer] = []
        self._cos = self._sin = torch.empty(0)

    def gather(self, positions: int) -> None:
        """Take up the present weights, and make the rotary tables for so many positions."""
        self._layers = [_gathered(layer) for layer in self._body.layers]
        weight = self._body.embed_tokens.weight
        where = torch.arange(positions, device=weight.device)[None]
        cos, sin = self._body.rotary_emb(weight[:1, None], where)
        half = sin.shape[-1] // 2
        self._cos, self._sin = cos[0], torch.cat((-sin[0, :, :half], sin[0, :, half:]), dim=-1)

    def next_logits(
        self, tokens: torch.Tensor, positions: torch.Tensor, mask: torch.Tensor | None, cache: Any
    ) -> torch.Tensor:
        """Logits (rows, vocabulary) after `tokens` (rows,) at `positions` (rows,), which join the cache."""
        rows = len(tokens)
        hidden = self._body.embed_tokens(tokens)
        cos, sin = self._cos[positions][:, None], self._sin[positions][:, None]
        for layer, cached in zip(self._layers, cache.layers, strict=True):
            mixed = functional.linear(_norm(hidden, layer.input_norm), *layer.qkv)
            heads = mixed.view(rows, self._heads + 2 * self._kv_heads, -1)
            turning, value = heads[:, : -self._kv_heads], heads[:, -self._kv_heads :]
            if layer.head_norms is not None:
                query_norm, key_norm = layer.head_norms
                query, key = turning[:, : self._heads], turning[:, self._heads :]
                turning = torch.cat((_norm(query, query_norm), _norm(key, key_norm)), dim=1)
            half = turning.shape[-1] // 2
            swapped = torch.cat((turning[..., half:], turning[..., :half]), dim=-1)
            turned = torch.addcmul(turning * cos, swapped, sin)
            query, key = turned[:, : self._heads, None], turned[:, self._heads :, None]
            keys, values = cached.update(key, value[:, :, None])
            attended = functional.scaled_dot_product_attention(
                query, keys, values, attn_mask=mask, scale=layer.scaling,
                enable_gqa=self._heads != self._kv_heads,
            )  # fmt: skip
            hidden = hidden + functional.linear(attended.reshape(rows, -1), *layer.output)
            gate, up = functional.linear(_norm(hidden, layer.output_norm), *layer.gate_up).chunk(2, dim=-1)
            hidden = hidden + functional.linear(functional.silu(gate) * up, *layer.down)
        logits: torch.Tensor = self._head(_norm(hidden, self._body.norm))
        return logits


def _gathered(layer: Any) -> _Layer:
    attention, mlp = layer.self_attn, layer.mlp
    norms = (attention.q_norm, attention.k_norm) if hasattr(attention, "q_norm") else None
    return _Layer(
        input_norm=layer.input_layernorm,
        output_norm=layer.post_attention_layernorm,
        qkv=_joined(attention.q_proj, attention.k_proj, attention.v_proj),
        head_norms=norms,
        output=_joined(attention.o_proj),
        gate_up=_joined(mlp.gate_proj, mlp.up_proj),
        down=_joined(mlp.down_proj),
        scaling=attention.scaling,
    )


def _joined(*modules: Any) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The weights, and the biases if there are any, of linear layers that share their input, as one."""
    parts = [_effective(module) for module in modules]
    weights = [weight for weight, _ in parts]
    biases = [bias for _, bias in parts if bias is not None]
    if biases and len(biases) < len(parts):
        raise ValueError("some of these layers have a bias and some have none")
    if len(parts) == 1:
        return parts[0]
    return torch.cat(weights), torch.cat(biases) if biases else None


def _effective(module: Any) -> tuple[torch.Tensor, torch.Tensor | None]:
    """A linear layer's weight and bias; an adapter's part is added to a copy, never to the base."""
    if isinstance(module, torch.nn.Linear):
        return module.weight, module.bias
    base = module.base_layer
    delta = sum(module.get_delta_weight(name) for name in module.active_adapters)
    return base.weight + delta, base.bias


def _norm(values: torch.Tensor, norm: Any) -> torch.Tensor:
    """Root-mean-square norm over the last axis."""
    return functional.rms_norm(values, (values.shape[-1],), norm.weight, norm.variance_epsilon)
