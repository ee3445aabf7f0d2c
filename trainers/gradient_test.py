"""The gradient test: before a credit is trained with, how well does its gradient point where reward rises?

One frozen policy. The direction v is the normalised leave-one-out REINFORCE gradient on prompts that are
disjoint from the batch, from two halves v1 and v2. A token's alignment is the derivative of its
log-probability along v, from two forward passes for all tokens at once. For a candidate that gives the token
t of completion i the advantage c[i, t], the inner product of its gradient with v is the mean of c x a over
tokens: every candidate is scored on the same batch, and only its own signal is paid for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from prereg.trainer import Advantage, Trainer
from trainers.advantage import group_advantages
from trainers.credit import CreditMethod
from trainers.draws import Draws
from trainers.noise import sequence_key
from trainers.passes import Passes
from trainers.reward import RewardMethod, outcomes
from trainers.setting import Setting

Floats = npt.NDArray[np.float64]
Vector = dict[str, torch.Tensor]
"""A vector in the space of the trained weights, by name."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to give tokens their advantages."""

    reward: RewardMethod
    credit: CreditMethod


@dataclass(frozen=True, slots=True)
class Direction:
    """Where reward rises, from prompts apart: the unit vector, and how alike its two halves are."""

    unit: Vector
    halves: tuple[Vector, Vector]
    """Unit vectors of each half."""
    agreement: float
    """cos(v1, v2): the noise floor. Near 0, the direction itself is mostly noise."""
    size: float
    """Norm of the sum of the halves' gradients, of which `unit` is the direction."""


def rollout_direction(setting: Setting, draws: Draws) -> Direction:
    """The direction from completions of prompts that are not in the batch.

    Groups go to the halves in turn. Raises ValueError where a half has no group with a signal: then there is
    no direction.
    """
    advantages = _leave_one_out(draws)
    gradients = [reinforce_gradient(setting, draws, advantages, half) for half in _halves(draws)]
    norms = [_norm(gradient) for gradient in gradients]
    if min(norms) == 0:
        raise ValueError("no group of one half of the direction's prompts has both right and wrong answers")
    whole = {name: gradients[0][name] + gradients[1][name] for name in gradients[0]}
    first, second = (_scaled(g, 1 / n) for g, n in zip(gradients, norms, strict=True))
    return Direction(_scaled(whole, 1 / _norm(whole)), (first, second), inner(first, second), _norm(whole))


def _leave_one_out(draws: Draws) -> Floats:
    """Outcome advantages (completions,): reward less the mean of the others of the group."""
    plain = Advantage(baseline="leave_one_out", scale="none")
    return group_advantages(outcomes(draws.grades), draws.group_ids, plain)


def _halves(draws: Draws) -> list[list[int]]:
    """The completions of the groups in turn: those of every second group, and the others."""
    turn = {group: place % 2 for place, group in enumerate(sorted(set(draws.groups)))}
    return [[i for i, group in enumerate(draws.groups) if turn[group] == half] for half in (0, 1)]


def reinforce_gradient(setting: Setting, draws: Draws, advantages: Floats, members: Sequence[int]) -> Vector:
    """The gradient of mean_t A_i log pi(y_t) over the tokens of `members`."""
    rows = [np.full(len(draws.completions[i].token_ids), advantages[i]) for i in members]
    return signal_gradient(setting, draws, rows, members)


def signal_gradient(
    setting: Setting, draws: Draws, rows: Sequence[Floats], members: Sequence[int] | None = None
) -> Vector:
    """The gradient of the mean of c x log pi over the tokens of `members`, or of all; `rows` are their c."""
    chosen = list(range(len(draws.completions))) if members is None else list(members)
    weight = dict(zip(chosen, rows, strict=True))
    total = sum(len(draws.completions[i].token_ids) for i in chosen)
    policy = setting.policy
    policy.forget_gradients()
    passes = Passes(setting, draws.prompts, draws.completions)
    for part in passes.micro_batches([i for i in chosen if weight[i].any()]):
        batch = passes.batch(part)
        statistics = policy.statistics(batch, setting.spec.temperature)
        signal = torch.from_numpy(np.concatenate([weight[i] for i in part])).to(statistics.logprob)
        ((signal * statistics.logprob).sum() / total).backward()
    gradient = {
        name: (torch.zeros_like(p) if p.grad is None else p.grad.detach().clone())
        for name, p in policy.trainable.items()
    }
    policy.forget_gradients()
    return gradient


