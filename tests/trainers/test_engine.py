"""The transformers engine: exact log-probs, the right law, completions that owe nothing to their company."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.trainers.conftest import load_policy
from trainers.engines import Sampling
from trainers.engines.transformers import TransformersEngine, next_token_law
from trainers.noise import sequence_key
from trainers.policy import Batch, Policy
from trainers.types import Completion, Prompt, Request

CAP = 48


def requests(prompts: list[Prompt], samples: int, *parts: Any) -> list[Request]:
    return [Request(p.token_ids, sequence_key(0, *parts, p.id, s)) for p in prompts for s in range(samples)]


def same(a: Completion, b: Completion) -> bool:
    return bool(np.array_equal(a.token_ids, b.token_ids)) and a.finish_reason == b.finish_reason


@pytest.fixture
def engine(policy: Policy, tokenizer: Any) -> TransformersEngine:
    return TransformersEngine(policy, tokenizer)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_sampling_and_training_logprobs_agree(
    engine: TransformersEngine, policy: Policy, prompts: list[Prompt], temperature: float
) -> None:
    wanted = requests(prompts, 4, "gap")
    completions = engine.generate(wanted, Sampling(CAP, temperature))
    batch = Batch.of([r.token_ids for r in wanted], [c.token_ids for c in completions], torch.device("cpu"))
    trained = policy.statistics(batch, temperature).logprob.detach().numpy()
    gap = np.abs(trained - np.concatenate([c.logprobs for c in completions]))
    # A few tokens in ten thousand stand where float32 itself is off by 1e-4 from float64 in this model.
    assert np.quantile(gap, 0.99) < 2e-5
    assert gap.max() < 3e-4


def test_a_completion_is_the_same_whatever_stands_beside_it(
    engine: TransformersEngine, prompts: list[Prompt]
) -> None:
    wanted = requests(prompts[:12], 3, "company")
    together = engine.generate(wanted, Sampling(CAP))
    one_by_one = [engine.generate([r], Sampling(CAP))[0] for r in wanted]
    small_batches = engine.generate(wanted, Sampling(CAP, max_batch=5))
    reversed_order = engine.generate(wanted[::-1], Sampling(CAP))[::-1]
    for other in (one_by_one, small_batches, reversed_order):
        assert all(same(a, b) for a, b in zip(together, other, strict=True))


def test_prefixes_of_many_lengths_with_caps_of_their_own_are_continued_together(
    engine: TransformersEngine, prompts: list[Prompt]
) -> None:
    whole = engine.generate(requests(prompts[:6], 1, "prefixes"), Sampling(CAP))
    wanted = [
        Request((*p.token_ids, *c.token_ids[:kept].tolist()), sequence_key(1, p.id, kept, k), cap)
        for p, c in zip(prompts[:6], whole, strict=True)
        for kept, cap in ((1, 3), (5, CAP - 5), (9, 7))
        for k in range(2)
    ]
    together = engine.generate(wanted, Sampling(CAP))
    small = engine.generate(wanted, Sampling(CAP, max_batch=4))
    for request, one, other in zip(wanted, together, small, strict=True):
        assert request.max_new_tokens is not None
        alone = engine.generate([Request(request.token_ids, request.key)], Sampling(request.max_new_tokens))
        assert same(one, alone[0])
        assert same(one, other)
        assert len(one.token_ids) <= request.max_new_tokens
    cut = {r.max_new_tokens for r, c in zip(wanted, together, strict=True) if c.finish_reason == "length"}
    assert {3, 7} <= cut
    assert any(c.finish_reason == "stop" for c in together)


def test_greedy_decoding_equals_transformers_generate(
    engine: TransformersEngine, policy: Policy, prompts: list[Prompt]
) -> None:
    # At a temperature near zero the noise cannot change the largest.
    found = engine.generate(requests(prompts[:8], 1, "greedy"), Sampling(CAP, temperature=1e-4))
    for prompt, completion in zip(prompts[:8], found, strict=True):
        ids = torch.tensor([prompt.token_ids])
        expected = policy.model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=CAP
        )[0, ids.shape[1] :]
        assert completion.token_ids.tolist() == expected.tolist()


def test_first_tokens_follow_the_policys_law(
    engine: TransformersEngine, policy: Policy, prompts: list[Prompt]
) -> None:
    from scipy import stats

    prompt = max(prompts, key=lambda p: len(p.token_ids))
    completions = engine.generate(requests([prompt], 4000, "law"), Sampling(1))
    with torch.no_grad():
        logits = policy.model(input_ids=torch.tensor([prompt.token_ids])).logits[0, -1]
    law = torch.softmax(logits.double(), 0).numpy()
    counts = np.bincount([int(c.token_ids[0]) for c in completions], minlength=len(law))
    likely = law * 4000 >= 5
    grouped = (
        np.append(counts[likely], counts[~likely].sum()),
        np.append(law[likely], law[~likely].sum()) * 4000,
    )
    kept = grouped[1] > 0.5
    assert (
        stats.chisquare(
            grouped[0][kept], grouped[1][kept] / grouped[1][kept].sum() * grouped[0][kept].sum()
        ).pvalue
        > 1e-3
    )


def test_completions_end_with_the_end_token_or_are_cut_at_the_cap(
    engine: TransformersEngine, tokenizer: Any, prompts: list[Prompt]
) -> None:
    for completion in engine.generate(requests(prompts[:16], 4, "ends"), Sampling(20)):
        ids = completion.token_ids.tolist()
        assert len(ids) <= 20
        assert len(ids) == len(completion.logprobs)
        assert tokenizer.eos_token_id not in ids[:-1]
        finished = ids[-1] == tokenizer.eos_token_id
        assert completion.finish_reason == ("stop" if finished else "length")
        assert finished or len(ids) == 20


def test_stop_strings_end_a_completion(policy: Policy, tokenizer: Any, prompts: list[Prompt]) -> None:
    engine = TransformersEngine(policy, tokenizer, stop=[","])
    for completion in engine.generate(requests(prompts[:8], 2, "stop"), Sampling(CAP)):
        assert completion.text.count(",") <= 1
        assert completion.finish_reason == "stop"


def test_nucleus_keeps_the_smallest_set_that_reaches_top_p() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]]))
    law = next_token_law(logits, Sampling(1, top_p=0.7)).exp()
    assert law[0].tolist() == pytest.approx([0.625, 0.375, 0.0, 0.0])
    assert next_token_law(logits, Sampling(1, top_p=0.4)).exp()[0].tolist() == pytest.approx([1, 0, 0, 0])


def test_the_engine_samples_from_the_present_weights(tokenizer: Any, prompts: list[Prompt]) -> None:
    policy = load_policy()
    engine = TransformersEngine(policy, tokenizer)
    wanted = requests(prompts[:8], 4, "sync")
    before = engine.generate(wanted, Sampling(CAP))
    with torch.no_grad():
        for parameter in policy.trainable.values():
            parameter.mul_(1.3)
    engine.sync()
    assert not all(same(a, b) for a, b in zip(before, engine.generate(wanted, Sampling(CAP)), strict=True))
