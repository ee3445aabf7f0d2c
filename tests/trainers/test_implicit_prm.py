"""The implicit reward model: its formula by hand, what it learns, and that it leaves the policy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.trainers.test_loop import learner_of
from trainers.checkpoint import load_checkpoint, load_reward, save_checkpoint
from trainers.loop import Learner
from trainers.reward.dense import outcome_rows
from trainers.reward.implicit_prm import ImplicitPrm, returns
from trainers.types import Prompt

PRIME = {"kind": "implicit_prm", "learning_rate": 1e-3, "rescaled": False}


@pytest.fixture
def learner(prompts: list[Prompt], tokenizer: Any) -> Learner:
    return learner_of(prompts, tokenizer, reward=PRIME)


def test_a_token_returns_its_reward_and_all_later_ones() -> None:
    assert returns(np.array([1.0, 2.0, -4.0])).tolist() == [-1.0, -2.0, -4.0]


def test_before_it_has_learned_only_the_outcome_counts(learner: Learner) -> None:
    rollouts = learner.gather(1).rollouts
    found = learner.reward.score(rollouts)
    plain = outcome_rows(rollouts, learner.spec.advantage)
    for row, advantage in zip(found.tokens, plain, strict=True):
        assert row == pytest.approx(advantage, abs=1e-6)


def test_advantages_by_the_formula_written_out(learner: Learner) -> None:
    method = learner.reward
    assert isinstance(method, ImplicitPrm)
    method.learn(learner.gather(1).rollouts)
    rollouts = learner.gather(2).rollouts
    found = method.score(rollouts)
    start, phi = learner.policy.weights(), {n: p.detach() for n, p in method._phi.items()}

    def logprobs(weights: dict[str, torch.Tensor], i: int) -> Any:
        with learner.policy.with_weights(weights), torch.no_grad():
            prompt, ids = list(rollouts.prompts[i].token_ids), rollouts.completions[i].token_ids.tolist()
            logits = learner.policy.model(torch.tensor([prompt + ids])).logits[0].double()
            law = torch.log_softmax(logits[len(prompt) - 1 : -1], dim=1)
            return law.gather(1, torch.tensor(ids)[:, None]).squeeze(1).numpy()

    rewards = [0.05 * (logprobs(phi, i) - logprobs(start, i)) for i in range(16)]  # two groups of eight
    outcome = [float(g.state == "correct") for g in rollouts.grades[:16]]
    for i in (0, 3, 11):
        others = [j for j in range(16) if j // 8 == i // 8 and j != i]
        base = np.mean([rewards[j].mean() for j in others])
        mean = np.mean([outcome[j] for j in [*others, i]])
        tail = [sum(rewards[i][t:] - base) for t in range(len(rewards[i]))]
        assert found.tokens[i] == pytest.approx(np.array(tail) + outcome[i] - mean, abs=1e-5)


def test_it_learns_to_tell_right_from_wrong(learner: Learner) -> None:
    rollouts = learner.gather(1).rollouts
    losses = [learner.reward.learn(rollouts) for _ in range(12)]
    assert losses[0] == pytest.approx(np.log(2), abs=1e-5)  # it begins as the start policy: every logit is 0
    assert losses[-1] is not None
    assert losses[-1] < 0.9 * np.log(2)


def test_scoring_and_learning_leave_the_policy_and_its_gradients_alone(learner: Learner) -> None:
    before = learner.policy.digest()
    rollouts = learner.gather(1).rollouts
    first = learner.reward.score(rollouts)
    again = learner.reward.score(rollouts)
    assert all(np.array_equal(a, b) for a, b in zip(first.tokens, again.tokens, strict=True))
    learner.reward.learn(rollouts)
    assert learner.policy.digest() == before
    assert all(p.grad is None for p in learner.policy.trainable.values())


def test_it_costs_passes_and_no_tokens(prompts: list[Prompt], tokenizer: Any) -> None:
    prime, grpo = learner_of(prompts, tokenizer, reward=PRIME), learner_of(prompts, tokenizer)
    for learner in (prime, grpo):
        learner.update(1, 0.0)
    assert prime.meter.generated == grpo.meter.generated  # type: ignore[attr-defined]
    spent, plain = prime.meter.flops, grpo.meter.flops  # type: ignore[attr-defined]
    assert spent["score"] > plain["forward"] > 0  # two passes over all completions, against one over some
    assert spent["backward"] > plain["backward"]


def test_resuming_equals_going_on_and_forgetting_does_not(
    prompts: list[Prompt], tokenizer: Any, tmp_path: Any
) -> None:
    whole = learner_of(prompts, tokenizer, reward=PRIME)
    for step in (1, 2):
        whole.update(step, 1e-3)
    save_checkpoint(tmp_path, whole.policy.weights(), whole.optimizer, {}, whole.reward.tensors())
    for step in (3, 4):
        whole.update(step, 1e-3)

    def resumed(*, remember: bool) -> Learner:
        learner = learner_of(prompts, tokenizer, reward=PRIME)
        load_checkpoint(tmp_path, learner.policy.trainable, learner.optimizer)
        if remember:
            learner.reward.load_tensors(load_reward(tmp_path))
        for step in (3, 4):
            learner.update(step, 1e-3)
        return learner

    again = resumed(remember=True)
    assert again.policy.digest() == whole.policy.digest()
    for name, tensor in whole.reward.tensors().items():
        assert torch.equal(tensor, again.reward.tensors()[name]), name
    assert resumed(remember=False).policy.digest() != whole.policy.digest()


def test_a_checkpoint_without_the_reward_model_is_refused(learner: Learner, tmp_path: Any) -> None:
    save_checkpoint(tmp_path, learner.policy.weights(), learner.optimizer, {})
    with pytest.raises(KeyError):
        learner.reward.load_tensors(load_reward(tmp_path))


def test_with_adapters_only_they_are_doubled(prompts: list[Prompt], tokenizer: Any) -> None:
    lora = {"kind": "lora", "rank": 4, "alpha": 8.0, "targets": ["q_proj", "v_proj"]}
    learner = learner_of(prompts, tokenizer, adapter=lora, reward=PRIME)
    base = learner.policy.digest(base=True)
    for step in (1, 2):
        learner.update(step, 1e-2)
    assert learner.policy.digest(base=True) == base
    doubled = sum(t.numel() for n, t in learner.reward.tensors().items() if n.startswith("weights/"))
    assert doubled == sum(p.numel() for p in learner.policy.trainable.values())
