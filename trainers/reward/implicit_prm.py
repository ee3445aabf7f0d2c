"""PRIME's process rewards from a model trained on outcomes alone (Cui et al., 2025, arXiv 2502.01456).

The reward model is a second set of the policy's trained weights, phi, which begins as the start policy. A
token's reward is beta (log phi - log start); their sum over a completion is the logit that it is right, and
phi learns by the cross-entropy of that logit, after it has scored the update. It needs no further tokens, so
its price is time: two passes to score, and one with its backward pass to learn.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from prereg.rewards import ImplicitPrmReward
from trainers.checkpoint import copy_into, load_optimizer, optimizer_tensors
from trainers.draws import Draws
from trainers.passes import Passes
from trainers.reward import RewardMethod, Scored, outcomes
from trainers.reward.dense import Rows, finished, others_mean, outcome_rows, permuted
from trainers.setting import Setting

_WEIGHTS, _OPTIMIZER = "weights/", "optimizer/"


class ImplicitPrm(RewardMethod):
    """Returns of implicit token rewards, added to the outcome advantage."""

    def __init__(self, setting: Setting, spec: ImplicitPrmReward) -> None:
        super().__init__(setting)
        self._spec = spec
        self._start = setting.policy.weights()
        self._phi = {name: torch.nn.Parameter(value.clone()) for name, value in self._start.items()}
        like = setting.spec.optimizer
        self._optimizer = torch.optim.AdamW(
            list(self._phi.values()), lr=spec.learning_rate, betas=(like.beta1, like.beta2),
            eps=like.epsilon, weight_decay=like.weight_decay, fused=True,
        )  # fmt: skip
        self._read: tuple[Draws, dict[int, torch.Tensor]] | None = None
        """The rollouts last scored, and their log-probs under the start policy."""

    def score(self, rollouts: Draws) -> Scored:
        """Token advantages under phi as it stands."""
        setting, passes = self.setting, _passes(self.setting, rollouts)
        every = list(range(len(rollouts.completions)))
        start = self._start_logprobs(rollouts)
        with setting.policy.with_weights(self._weights()):
            phi = passes.frozen_logprobs(every, "score")
        rewards: Rows = [self._spec.beta * (phi[i] - start[i]).double().cpu().numpy() for i in every]
        if self._spec.shuffled:
            rewards = permuted(rewards, rollouts, setting.seed)
        base = others_mean(np.array([row.mean() for row in rewards]), rollouts.group_ids)
        plain = outcome_rows(rollouts, setting.spec.advantage)
        tokens = [returns(row - b) + a for row, b, a in zip(rewards, base, plain, strict=True)]
        return finished(
            tokens, rollouts, rollouts.graded, setting.spec.advantage, rescaled=self._spec.rescaled
        )

    def learn(self, rollouts: Draws) -> float | None:
        """One step of phi on the graded rollouts; returns their mean cross-entropy, None without any."""
        setting, passes = self.setting, _passes(self.setting, rollouts)
        members = np.flatnonzero(rollouts.graded).tolist()
        if not members:
            return None
        start, right = self._start_logprobs(rollouts), outcomes(rollouts.grades)
        policy, total = setting.policy, 0.0
        self._optimizer.zero_grad(set_to_none=True)
        with policy.with_weights(self._weights()):
            policy.forget_gradients()
            for part in passes.micro_batches(members):
                with setting.meter.phase("forward"):
                    batch = passes.batch(part)
                    logprob = policy.statistics(batch, setting.spec.temperature).logprob
                    ratio = logprob - torch.cat([start[i] for i in part])
                    logits = self._spec.beta * batch.segments.mean(ratio) * batch.segments.lengths
                    labels = torch.tensor(right[part], dtype=logits.dtype, device=logits.device)
                    losses = functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum")
                    loss = losses / len(members)
                with setting.meter.phase("backward"):
                    loss.backward()
                passes.count(part, backward=True)
                total += float(loss.detach())
            for name, parameter in policy.trainable.items():
                self._phi[name].grad = parameter.grad
            policy.forget_gradients()
        self._step()
        return total

    def tensors(self) -> dict[str, torch.Tensor]:
        """Phi and its optimizer."""
        optimizer = optimizer_tensors(self._optimizer)
        return {
            **{_WEIGHTS + name: value for name, value in self._weights().items()},
            **{_OPTIMIZER + name: value for name, value in optimizer.items()},
        }

    def load_tensors(self, tensors: dict[str, torch.Tensor]) -> None:
        """Take up phi and its optimizer."""
        copy_into(self._phi, _under(_WEIGHTS, tensors))
        load_optimizer(self._optimizer, _under(_OPTIMIZER, tensors))

    def _weights(self) -> dict[str, torch.Tensor]:
        return {name: parameter.detach() for name, parameter in self._phi.items()}

    def _start_logprobs(self, rollouts: Draws) -> dict[int, torch.Tensor]:
        if self._read is None or self._read[0] is not rollouts:
            with self.setting.policy.with_weights(self._start):
                every = range(len(rollouts.completions))
                logprobs = _passes(self.setting, rollouts).frozen_logprobs(list(every), "score")
            self._read = rollouts, logprobs
        return self._read[1]

    def _step(self) -> None:
        with self.setting.meter.phase("optimizer"):
            limit = self.setting.spec.optimizer.max_gradient_norm
            norm = torch.nn.utils.clip_grad_norm_(self._phi.values(), limit or float("inf"))
            if torch.isfinite(norm):
                self._optimizer.step()


def returns(
    rewards: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Of each token: the sum of its reward and all later ones, shape kept."""
    return np.cumsum(rewards[::-1])[::-1]


def _passes(setting: Setting, rollouts: Draws) -> Passes:
    return Passes(setting, rollouts.prompts, rollouts.completions)


def _under(prefix: str, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
