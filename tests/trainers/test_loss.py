"""The loss: by hand, and as an invariant of micro-batching and row order with its wrong twin."""

from __future__ import annotations

import math

import pytest
import torch

from prereg.trainer import Loss
from trainers.loss import denominator, importance_weight, kl_estimate, policy_loss
from trainers.segments import Segments


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def test_on_policy_loss_is_minus_the_mean_advantage_and_its_gradient_the_policy_gradient() -> None:
    logprob = tensor(-1.0, -2.0, -0.5).requires_grad_()
    loss, sums = policy_loss(
        logprob, logprob.detach(), tensor(1.0, 1.0, -2.0), Segments.of([2, 1]), Loss(), denominator=3.0
    )
    loss.backward()
    assert loss.item() == pytest.approx(0.0)
    assert logprob.grad is not None
    assert logprob.grad.tolist() == pytest.approx([-1 / 3, -1 / 3, 2 / 3])
    assert sums.tokens == 3
    assert int(sums.clipped) == 0


@pytest.mark.parametrize(
    ("log_ratio", "advantage", "loss", "gradient"),
    [
        (math.log(1.1), 1.0, -1.1, -1.1),  # inside the bounds
        (math.log(1.5), 1.0, -1.2, 0.0),  # too likely already: clipped at 1.2, no gradient
        (math.log(1.5), -1.0, 1.5, 1.5),  # too likely and bad: not clipped
        (math.log(0.5), 1.0, -0.5, -0.5),  # too unlikely and good: not clipped
        (math.log(0.5), -1.0, 0.8, 0.0),  # too unlikely already: clipped at 0.8
    ],
)
def test_clipping_by_hand(log_ratio: float, advantage: float, loss: float, gradient: float) -> None:
    logprob = tensor(log_ratio).requires_grad_()
    value, sums = policy_loss(
        logprob, tensor(0.0), tensor(advantage), Segments.of([1]), Loss(), denominator=1.0
    )
    value.backward()
    assert value.item() == pytest.approx(loss, rel=1e-5)
    assert logprob.grad is not None
    assert logprob.grad.item() == pytest.approx(gradient, rel=1e-5)
    assert int(sums.clipped) == (gradient == 0.0)


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [
        ("token_mean", -(1 * 1 + 3 * 2) / 4),  # tokens count alike
        ("sequence_mean", -(1 + 2) / 2),  # sequences count alike
        ("constant", -(1 * 1 + 3 * 2) / (2 * 8)),
    ],
)
def test_aggregation_by_hand(aggregation: str, expected: float) -> None:
    spec = Loss.model_validate(
        {"aggregation": aggregation, "constant": 8 if aggregation == "constant" else None}
    )
    segments = Segments.of([1, 3])
    share = denominator(spec, tokens=4, sequences=2)
    loss, _ = policy_loss(
        tensor(0, 0, 0, 0), tensor(0, 0, 0, 0), tensor(1, 2, 2, 2), segments, spec, denominator=share
    )
    assert loss.item() == pytest.approx(expected)


@pytest.mark.parametrize("aggregation", ["token_mean", "sequence_mean", "constant"])
def test_micro_batches_sum_to_the_whole_and_a_mean_of_means_does_not(aggregation: str) -> None:
    spec = Loss.model_validate(
        {"aggregation": aggregation, "constant": 8 if aggregation == "constant" else None}
    )
    generator = torch.Generator().manual_seed(0)
    lengths = [1, 7, 2, 4]
    new = [torch.randn(n, generator=generator) for n in lengths]
    old = [x + 0.1 * torch.randn(len(x), generator=generator) for x in new]
    advantage = [torch.randn(n, generator=generator) for n in lengths]
    share = denominator(spec, sum(lengths), len(lengths))

    def loss_of(rows: list[int], share: float) -> float:
        parts = [torch.cat([x[i] for i in rows]) for x in (new, old, advantage)]
        segments = Segments.of([lengths[i] for i in rows])
        return policy_loss(*parts, segments, spec, denominator=share)[0].item()

    whole = loss_of([0, 1, 2, 3], share)
    assert loss_of([3, 1, 0, 2], share) == pytest.approx(whole, rel=1e-5)
    assert loss_of([0, 1], share) + loss_of([2, 3], share) == pytest.approx(whole, rel=1e-5)
    assert sum(loss_of([i], share) for i in range(4)) == pytest.approx(whole, rel=1e-5)
    own = [denominator(spec, sum(lengths[i] for i in rows), len(rows)) for rows in ([0], [1, 2, 3])]
    mean_of_means = (loss_of([0], own[0]) + loss_of([1, 2, 3], own[1])) / 2
    assert mean_of_means != pytest.approx(whole, rel=1e-3)


def test_kl_estimators_by_hand() -> None:
    policy, reference = tensor(math.log(0.5)), tensor(math.log(0.25))
    assert kl_estimate(policy, reference, "k1").item() == pytest.approx(math.log(2))
    assert kl_estimate(policy, reference, "k2").item() == pytest.approx(math.log(2) ** 2 / 2)
    assert kl_estimate(policy, reference, "k3").item() == pytest.approx(0.5 - 1 + math.log(2))


def test_k1_and_k3_average_to_the_exact_kl_divergence() -> None:
    p, q = (
        torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64),
        torch.tensor([0.3, 0.3, 0.4], dtype=torch.float64),
    )
    exact = float((p * (p / q).log()).sum())
    for estimator in ("k1", "k3"):
        assert float((p * kl_estimate(p.log(), q.log(), estimator)).sum()) == pytest.approx(exact)


def test_kl_enters_the_loss_with_its_coefficient() -> None:
    spec = Loss(kl_coefficient=0.5)
    args = (tensor(-1.0, -1.0), tensor(-1.0, -1.0), tensor(0.0, 0.0), Segments.of([2]), spec)
    loss, sums = policy_loss(*args, denominator=2.0, reference_logprob=tensor(-2.0, -1.0))
    expected = math.expm1(-1.0) + 1.0
    assert sums.kl.item() == pytest.approx(expected)
    assert loss.item() == pytest.approx(0.5 * expected / 2)


def test_importance_weights_by_hand() -> None:
    segments = Segments.of([2, 2])
    log_ratio = torch.log(tensor(3.0, 0.5, 8.0, 8.0))
    truncated = importance_weight(log_ratio, segments, Loss(importance="token_truncated", importance_cap=2.0))
    assert truncated.tolist() == pytest.approx([2.0, 0.5, 2.0, 2.0])
    masked = importance_weight(log_ratio, segments, Loss(importance="sequence_masked", importance_cap=2.0))
    # Geometric means 1.22 and 8; a product would mask long sequences for their length alone.
    assert masked.tolist() == [1.0, 1.0, 0.0, 0.0]


def test_a_long_completion_is_not_masked_for_its_length() -> None:
    log_ratio = torch.full((500,), math.log(1.01))
    spec = Loss(importance="sequence_masked", importance_cap=2.0)
    assert importance_weight(log_ratio, Segments.of([500]), spec).min() == 1.0
    assert float(torch.exp(log_ratio.sum())) > 2.0  # the product, which would mask it


def test_importance_correction_without_the_engines_logprobs_is_an_error() -> None:
    with pytest.raises(ValueError, match="engine"):
        policy_loss(
            tensor(0.0), tensor(0.0), tensor(1.0), Segments.of([1]), Loss(importance="token_truncated"),
            denominator=1.0,
        )  # fmt: skip
