"""One update, readable from top to bottom: sample, grade, advantages, credit, loss, step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from prereg.trainer import Trainer
from trainers.advantage import group_advantages, informative
from trainers.batching import micro_batches
from trainers.credit import build_credit
from trainers.engines import Engine, Sampling
from trainers.flops import attended_causally, attended_decoding
from trainers.loss import LossSums, denominator, policy_loss
from trainers.metering import Meter
from trainers.noise import sequence_key
from trainers.policy import Batch, Policy
from trainers.reward import build_reward
from trainers.selection import build_selection
from trainers.statistics import TokenStatistics
from trainers.types import Completion, Grade, Grader, Prompt, Request


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """What the training pass read of one completion's tokens; each float32 of shape (tokens,)."""

    entropy: npt.NDArray[np.float32]
    margin: npt.NDArray[np.float32]
    credit: npt.NDArray[np.float32]
    """The advantage that each token got."""


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """Everything an update leaves for the ledger. Lists run over completions in group order."""

    step: int
    prompts: list[Prompt]
    """The prompt of each completion."""
    groups: list[int]
    samples: list[int]
    completions: list[Completion]
    grades: list[Grade]
    rewards: npt.NDArray[np.float64]
    advantages: npt.NDArray[np.float64]
    tokens: list[TokenRecord | None]
    """None for a completion that no gradient was computed for."""
    loss: float
    kl: float | None
    clip_share: float
    informative_groups: int
    gradient_norm: float
    """0 where no group carried a signal; not finite where the step was therefore not taken."""
    learning_rate: float
    logprob_gap: float | None
    """Mean |trainer - engine| log-probability over the trained tokens, nats."""
    logprob_gap_max: float | None
    entropy: float | None


class Learner:
    """A policy under training: holds the optimizer and the methods, and knows how to make one update."""

    def __init__(
        self, spec: Trainer, policy: Policy, engine: Engine, prompts: Sequence[Prompt], grader: Grader,
        meter: Meter, seed: int,
    ) -> None:  # fmt: skip
        self.spec = spec
        self.policy = policy
        self.engine = engine
        self.prompts = prompts
        self.grader = grader
        self.meter = meter
        self.seed = seed
        self.credit = build_credit(spec.credit)
        self.reward = build_reward(spec.reward)
        self.selection = build_selection(spec.selection, prompts=len(prompts), seed=seed)
        self.shape = policy.shape()
        optimizer = spec.optimizer
        self.optimizer = torch.optim.AdamW(
            list(policy.trainable.values()), lr=optimizer.learning_rate,
            betas=(optimizer.beta1, optimizer.beta2), eps=optimizer.epsilon,
            weight_decay=optimizer.weight_decay, fused=True,
        )  # fmt: skip
        self.start = policy.weights() if spec.loss.kl_coefficient > 0 else None

    def update(self, step: int, learning_rate: float) -> UpdateResult:
        """Make update `step` (from 1) at the given rate."""
        chosen = self.selection.choose(step, self.spec.prompts_per_update)
        size = self.spec.samples_per_prompt
        prompts = [self.prompts[i] for i in chosen for _ in range(size)]
        groups = [group for group in range(len(chosen)) for _ in range(size)]
        samples = [sample for _ in chosen for sample in range(size)]

        with self.meter.phase("generate", "rollout"):
            completions = self.engine.generate(
                [
                    Request(p.token_ids, sequence_key(self.seed, "rollout", step, p.id, g, s))
                    for p, g, s in zip(prompts, groups, samples, strict=True)
                ],
                Sampling(
                    self.spec.max_new_tokens, self.spec.temperature, max_batch=self.spec.engine.max_batch
                ),
            )
        self._count_generation(prompts, completions)
        self.engine.rest()

        with self.meter.phase("grade"):
            finished = [c.finish_reason == "stop" for c in completions]
            grades = self.grader([p.gold for p in prompts], [c.text for c in completions], finished)
            rewards = self.reward.rewards(grades)
            group_ids = np.array(groups, dtype=np.int64)
            ungraded = {g for g, grade in zip(groups, grades, strict=True) if grade.state == "grader_error"}
            signal = informative(rewards, group_ids) & ~np.isin(group_ids, list(ungraded))
            advantages = np.where(signal, group_advantages(rewards, group_ids, self.spec.advantage), 0.0)

        run = _Optimisation(self, step, prompts, completions, samples, advantages, groups)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        run.run(signal)
        with self.meter.phase("sync"):
            self.engine.sync()

        gap = np.concatenate(run.gaps) if run.gaps else None
        entropies = [record.entropy for record in run.records if record is not None]
        return UpdateResult(
            step=step, prompts=prompts, groups=groups, samples=samples, completions=completions,
            grades=grades, rewards=rewards, advantages=advantages, tokens=run.records, loss=run.loss,
            kl=run.kl / run.tokens if self.start is not None and run.tokens else None,
            clip_share=run.clipped / run.tokens if run.tokens else 0.0,
            informative_groups=len(set(group_ids[signal].tolist())), gradient_norm=run.gradient_norm,
            learning_rate=learning_rate,
            logprob_gap=float(gap.mean()) if gap is not None else None,
            logprob_gap_max=float(gap.max()) if gap is not None else None,
            entropy=float(np.concatenate(entropies).mean()) if entropies else None,
        )  # fmt: skip

    def _count_generation(self, prompts: list[Prompt], completions: list[Completion]) -> None:
        sizes = [(len(p.token_ids), len(c.token_ids)) for p, c in zip(prompts, completions, strict=True)]
        generated, prompt_tokens = sum(g for _, g in sizes), sum(p for p, _ in sizes)
        attended = sum(attended_causally(p, 0) + attended_decoding(p, g) for p, g in sizes)
        decoded = sum(p + max(g - 1, 0) for p, g in sizes)
        operations = self.shape.forward(decoded, attended, generated)
        self.meter.count("generate", "rollout", generated=generated, prompt=prompt_tokens, flops=operations)


