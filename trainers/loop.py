"""One update, readable from top to bottom: gather rollouts, score them, credit, loss, step, learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from prereg.problems import Problem, Refused
from prereg.trainer import Trainer
from trainers.advantage import informative
from trainers.credit import build_credit
from trainers.draws import Draws, charge
from trainers.engines import Engine
from trainers.engines.counted import CountedEngine
from trainers.loss import LossSums, denominator, policy_loss
from trainers.metering import Meter
from trainers.noise import sequence_key
from trainers.passes import Passes
from trainers.policy import Batch, Policy
from trainers.reward import Scored, build_reward
from trainers.selection import Gathered, build_selection
from trainers.setting import Setting
from trainers.statistics import TokenStatistics
from trainers.types import Completion, Grade, Grader, Prompt


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """What the training pass read of one completion's tokens; each float32 of shape (tokens,)."""

    entropy: npt.NDArray[np.float32]
    margin: npt.NDArray[np.float32]
    credit: npt.NDArray[np.float32]
    """The advantage that each token got."""


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """Everything an update leaves for the ledger. Arrays run over the rollouts, in group order."""

    step: int
    gathered: Gathered
    rewards: npt.NDArray[np.float64]
    other_rewards: list[npt.NDArray[np.float64]]
    """Of each of `gathered.others`."""
    scored: Scored
    tokens: list[TokenRecord | None]
    """None for a completion that no gradient was computed for."""
    loss: float
    kl: float | None
    clip_share: float
    informative_groups: int
    """Groups whose rewards differ."""
    gradient_norm: float
    """0 where no group carried a signal; not finite where the step was therefore not taken."""
    learning_rate: float
    logprob_gap: float | None
    """Mean |trainer - engine| log-probability over the trained tokens, nats."""
    logprob_gap_max: float | None
    entropy: float | None
    reward_loss: float | None
    """Of a reward that learns, over this update's rollouts."""

    @property
    def prompts(self) -> list[Prompt]:
        """The prompt of each completion."""
        return self.gathered.rollouts.prompts

    @property
    def groups(self) -> list[int]:
        """The group of each completion."""
        return self.gathered.rollouts.groups

    @property
    def samples(self) -> list[int]:
        """The number of each completion in its group."""
        return self.gathered.rollouts.samples

    @property
    def completions(self) -> list[Completion]:
        """The completions that were trained on, or would have been."""
        return self.gathered.rollouts.completions

    @property
    def grades(self) -> list[Grade]:
        """Their grades."""
        return self.gathered.rollouts.grades

    @property
    def advantages(self) -> npt.NDArray[np.float64]:
        """Their advantages before credit, shape (completions,)."""
        return self.scored.advantages


class Learner:
    """A policy under training: holds the optimizer and the methods, and knows how to make one update."""

    def __init__(
        self, spec: Trainer, policy: Policy, engine: Engine, prompts: Sequence[Prompt], grader: Grader,
        meter: Meter, seed: int,
    ) -> None:  # fmt: skip
        self._counted = CountedEngine(engine)
        self.setting = Setting(spec, policy, self._counted, prompts, grader, meter, seed, policy.shape())
        self.spec, self.policy, self.meter, self.shape = spec, policy, meter, self.setting.shape
        self.credit = build_credit(spec.credit)
        self.reward = build_reward(spec.reward, self.setting)
        self.selection = build_selection(spec.selection, self.setting, self.reward.rewards)
        optimizer = spec.optimizer
        self.optimizer = torch.optim.AdamW(
            list(policy.trainable.values()), lr=optimizer.learning_rate,
            betas=(optimizer.beta1, optimizer.beta2), eps=optimizer.epsilon,
            weight_decay=optimizer.weight_decay, fused=True,
        )  # fmt: skip
        self.start = policy.weights() if spec.loss.kl_coefficient > 0 else None

    @property
    def engine(self) -> Engine:
        """What samples."""
        return self.setting.engine

    def gather(self, step: int) -> Gathered:
        """Sample and grade the rollouts of an update, and charge all that was sampled for them."""
        gathered = self.selection.gather(step)
        for draws in (gathered.rollouts, *gathered.others):
            charge(self.setting, draws)
        return gathered

    def update(self, step: int, learning_rate: float) -> UpdateResult:
        """Make update `step` (from 1) at the given rate.

        Raises Refused if a method generated more, or less, than is charged.
        """
        generated, charged = self._counted.generated, self.setting.charged
        gathered = self.gather(step)
        rollouts = gathered.rollouts
        rewards = self.reward.rewards(rollouts.grades)
        scored = self.reward.score(rollouts)
        self._reconcile(self._counted.generated - generated, self.setting.charged - charged)
        self.engine.rest()
        run = _Optimisation(self, rollouts, scored)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        run.run()
        reward_loss = self.reward.learn(rollouts)
        self.selection.observe(gathered)
        with self.meter.phase("sync"):
            self.engine.sync()

        gap = np.concatenate(run.gaps) if run.gaps else None
        entropies = [record.entropy for record in run.records if record is not None]
        useful = informative(rewards, rollouts.group_ids) & rollouts.graded
        return UpdateResult(
            step=step, gathered=gathered, rewards=rewards,
            other_rewards=[self.reward.rewards(draws.grades) for draws in gathered.others],
            scored=scored, tokens=run.records, loss=run.loss,
            kl=run.kl / run.tokens if self.start is not None and run.tokens else None,
            clip_share=run.clipped / run.tokens if run.tokens else 0.0,
            informative_groups=len(set(rollouts.group_ids[useful].tolist())), gradient_norm=run.gradient_norm,
            learning_rate=learning_rate,
            logprob_gap=float(gap.mean()) if gap is not None else None,
            logprob_gap_max=float(gap.max()) if gap is not None else None,
            entropy=float(np.concatenate(entropies).mean()) if entropies else None,
            reward_loss=reward_loss,
        )  # fmt: skip

    def _reconcile(self, generated: int, charged: int) -> None:
        """Whether what the engine generated for this update is what was charged for it."""
        if generated == charged:
            return
        kinds = f"selection `{self.spec.selection.kind}` and reward `{self.spec.reward.kind}`"
        message = f"{generated:,} tokens were generated for this update and {charged:,} charged ({kinds})"
        hint = (
            "A selection returns all that it drew, a reward charges what it draws: `trainers.draws.charge`."
        )
        raise Refused(Problem(message, hint=hint))


