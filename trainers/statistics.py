"""Log-probability, entropy and top-2 margin of chosen tokens, without ever holding tokens x vocabulary.

One pass over the output layer in chunks of tokens gives all three; the backward pass recomputes each
chunk's logits, so that peak memory is a chunk's and not the batch's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

TILE = 512
"""Width of the tiles in which the two largest logits of a row are sought."""

CACHED_ELEMENTS = 1 << 18
"""On a CPU, logits worked on at a time: two such tensors stay in a core's cache between passes over them."""


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
    logprob, entropy, margin = _Statistics.apply(hidden, weight, bias, targets, temperature, chunk)
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
        logprob, entropy, margin, normaliser = (
            torch.empty(count, dtype=torch.float32, device=hidden.device) for _ in range(4)
        )
        for start in range(0, count, chunk):
            part = slice(start, start + chunk)
            logits = _logits(hidden[part], weight, bias, temperature)
            chosen = logits.gather(1, targets[part, None]).squeeze(1)
            first, second = two_largest(logits).unbind(1)
            total, weighted = _moments(logits, first)
            log_total = torch.log(total)
            normaliser[part] = first + log_total
            logprob[part] = (chosen - first) - log_total
            entropy[part] = log_total - weighted / total  # -sum p log p, with log p = shifted - log total
            margin[part] = (1.0 - torch.exp(second - first)) / total
            del logits  # or the next chunk's would stand beside it
        ctx.save_for_backward(hidden, weight, bias, targets, normaliser)
        ctx.temperature, ctx.chunk = temperature, chunk
        ctx.mark_non_differentiable(entropy, margin)
        return logprob, entropy, margin

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor, *_: Any) -> tuple[torch.Tensor | None, ...]:
        hidden, weight, bias, targets, normaliser = ctx.saved_tensors
        wants_hidden, wants_weight, wants_bias = ctx.needs_input_grad[:3]
        grad_hidden = torch.empty_like(hidden) if wants_hidden else None
        grad_weight = torch.zeros_like(weight, dtype=torch.float32) if wants_weight else None
        grad_bias = torch.zeros_like(bias, dtype=torch.float32) if wants_bias else None
        scaled = (grad / ctx.temperature)[:, None]
        for start in range(0, hidden.shape[0], ctx.chunk):
            part = slice(start, start + ctx.chunk)
            logits = _logits(hidden[part], weight, bias, ctx.temperature)
            slope = logits.sub_(normaliser[part, None]).exp_().mul_(-scaled[part])
            slope.scatter_add_(1, targets[part, None], scaled[part])
            if grad_bias is not None:
                grad_bias += slope.sum(dim=0)
            slope = slope.to(weight.dtype)
            if grad_hidden is not None:
                grad_hidden[part] = slope @ weight
            if grad_weight is not None:
                grad_weight += slope.t() @ hidden[part]
            del logits, slope
        cast_weight = grad_weight.to(weight.dtype) if grad_weight is not None else None
        cast_bias = grad_bias.to(bias.dtype) if grad_bias is not None else None
        return grad_hidden, cast_weight, cast_bias, None, None, None


def two_largest(logits: torch.Tensor) -> torch.Tensor:
    """The two largest values of each row, (rows, 2), the larger first.

    A row is cut into tiles, and only the tile with the largest value is searched for the second: one plain
    maximum over the tensor, where `topk` and a maximum with its index take two to three times as long.
    """
    whole = logits.shape[1] // TILE
    if whole < 2:
        return logits.topk(2, dim=1).values
    tiles = logits[:, : whole * TILE].unflatten(1, (whole, TILE))
    peaks = tiles.amax(dim=2)
    highest = peaks.argmax(dim=1)
    inside = tiles[torch.arange(len(logits), device=logits.device), highest]
    outside = peaks.scatter(1, highest[:, None], -torch.inf)
    return torch.cat([inside, outside, logits[:, whole * TILE :]], dim=1).topk(2, dim=1).values


def _moments(logits: torch.Tensor, largest: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """sum exp(x) and sum exp(x) x of each row, x = logits - largest, each (rows,). `logits` are used up."""
    total, weighted = torch.empty(2, len(logits), dtype=torch.float32, device=logits.device)
    rows = max(1, CACHED_ELEMENTS // logits.shape[1]) if logits.device.type == "cpu" else len(logits)
    mass = torch.empty_like(logits[:rows])
    for start in range(0, len(logits), rows):
        part = slice(start, start + rows)
        shifted = logits[part].sub_(largest[part, None])
        exponential = torch.exp(shifted, out=mass[: len(shifted)])
        torch.sum(exponential, dim=1, out=total[part])
        torch.sum(shifted.mul_(exponential), dim=1, out=weighted[part])
    return total, weighted


def _logits(
    hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, temperature: float
) -> torch.Tensor:
    """Float32 logits (tokens, vocabulary), divided by the temperature; a fresh tensor that may be changed."""
    logits = torch.nn.functional.linear(hidden, weight, bias).to(torch.float32)
    return logits if temperature == 1.0 else logits.div_(temperature)
