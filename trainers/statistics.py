"""Log-probability, entropy and top-2 margin of chosen tokens, without ever holding tokens x vocabulary.

One pass over the output layer in chunks of tokens gives all three; the backward pass recomputes each
chunk's logits, so that peak memory is a chunk's and not the batch's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class TokenStatistics:
    """Of each token's next-token law at the sampling temperature; all float32 of shape (tokens,)."""

    logprob: torch.Tensor
    """Log-probability of the chosen token, nats; carries the gradient."""
    entropy: torch.Tensor
    """Entropy, nats; no gradient."""
    margin: torch.Tensor
    """p1 - p2, the gap between the two likeliest tokens, in [0, 1]; no gradient."""


def token_statistics(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    targets: torch.Tensor,
    *,
    temperature: float = 1.0,
    chunk: int = 1024,
) -> TokenStatistics:
    """Statistics of `targets` (tokens,) under `hidden` (tokens, width) times `weight` (vocabulary, width).

    Gradients flow from `logprob` to `hidden`, and to `weight` and `bias` where they are trained. Neither
    the values nor (up to rounding) the gradients depend on `chunk`.
    """
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, not {temperature}")
    logprob, entropy, margin = _Statistics.apply(hidden, weight, bias, targets, temperature, chunk)  # type: ignore[no-untyped-call]
    return TokenStatistics(logprob, entropy, margin)


class _Statistics(torch.autograd.Function):
    """The chunked pass with its own backward: d logprob / d logits = onehot - softmax."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        targets: torch.Tensor,
        temperature: float,
        chunk: int,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        count = hidden.shape[0]
        result = torch.empty(3, count, dtype=torch.float32, device=hidden.device)
        normaliser = torch.empty(count, dtype=torch.float32, device=hidden.device)
        for start in range(0, count, chunk):
            part = slice(start, start + chunk)
            logits = _logits(hidden[part], weight, bias, temperature)
            chosen = logits.gather(1, targets[part, None]).squeeze(1)
            first, place = logits.max(dim=1, keepdim=True)
            logits.sub_(first)
            shifted_chosen = chosen - first.squeeze(1)
            mass = torch.exp(logits)
            total = mass.sum(dim=1)
            log_total = torch.log(total)
            result[0, part] = shifted_chosen - log_total
            # sum p log p = sum p * shifted - log total; the row dot product avoids a third large tensor
            mean_shifted = torch.linalg.vecdot(mass, logits, dim=1) / total
            result[1, part] = log_total - mean_shifted
            mass.scatter_(1, place, 0.0)
            result[2, part] = (1.0 - mass.amax(dim=1)) / total
            normaliser[part] = first.squeeze(1) + log_total
        ctx.save_for_backward(hidden, weight, bias, targets, normaliser)
        ctx.temperature, ctx.chunk = temperature, chunk
        logprob, entropy, margin = result.unbind(0)
        entropy, margin = entropy.clone(), margin.clone()
        ctx.mark_non_differentiable(entropy, margin)
        return logprob.clone(), entropy, margin

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor, *_: Any) -> tuple[torch.Tensor | None, ...]:
        hidden, weight, bias, targets, normaliser = ctx.saved_tensors
        wants_hidden, wants_weight, wants_bias = ctx.needs_input_grad[:3]
        grad_hidden = torch.empty_like(hidden) if wants_hidden else None
        grad_weight = torch.zeros_like(weight, dtype=torch.float32) if wants_weight else None
        grad_bias = torch.zeros_like(bias, dtype=torch.float32) if wants_bias else None
        for start in range(0, hidden.shape[0], ctx.chunk):
            part = slice(start, start + ctx.chunk)
            logits = _logits(hidden[part], weight, bias, ctx.temperature)
            slope = logits.sub_(normaliser[part, None]).exp_().mul_(-grad[part, None])
            slope.scatter_add_(1, targets[part, None], grad[part, None])
            slope.div_(ctx.temperature)
            if grad_bias is not None:
                grad_bias += slope.sum(dim=0)
            slope = slope.to(weight.dtype)
            if grad_hidden is not None:
                grad_hidden[part] = slope @ weight
            if grad_weight is not None:
                grad_weight += slope.t() @ hidden[part]
        cast_weight = grad_weight.to(weight.dtype) if grad_weight is not None else None
        cast_bias = grad_bias.to(bias.dtype) if grad_bias is not None else None
        return grad_hidden, cast_weight, cast_bias, None, None, None


def _logits(
    hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, temperature: float
) -> torch.Tensor:
    """Float32 logits (tokens, vocabulary), divided by the temperature; a fresh tensor that may be changed."""
    logits = torch.nn.functional.linear(hidden, weight, bias).to(torch.float32)
    return logits if temperature == 1.0 else logits.div_(temperature)