def alignments(setting: Setting, draws: Draws, along: Vector, step: float) -> list[Floats]:
    """d log pi(y_t) / d e along a unit vector, of each token of each completion: central differences.

    `step` is e as a share of the norm of the trained weights; two forward passes in all.
    """
    policy = setting.policy
    passes = Passes(setting, draws.prompts, draws.completions)
    everyone = list(range(len(draws.completions)))
    weights = policy.weights()
    size = step * _norm(weights)
    sides = []
    for sign in (1.0, -1.0):
        moved = {name: w + sign * size * along[name].to(w) for name, w in weights.items()}
        with policy.with_weights(moved):
            sides.append(passes.frozen_logprobs(everyone))
    return [((sides[0][i].double() - sides[1][i].double()) / (2 * size)).cpu().numpy() for i in everyone]


def token_signals(setting: Setting, draws: Draws, candidate: Candidate, base: Trainer) -> list[Floats]:
    """c[i, t]: what the candidate would train each token with, after credit."""
    scored = candidate.reward.score(draws)
    passes = Passes(setting, draws.prompts, draws.completions)
    result: list[Floats] = [np.zeros(len(c.token_ids)) for c in draws.completions]
    keys = [
        sequence_key(setting.seed, "credit", draws.step, p.id, g, s)
        for p, g, s in zip(draws.prompts, draws.groups, draws.samples, strict=True)
    ]
    for part in passes.micro_batches(np.flatnonzero(scored.signal).tolist()):
        batch = passes.batch(part)
        with torch.no_grad():
            statistics = setting.policy.statistics(batch, base.temperature)
            chosen = torch.tensor([keys[i] for i in part], dtype=torch.int64, device=setting.policy.device)
            multipliers = candidate.credit.multipliers(statistics, batch.segments, chosen)
        pieces = multipliers.double().cpu().split(batch.segments.lengths.tolist())
        for i, piece in zip(part, pieces, strict=True):
            result[i] = scored.tokens[i].astype(np.float64) * piece.numpy()
    return result


def negative_control(
    setting: Setting, batch: Draws, apart: Draws, signal: Sequence[Floats], direction: Direction, step: float
) -> float | None:
    """The gain of training the batch with -c, measured: a candidate that gains must lose by it.

    The policy takes a step along the gradient of -c (`step`: its length as a share of the weights' norm), and
    the direction's objective, mean_t A_i log pi(y_t) over each half of the completions apart, is read before
    and after it. What it changed by, over the length of the step and in the unit of the gain, does without
    alignments and without the direction's vector. None where the signal is all zero.
    """
    gradient = signal_gradient(setting, batch, [-row for row in signal])
    size = _norm(gradient)
    if size == 0:
        return None
    policy = setting.policy
    weights = policy.weights()
    length = step * _norm(weights) / size
    before = _objective(setting, apart)
    with policy.with_weights({name: w + length * gradient[name].to(w) for name, w in weights.items()}):
        after = _objective(setting, apart)
    return (after - before) / length / direction.size


def _objective(setting: Setting, draws: Draws) -> float:
    """What the direction is the gradient of: the mean of A log pi over a half's tokens, both halves added."""
    logprobs = Passes(setting, draws.prompts, draws.completions).frozen_logprobs(
        range(len(draws.completions))
    )
    advantages = _leave_one_out(draws)
    return sum(
        sum(float(advantages[i]) * float(logprobs[i].double().sum()) for i in members)
        / sum(len(logprobs[i]) for i in members)
        for members in _halves(draws)
    )


def inner(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> float:
    """The inner product of two vectors, summed in float64."""
    return float(sum(float((one[name].double() * other[name].double()).sum()) for name in sorted(one)))


def cosine(one: Vector, other: Vector) -> float:
    """Of the angle between two vectors; NaN where one is zero."""
    size = _norm(one) * _norm(other)
    return inner(one, other) / size if size > 0 else float("nan")


def _norm(vector: Mapping[str, torch.Tensor]) -> float:
    return float(np.sqrt(inner(vector, vector)))


def _scaled(vector: Vector, factor: float) -> Vector:
    return {name: factor * part for name, part in vector.items()}
