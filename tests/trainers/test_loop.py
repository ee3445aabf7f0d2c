"""One update: what must not change it, what must change nothing, and what it records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from prereg.problems import Refused
from prereg.study import merged_trainer
from prereg.trainer import Trainer
from tests.trainers.conftest import CountingMeter, exact_grader, load_policy
from trainers.checkpoint import DamagedCheckpoint, load_checkpoint, save_checkpoint
from trainers.draws import draw
from trainers.engines.transformers import TransformersEngine
from trainers.loop import Learner
from trainers.segments import Segments
from trainers.selection import Gathered
from trainers.statistics import TokenStatistics
from trainers.types import Grade, Prompt

BASE = Trainer(max_new_tokens=48, prompts_per_update=6, samples_per_prompt=8)


def learner_of(
    prompts: list[Prompt], tokenizer: Any, grader: Any = exact_grader, **difference: Any
) -> Learner:
    spec = merged_trainer(BASE, difference)
    policy = load_policy(spec.adapter, chunk=spec.logits_chunk)
    engine = TransformersEngine(policy, tokenizer)
    return Learner(spec, policy, engine, prompts, grader, CountingMeter(), seed=3)


def gradient_of(learner: Learner) -> torch.Tensor:
    """The gradient of the first update: Adam's step would amplify rounding where a gradient is near zero."""
    learner.update(1, 0.0)
    return torch.cat([p.grad.flatten() for p in learner.policy.trainable.values() if p.grad is not None])


@pytest.mark.parametrize("aggregation", ["token_mean", "sequence_mean"])
@pytest.mark.parametrize("credit", ["uniform", "margin", "shuffled"])
def test_the_update_does_not_depend_on_micro_batches_or_chunks(
    prompts: list[Prompt], tokenizer: Any, aggregation: str, credit: str
) -> None:
    difference = {
        "credit": {"kind": credit}, "loss": {"aggregation": aggregation},
        "optimizer": {"max_gradient_norm": None},
    }  # fmt: skip
    whole = gradient_of(learner_of(prompts, tokenizer, **difference))
    split = gradient_of(learner_of(prompts, tokenizer, **difference, micro_batch_tokens=60, logits_chunk=7))
    scale = float(whole.abs().max())
    assert scale > 1e-4
    torch.testing.assert_close(split, whole, rtol=0, atol=1e-5 * scale)


def test_a_rate_of_zero_leaves_weights_and_the_logprob_gap_as_they_were(
    prompts: list[Prompt], tokenizer: Any
) -> None:
    learner = learner_of(prompts, tokenizer)
    before = learner.policy.digest()
    gaps = [learner.update(step, 0.0).logprob_gap_max for step in range(1, 6)]
    assert learner.policy.digest() == before
    assert all(gap is not None and gap < 2e-5 for gap in gaps)


def test_groups_without_a_signal_cost_no_pass(prompts: list[Prompt], tokenizer: Any) -> None:
    def all_wrong(golds: list[str], texts: list[str], finished: list[bool]) -> list[Grade]:
        return [Grade("incorrect", None) for _ in golds]

    learner = learner_of(prompts, tokenizer, all_wrong)
    before = learner.policy.digest()
    result = learner.update(1, 1e-3)
    assert result.informative_groups == 0
    assert result.gradient_norm == 0.0
    assert learner.policy.digest() == before
    assert not {"forward", "backward", "optimizer"} & set(learner.meter.phases)  # type: ignore[attr-defined]
    assert "forward" not in learner.meter.flops  # type: ignore[attr-defined]


def test_completions_without_a_signal_still_count_in_the_denominator(
    prompts: list[Prompt], tokenizer: Any
) -> None:
    learner = learner_of(prompts, tokenizer, optimizer={"max_gradient_norm": None})
    result = learner.update(1, 0.0)
    trained = [i for i, record in enumerate(result.tokens) if record is not None]
    assert 0 < len(trained) < len(result.completions)
    tokens = sum(len(c.token_ids) for c in result.completions)
    expected = -sum(float(result.tokens[i].credit.sum()) for i in trained) / tokens  # type: ignore[union-attr]
    assert result.loss == pytest.approx(expected, abs=1e-6)
    only_trained = sum(len(result.completions[i].token_ids) for i in trained)
    norm_share = result.gradient_norm * tokens / only_trained
    assert norm_share > result.gradient_norm  # a denominator of the trained tokens would give a larger step


def test_a_group_that_the_grader_failed_on_is_left_out_and_not_scored_zero(
    prompts: list[Prompt], tokenizer: Any
) -> None:
    def failing(golds: list[str], texts: list[str], finished: list[bool]) -> list[Grade]:
        return [Grade("correct" if i % 8 else "grader_error", None) for i in range(len(golds))]

    result = learner_of(prompts, tokenizer, failing).update(1, 1e-3)
    assert result.informative_groups == 0
    assert not result.advantages.any()


def test_prompts_and_noise_are_shared_by_arms_of_equal_seed(prompts: list[Prompt], tokenizer: Any) -> None:
    first = learner_of(prompts, tokenizer).update(1, 1e-4)
    second = learner_of(prompts, tokenizer, credit={"kind": "margin"}).update(1, 1e-4)
    assert [p.id for p in first.prompts] == [p.id for p in second.prompts]
    assert all(
        np.array_equal(a.token_ids, b.token_ids)
        for a, b in zip(first.completions, second.completions, strict=True)
    )