class _Optimisation:
    """The gradient steps of one update, with what they measured."""

    def __init__(self, learner: Learner, rollouts: Draws, scored: Scored) -> None:
        self.learner = learner
        self.completions = rollouts.completions
        self.passes = Passes(learner.setting, rollouts.prompts, rollouts.completions)
        self.scored = scored
        self.keys = [
            sequence_key(learner.setting.seed, "credit", rollouts.step, p.id, g, s)
            for p, g, s in zip(rollouts.prompts, rollouts.groups, rollouts.samples, strict=True)
        ]
        self.records: list[TokenRecord | None] = [None] * len(self.completions)
        self.gaps: list[npt.NDArray[np.float32]] = []
        self.loss = self.kl = self.clipped = self.gradient_norm = 0.0
        self.tokens = 0

    def run(self) -> None:
        """One optimizer step for each mini-batch that holds a completion with a signal."""
        spec, signal = self.learner.spec, self.scored.signal
        indices = np.flatnonzero(signal).tolist()
        if not indices:
            return
        parts = np.array_split(np.arange(len(self.completions)), spec.optimizer_steps_per_update)
        old = self.passes.frozen_logprobs(indices) if len(parts) > 1 else {}
        reference: dict[int, torch.Tensor] = {}
        if self.learner.start is not None:
            with self.learner.policy.with_weights(self.learner.start):
                reference = self.passes.frozen_logprobs(indices)
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
        for members in self.passes.micro_batches(trained):
            with learner.meter.phase("forward"):
                batch = self.passes.batch(members)
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
            self.passes.count(members, backward=True)
            self._record(members, statistics, credited, engine, sums)
        with learner.meter.phase("optimizer"):
            limit = spec.optimizer.max_gradient_norm
            norm = torch.nn.utils.clip_grad_norm_(
                learner.policy.trainable.values(), limit if limit is not None else float("inf")
            )
            # Of several steps the last norm stands, unless one was not finite: then that one does.
            if np.isfinite(self.gradient_norm):
                self.gradient_norm = float(norm)
            if np.isfinite(float(norm)):
                learner.optimizer.step()

    def _credited(self, members: list[int], batch: Batch, statistics: TokenStatistics) -> torch.Tensor:
        device = self.learner.policy.device
        keys = torch.tensor([self.keys[i] for i in members], dtype=torch.int64, device=device)
        advantage = torch.from_numpy(np.concatenate([self.scored.tokens[i] for i in members])).to(device)
        return advantage * self.learner.credit.multipliers(statistics, batch.segments, keys)

    def _engine_logprobs(self, members: list[int]) -> torch.Tensor:
        values = np.concatenate([self.completions[i].logprobs for i in members])
        return torch.from_numpy(values).to(self.learner.policy.device)

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
