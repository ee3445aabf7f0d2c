"""The policy: padding changes nothing, adapters start equal under equal seeds, the base never moves."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from prereg.trainer import LoraAdapter
from tests.trainers.conftest import load_policy
from trainers.policy import Batch, Policy, UnsupportedModel
from trainers.types import Prompt

LORA = LoraAdapter(kind="lora", rank=4, alpha=8.0, targets=("q_proj", "v_proj", "up_proj"))


def completions(prompts: list[Prompt]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(2, 17, rng.integers(1, 20)).astype(np.int32) for _ in prompts]


def statistics_of(policy: Policy, prompts: list[Prompt], tokens: list[np.ndarray]) -> torch.Tensor:
    batch = Batch.of([p.token_ids for p in prompts], tokens, torch.device("cpu"))
    s = policy.statistics(batch, 1.0)
    return torch.stack([s.logprob, s.entropy, s.margin]).detach()


def test_padding_and_company_do_not_change_a_tokens_statistics(policy: Policy, prompts: list[Prompt]) -> None:
    tokens = completions(prompts[:10])
    together = statistics_of(policy, prompts[:10], tokens).split([len(t) for t in tokens], dim=1)
    for i in range(10):
        alone = statistics_of(policy, [prompts[i]], [tokens[i]])
        torch.testing.assert_close(alone, together[i], rtol=1e-4, atol=1e-5)


def test_statistics_equal_the_models_own_logits(policy: Policy, prompts: list[Prompt]) -> None:
    prompt, tokens = prompts[0], completions(prompts[:1])[0]
    ids = torch.tensor([[*prompt.token_ids, *tokens.tolist()]])
    with torch.no_grad():
        law = torch.log_softmax(policy.model(input_ids=ids).logits[0].double(), -1)
    start = len(prompt.token_ids)
    expected = [law[start - 1 + t, token].item() for t, token in enumerate(tokens)]
    assert statistics_of(policy, [prompt], [tokens])[0].tolist() == pytest.approx(expected, abs=1e-5)


def test_lora_trains_adapters_only_and_starts_as_the_base(policy: Policy, prompts: list[Prompt]) -> None:
    adapted = load_policy(LORA)
    assert all("lora_" in name for name in adapted.trainable)
    tokens = completions(prompts[:4])
    torch.testing.assert_close(
        statistics_of(adapted, prompts[:4], tokens), statistics_of(policy, prompts[:4], tokens)
    )


def test_equal_seeds_give_equal_adapters_and_other_seeds_others() -> None:
    torch.manual_seed(123)
    first = load_policy(LORA, seed=5).digest()
    torch.manual_seed(456)
    assert load_policy(LORA, seed=5).digest() == first
    assert load_policy(LORA, seed=6).digest() != first


def test_the_base_does_not_move_however_often_weights_are_set() -> None:
    policy = load_policy(LORA)
    base = policy.digest(base=True)
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        policy.set_weights(
            {n: torch.randn(p.shape, generator=generator) for n, p in policy.trainable.items()}
        )
    assert policy.digest(base=True) == base


def test_weights_of_other_names_are_refused(policy: Policy) -> None:
    with pytest.raises(KeyError, match="differ"):
        policy.set_weights({"nothing": torch.zeros(1)})


def test_a_model_that_changes_its_logits_after_the_output_layer_is_refused(policy: Policy) -> None:
    forward = policy.model.forward

    def capped(*args: object, **kwargs: object) -> object:
        output = forward(*args, **kwargs)
        output.logits = 5 * torch.tanh(output.logits / 5)
        return output

    policy.model.forward = capped
    with pytest.raises(UnsupportedModel, match="after the output layer"):
        Policy(policy.model, torch.device("cpu"), 1024)


def test_the_reference_is_the_start_and_the_policy_comes_back(policy: Policy, prompts: list[Prompt]) -> None:
    start, tokens = policy.weights(), completions(prompts[:2])
    at_start = statistics_of(policy, prompts[:2], tokens)
    policy.set_weights({n: w * 1.1 for n, w in start.items()})
    moved = policy.digest()
    with policy.with_weights(start):
        torch.testing.assert_close(statistics_of(policy, prompts[:2], tokens), at_start)
    assert policy.digest() == moved