def test_credit_keeps_the_completions_advantage_on_average(prompts: list[Prompt], tokenizer: Any) -> None:
    result = learner_of(prompts, tokenizer, credit={"kind": "margin"}).update(1, 1e-4)
    for record, advantage in zip(result.tokens, result.advantages, strict=True):
        if record is not None:
            assert float(record.credit.mean()) == pytest.approx(float(advantage), rel=1e-4)


def test_several_optimizer_steps_clip_against_the_policy_that_sampled(
    prompts: list[Prompt], tokenizer: Any
) -> None:
    learner = learner_of(
        prompts, tokenizer, optimizer_steps_per_update=3, loss={"clip_high": 1e-4, "clip_low": 1e-4}
    )
    shares = [learner.update(step, 1e-3).clip_share for step in range(1, 5)]
    assert max(shares) > 0.0
    one_step = learner_of(prompts, tokenizer, loss={"clip_high": 1e-4, "clip_low": 1e-4})
    assert one_step.update(1, 1e-3).clip_share == 0.0


def test_kl_to_the_start_is_zero_at_the_start_and_positive_later(
    prompts: list[Prompt], tokenizer: Any
) -> None:
    learner = learner_of(prompts, tokenizer, loss={"kl_coefficient": 0.01})
    results = [learner.update(step, 2e-3) for step in range(1, 5)]
    assert results[0].kl == pytest.approx(0.0, abs=1e-6)
    assert results[-1].kl is not None
    assert results[-1].kl > 1e-4


def test_resuming_from_a_checkpoint_equals_going_on(
    prompts: list[Prompt], tokenizer: Any, tmp_path: Any
) -> None:
    whole = learner_of(prompts, tokenizer)
    for step in (1, 2):
        whole.update(step, 1e-3)
    save_checkpoint(tmp_path, whole.policy.weights(), whole.optimizer, {"step": 2})
    for step in (3, 4):
        whole.update(step, 1e-3)
    resumed = learner_of(prompts, tokenizer)
    assert load_checkpoint(tmp_path, resumed.policy.trainable, resumed.optimizer) == {"step": 2}
    for step in (3, 4):
        resumed.update(step, 1e-3)
    assert resumed.policy.digest() == whole.policy.digest()
    forgetful = learner_of(prompts, tokenizer)
    forgetful.policy.set_weights(whole.policy.weights())
    assert forgetful.optimizer.state_dict()["state"] == {}


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.safetensors", "state.json"])
def test_a_damaged_checkpoint_is_an_error_and_not_a_fresh_start(
    prompts: list[Prompt], tokenizer: Any, tmp_path: Any, name: str
) -> None:
    learner = learner_of(prompts, tokenizer)
    learner.update(1, 1e-3)
    save_checkpoint(tmp_path, learner.policy.weights(), learner.optimizer, {})
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-5] if name != "state.json" else b"{")
    with pytest.raises(DamagedCheckpoint):
        load_checkpoint(tmp_path, learner.policy.trainable, learner.optimizer)


def test_lora_learns_and_leaves_the_base_alone(prompts: list[Prompt], tokenizer: Any) -> None:
    lora = {"kind": "lora", "rank": 4, "alpha": 8.0, "targets": ["q_proj", "v_proj"]}
    learner = learner_of(prompts, tokenizer, adapter=lora)
    base, start = learner.policy.digest(base=True), learner.policy.digest()
    for step in range(1, 4):
        learner.update(step, 1e-2)
    assert learner.policy.digest(base=True) == base
    assert learner.policy.digest() != start


def test_gradient_checkpointing_does_not_change_the_gradient(prompts: list[Prompt], tokenizer: Any) -> None:
    plain = gradient_of(learner_of(prompts, tokenizer))
    spec = merged_trainer(BASE, {"gradient_checkpointing": True})
    policy = load_policy(checkpointing=True)
    learner = Learner(
        spec, policy, TransformersEngine(policy, tokenizer), prompts, exact_grader, CountingMeter(), seed=3
    )
    torch.testing.assert_close(gradient_of(learner), plain, rtol=0, atol=1e-5 * float(plain.abs().max()))


class Burst:
    """Multipliers too large for a float in the first micro-batch it is asked about, 1 in all others."""

    def __init__(self) -> None:
        self.asked = 0

    def multipliers(
        self, statistics: TokenStatistics, segments: Segments, keys: torch.Tensor
    ) -> torch.Tensor:
        self.asked += 1
        return torch.ones_like(statistics.logprob) * (1e38 if self.asked == 1 else 1.0)


def test_a_step_that_is_not_made_shows_in_the_norm_of_the_update(
    prompts: list[Prompt], tokenizer: Any
) -> None:
    learner = learner_of(prompts, tokenizer, optimizer_steps_per_update=2)
    learner.credit = Burst()
    result = learner.update(1, 1e-4)
    assert not np.isfinite(result.gradient_norm)
    assert all(torch.isfinite(p).all() for p in learner.policy.trainable.values())


def test_what_is_generated_and_not_charged_stops_the_run(prompts: list[Prompt], tokenizer: Any) -> None:
    """A selection that draws to look and does not say so would be cheaper than it is."""
    learner = learner_of(prompts, tokenizer)
    honest = learner.selection.gather

    def looks_first(step: int) -> Gathered:
        draw(learner.setting, step, "screening", [0, 1], samples=2)
        return honest(step)

    learner.update(1, 0.0)
    learner.selection.gather = looks_first  # type: ignore[method-assign]
    with pytest.raises(Refused, match=r"tokens were generated for this update and .* charged"):
        learner.update(2, 0.0)
