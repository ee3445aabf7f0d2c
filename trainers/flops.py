"""Floating-point operations from the model's shape and the counted tokens.

A multiply-add is two operations. A token's forward pass costs 2 x the weights of the linear layers, plus
4 x (attention width) x (tokens attended to) a layer for scores and values. The backward pass costs twice the
forward where all weights are trained; with LoRA the base weights need no gradient of their own, so it costs
once the forward, plus twice the adapters' share. Elementwise work is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What the count needs of a model."""

    linear_weights: int
    """Weights of all linear layers but the output layer; adapters are not among them."""
    output_weights: int
    """Weights of the output layer (vocabulary x width)."""
    adapter_weights: int
    """Trained weights of the adapters; 0 in full fine-tuning."""
    layers: int
    attention_width: int
    """Query heads x head dimension."""

    def forward(self, tokens: int, attended: int, scored: int) -> float:
        """Operations of a forward pass over `tokens`, which attend to `attended` tokens in total, of which
        `scored` go through the output layer."""
        return (
            2.0 * (self.linear_weights + self.adapter_weights) * tokens
            + 4.0 * self.layers * self.attention_width * attended
            + 2.0 * self.output_weights * scored
        )

    def backward(self, tokens: int, attended: int, scored: int) -> float:
        """Operations of the backward pass that belongs to such a forward pass."""
        forward = self.forward(tokens, attended, scored)
        if not self.adapter_weights:
            return 2.0 * forward
        return forward + 2.0 * self.adapter_weights * tokens


def attended_causally(prompt: int, generated: int) -> int:
    """Tokens attended to, summed over the positions of a sequence: 1 + 2 + ... + length."""
    length = prompt + generated
    return length * (length + 1) // 2


def attended_decoding(prompt: int, generated: int) -> int:
    """Tokens attended to while `generated` tokens are decoded after a prompt, the prefill left out.

    The first token comes from the prefill; each later one attends to all before it and to itself.
    """
    decoded = max(generated - 1, 0)
    return decoded * prompt + decoded * (decoded + 1) // 2
