"""The clipped policy-gradient loss, as a sum whose denominator belongs to the caller.

The caller splits an update's completions into micro-batches as it likes, calls `policy_loss` on each with
the same denominator, and the sum of the results is the loss of the whole. (A mean per micro-batch is not:
it weighs tokens by the size of the micro-batch they fell into.)
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from prereg.trainer import Loss
from trainers.segments import Segments


@dataclass(frozen=True, slots=True)
class LossSums:
    """Sums over the counted tokens of one micro-batch; all scalars, detached."""

    loss: torch.Tensor
    """Contribution to the update's loss."""
    clipped: torch.Tensor
    """Tokens whose ratio was clipped."""
    kl: torch.Tensor
    """Sum of the KL estimates, nats; 0 without a reference."""
    tokens: int


def denominator(spec: Loss, tokens: int, sequences: int) -> float:
    """What the sum over an optimizer step's completions is divided by.

    `tokens` and `sequences` count *all* completions of the step, those with no signal included.
    """
    if spec.aggregation == "token_mean":
        return float(tokens)
    if spec.aggregation == "sequence_mean":
        return float(sequences)
    if spec.constant is None:
        raise ValueError("aggregation `constant` needs `constant`")
    return float(sequences * spec.constant)


def policy_loss(
    logprob: torch.Tensor,
    old_logprob: torch.Tensor,
    advantage: torch.Tensor,
    segments: Segments,
    spec: Loss,
    *,
    denominator: float,
    engine_logprob: torch.Tensor | None = None,
    reference_logprob: torch.Tensor | None = None,
) -> tuple[torch.Tensor, LossSums]:
    """The loss of a micro-batch's tokens, a scalar to be summed over micro-batches, and its sums.

    All tensors are float32 of shape (tokens,), the tokens of each completion contiguous as `segments` says;
    `advantage` is the credited one. PPO's clipped surrogate (Schulman et al., 2017) with separate bounds,
    and a penalty `kl_coefficient * KL(policy || reference)` by the k1, k2 or k3 estimator (Schulman, 2020).
    `engine_logprob` is needed by the importance corrections, which multiply the surrogate by
    min(ratio to the engine, cap) a token, or drop completions whose geometric-mean ratio leaves
    [1 / cap, cap].
    """
    ratio = torch.exp(logprob - old_logprob)
    bounded = torch.clamp(ratio, 1.0 - spec.clip_low, 1.0 + spec.clip_high)
    surrogate = torch.minimum(ratio * advantage, bounded * advantage)
    clipped = (bounded * advantage < ratio * advantage).detach()
    if spec.importance != "none":
        if engine_logprob is None:
            raise ValueError(
                f"importance correction {spec.importance!r} needs the engine's log-probabilities"
            )
        surrogate = surrogate * importance_weight(old_logprob - engine_logprob, segments, spec)
    per_token = -surrogate
    kl = torch.zeros((), device=logprob.device)
    if reference_logprob is not None:
        estimate = kl_estimate(logprob, reference_logprob, spec.kl_estimator)
        per_token = per_token + spec.kl_coefficient * estimate
        kl = estimate.detach().sum()
    if spec.aggregation == "sequence_mean":
        per_token = per_token / segments.lengths.to(per_token.dtype)[segments.index]
    loss = per_token.sum() / denominator
    return loss, LossSums(loss.detach(), clipped.sum(), kl, len(logprob))


def importance_weight(log_ratio: torch.Tensor, segments: Segments, spec: Loss) -> torch.Tensor:
    """Weights (tokens,) for a policy whose log-probs are `log_ratio` above the engine's; no gradient."""
    log_ratio = log_ratio.detach()
    if spec.importance == "token_truncated":
        return torch.exp(log_ratio).clamp(max=spec.importance_cap)
    geometric = torch.exp(segments.mean(log_ratio))
    inside = (geometric <= spec.importance_cap) & (geometric >= 1.0 / spec.importance_cap)
    return inside.to(log_ratio.dtype)[segments.index]


def kl_estimate(logprob: torch.Tensor, reference: torch.Tensor, estimator: str) -> torch.Tensor:
    """Per-token estimates (tokens,) of KL(policy || reference) from samples of the policy, nats."""
    log_ratio = reference - logprob
    if estimator == "k1":
        return -log_ratio
    if estimator == "k2":
        return log_ratio.square() / 2
    return torch.expm1(log_ratio) - log_ratio
