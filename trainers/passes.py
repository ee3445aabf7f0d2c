"""Passes over completions in micro-batches: laying them out, reading them, and counting the work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from trainers.batching import micro_batches
from trainers.flops import attended_causally
from trainers.policy import Batch
from trainers.setting import Setting
from trainers.types import Completion, Prompt


@dataclass(frozen=True, slots=True)
class Passes:
    """The completions of an update, by index."""

    setting: Setting
    prompts: Sequence[Prompt]
    completions: Sequence[Completion]

    def micro_batches(self, members: Sequence[int]) -> list[list[int]]:
        """`members` in groups of at most `micro_batch_tokens` padded tokens."""
        lengths = [len(self.prompts[i].token_ids) + len(self.completions[i].token_ids) for i in members]
        parts = micro_batches(lengths, self.setting.spec.micro_batch_tokens)
        return [[members[k] for k in part] for part in parts]

    def batch(self, members: Sequence[int]) -> Batch:
        """`members` laid out for one pass."""
        return Batch.of(
            [self.prompts[i].token_ids for i in members],
            [self.completions[i].token_ids for i in members],
            self.setting.policy.device,
        )

    def frozen_logprobs(self, members: Sequence[int], phase: str = "forward") -> dict[int, torch.Tensor]:
        """Log-probs of each member's tokens under the policy's present weights, without gradient."""
        result: dict[int, torch.Tensor] = {}
        for part in self.micro_batches(members):
            with self.setting.meter.phase(phase), torch.no_grad():
                batch = self.batch(part)
                logprob = self.setting.policy.statistics(batch, self.setting.spec.temperature).logprob
                pieces = logprob.split(batch.segments.lengths.tolist())
                result.update(zip(part, pieces, strict=True))
            self.count(part, forward=phase)
        return result

    def count(self, members: Sequence[int], *, forward: str = "forward", backward: bool = False) -> None:
        """Count the operations of a pass over `members`: forward, under that phase, and backward."""
        setting = self.setting
        sizes = [(len(self.prompts[i].token_ids), len(self.completions[i].token_ids)) for i in members]
        tokens = sum(p + g for p, g in sizes)
        attended = sum(attended_causally(p, g) for p, g in sizes)
        scored = sum(g for _, g in sizes)
        setting.meter.count(forward, None, flops=setting.shape.forward(tokens, attended, scored))
        if backward:
            setting.meter.count("backward", None, flops=setting.shape.backward(tokens, attended, scored))