class _Optimisation:
    """The gradient steps of one update, with what they measured."""

    def __init__(
        self, learner: Learner, step: int, prompts: list[Prompt], completions: list[Completion],
        samples: list[int], advantages: npt.NDArray[np.float64], groups: list[int],
    ) -> None:  # fmt: skip
        self.learner = learner
        self.prompts = prompts
        self.completions = completions
        self.advantages = advantages
        self.groups = groups
        self.keys = [
            sequence_key(learner.seed, "credit", step, p.id, g, s)
            for p, g, s in zip(prompts, groups, samples, strict=True)
        ]
        self.records: list[TokenRecord | None] = [None] * len(completions)
        self.gaps: list[npt.NDArray[np.float32]] = []
        self.loss = self.kl = self.clipped = self.gradient_norm = 0.0
        self.tokens = 0

    def run(self, signal: npt.NDArray[np.bool_]) -> None:
        """One optimizer step for each mini-batch that holds a completion with a signal."""
        spec = self.learner.spec
        indices = np.flatnonzero(signal)
        if not len(indices):
            return
        parts = np.array_split(np.arange(len(self.completions)), spec.optimizer_steps_per_update)
        old = self._frozen_logprobs(indices.tolist()) if len(parts) > 1 else {}
        reference: dict[int, torch.Tensor] = {}
        if self.learner.start is not None:
            with self.learner.policy.as_reference(self.learner.start):
                reference = self._frozen_logprobs(indices.tolist())
        for part in parts:
            trained = [int(i) for i in part if signal[i]]
            if trained:
                share = denominator(
                    spec.loss, sum(len(self.completions[i].token_ids) for i in part), len(part)
                )
                self._optimizer_step(trained, share, old, reference)

    def _optimizer_step(
        self,
        trained: list[int],
        share: float,
        old: dict[int, torch.Tensor],
        reference: dict[int, torch.Tensor],
    ) -> None:
        learner, spec = self.learner, self.learner.spec
        learner.optimizer.zero_grad(set_to_none=True)
        for members in self._micro_batches(trained):
            with learner.meter.phase("forward"):
                batch = self._batch(members)
                statistics = learner.policy.statistics(batch, spec.temperature)
                credited = self._credited(members, batch, statistics)
                engine = self._engine_logprobs(members)
                loss, sums = policy_loss(
                    statistics.logprob,
                    _joined(old, members) if old else statistics.logprob.detach(),
                    credited,
                    batch.segments,
                    spec.loss,
                    denominator=share,
                    engine_logprob=engine,
                    reference_logprob=_joined(reference, members) if reference else None,
                )
            with learner.meter.phase("backward"):
                loss.backward()
            self._count_pass(members, backward=True)
            self._record(members, statistics, credited, engine, sums)
        with learner.meter.phase("optimizer"):
            limit = spec.optimizer.max_gradient_norm
            norm = torch.nn.utils.clip_grad_norm_(
                learner.policy.trainable.values(), limit if limit is not None else float("inf")
            )
            self.gradient_norm = float(norm)
            if np.isfinite(self.gradient_norm):
                learner.optimizer.step()

    def _credited(self, members: list[int], batch: Batch, statistics: TokenStatistics) -> torch.Tensor:
        device = self.learner.policy.device
        keys = torch.tensor([self.keys[i] for i in members], dtype=torch.int64, device=device)
        advantage = torch.tensor(self.advantages[members], dtype=torch.float32, device=device)
        multipliers = self.learner.credit.multipliers(statistics, batch.segments, keys)
        return advantage[batch.segments.index] * multipliers

    def _frozen_logprobs(self, members: list[int]) -> dict[int, torch.Tensor]:
        """Log-probs of each member's tokens under the policy as it stands, without gradient."""
        result: dict[int, torch.Tensor] = {}
        for part in self._micro_batches(members):
            with self.learner.meter.phase("forward"), torch.no_grad():
                batch = self._batch(part)
                logprob = self.learner.policy.statistics(batch, self.learner.spec.temperature).logprob
                pieces = logprob.split(batch.segments.lengths.tolist())
                result.update(zip(part, pieces, strict=True))
            self._count_pass(part, backward=False)
        return result

    def _micro_batches(self, members: list[int]) -> list[list[int]]:
        lengths = [len(self.prompts[i].token_ids) + len(self.completions[i].token_ids) for i in members]
        limit = self.learner.spec.micro_batch_tokens
        return [[members[k] for k in part] for part in micro_batches(lengths, limit)]

    def _batch(self, members: list[int]) -> Batch:
        return Batch.of(
            [self.prompts[i].token_ids for i in members],
            [self.completions[i].token_ids for i in members],
            self.learner.policy.device,
        )

    def _engine_logprobs(self, members: list[int]) -> torch.Tensor:
        values = np.concatenate([self.completions[i].logprobs for i in members])
        return torch.from_numpy(values).to(self.learner.policy.device)

    def _count_pass(self, members: list[int], *, backward: bool) -> None:
        shape = self.learner.shape
        sizes = [(len(self.prompts[i].token_ids), len(self.completions[i].token_ids)) for i in members]
        tokens = sum(p + g for p, g in sizes)
        attended = sum(attended_causally(p, g) for p, g in sizes)
        scored = sum(g for _, g in sizes)
        self.learner.meter.count("forward", None, flops=shape.forward(tokens, attended, scored))
        if backward:
            self.learner.meter.count("backward", None, flops=shape.backward(tokens, attended, scored))

    def _record(
        self, members: list[int], statistics: TokenStatistics, credited: torch.Tensor, engine: torch.Tensor,
        sums: LossSums,
    ) -> None:  # fmt: skip
        sizes = [len(self.completions[i].token_ids) for i in members]
        columns = [t.detach().cpu().split(sizes) for t in (statistics.entropy, statistics.margin, credited)]
        for i, entropy, margin, credit in zip(members, *columns, strict=True):
            self.records[i] = TokenRecord(entropy.numpy(), margin.numpy(), credit.numpy())
        self.gaps.append((statistics.logprob.detach() - engine).abs().cpu().numpy())
        self.loss += float(sums.loss)
        self.kl += float(sums.kl)
        self.clipped += float(sums.clipped)
        self.tokens += sums.tokens


def _joined(pieces: dict[int, Any], members: list[int]) -> torch.Tensor:
    return torch.cat([pieces[i] for i in members])
