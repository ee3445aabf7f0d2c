"""The chunked pass against the plain formulas, which hold tokens x vocabulary."""

from __future__ import annotations

import pytest
import torch

from trainers.statistics import token_statistics, two_largest


def plain(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    targets: torch.Tensor,
    temperature: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    law = torch.log_softmax(torch.nn.functional.linear(hidden, weight, bias) / temperature, dim=1)
    top = law.exp().topk(2, dim=1).values
    entropy = -(law.exp() * law).sum(dim=1)
    return law.gather(1, targets[:, None]).squeeze(1), entropy, top[:, 0] - top[:, 1]


def case(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(37, 16, generator=generator, dtype=torch.float32)
    weight = torch.randn(50, 16, generator=generator)
    bias = torch.randn(50, generator=generator)
    return hidden, weight, bias, torch.randint(0, 50, (37,), generator=generator)


@pytest.mark.parametrize("chunk", [1, 5, 37, 1000])
@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("with_bias", [True, False])
def test_values_and_gradients_equal_the_plain_formulas(
    chunk: int, temperature: float, with_bias: bool
) -> None:
    hidden, weight, bias, targets = case()
    upstream = torch.randn(37, generator=torch.Generator().manual_seed(1))
    results = []
    for chunked in (True, False):
        leaves = [t.clone().requires_grad_() for t in (hidden, weight, bias)]
        used_bias = leaves[2] if with_bias else None
        if chunked:
            s = token_statistics(
                leaves[0], leaves[1], used_bias, targets, temperature=temperature, chunk=chunk
            )
            values = (s.logprob, s.entropy, s.margin)
        else:
            values = plain(leaves[0], leaves[1], used_bias, targets, temperature)
        (values[0] * upstream).sum().backward()
        grads = [leaf.grad for leaf in leaves[: 3 if with_bias else 2]]
        results.append([*[v.detach() for v in values], *grads])
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-5)


def test_a_law_worked_out_by_hand() -> None:
    # Logits ln 6, ln 3, ln 1: probabilities .6, .3, .1.
    weight = torch.log(torch.tensor([[6.0], [3.0], [1.0]]))
    s = token_statistics(torch.ones(1, 1), weight, None, torch.tensor([1]))
    assert s.logprob.item() == pytest.approx(-1.2039728)  # ln .3
    assert s.entropy.item() == pytest.approx(0.8979457)  # -(.6 ln .6 + .3 ln .3 + .1 ln .1)
    assert s.margin.item() == pytest.approx(0.3)


def test_two_equally_likely_tokens_have_no_margin() -> None:
    s = token_statistics(torch.ones(1, 1), torch.tensor([[2.0], [2.0], [-9.0]]), None, torch.tensor([0]))
    assert s.margin.item() == pytest.approx(0.0, abs=1e-7)


def test_entropy_and_margin_carry_no_gradient() -> None:
    hidden, weight, bias, targets = case()
    s = token_statistics(hidden.requires_grad_(), weight, bias, targets)
    assert s.logprob.requires_grad
    assert not s.entropy.requires_grad
    assert not s.margin.requires_grad


def test_a_frozen_output_layer_gets_no_gradient_and_the_hidden_states_do() -> None:
    hidden, weight, _, targets = case()
    hidden.requires_grad_()
    token_statistics(hidden, weight, None, targets, chunk=8).logprob.sum().backward()
    assert weight.grad is None
    assert hidden.grad is not None


def test_extreme_logits_stay_finite() -> None:
    weight = torch.tensor([[80.0], [-80.0], [0.0]])
    s = token_statistics(torch.full((1, 1), 50.0), weight, None, torch.tensor([1]))
    assert torch.isfinite(s.logprob).all()
    assert s.logprob.item() == pytest.approx(-8000.0)
    assert s.entropy.item() == pytest.approx(0.0, abs=1e-6)
    assert s.margin.item() == pytest.approx(1.0)


@pytest.mark.parametrize("vocabulary", [2, 17, 1023, 1024, 1500])
def test_the_two_largest_are_found_wherever_they_stand(vocabulary: int) -> None:
    logits = torch.randn(40, vocabulary, generator=torch.Generator().manual_seed(vocabulary))
    logits[0] = 3.0  # all equal
    logits[1, [0, -1]] = torch.tensor([9.0, 9.0])  # a tie between the first tile and the last
    logits[2, [0, 1]] = torch.tensor([8.0, 9.0])  # both in one tile
    assert torch.equal(two_largest(logits), logits.sort(dim=1, descending=True).values[:, :2])
