"""The gradient test: the identity it rests on, its guards, and that it changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from reports import alignment
from tests.trainers.test_loop import learner_of
from trainers.credit import CreditMethod
from trainers.credit.entropy import Entropy
from trainers.credit.margin import Margin
from trainers.credit.uniform import Uniform
from trainers.draws import Draws, draw
from trainers.gradient_test import (
    Candidate,
    alignments,
    inner,
    negative_control,
    rollout_direction,
    signal_gradient,
    token_signals,
)
from trainers.loop import Learner
from trainers.reward import RewardMethod
from trainers.types import Prompt

STEP = 1e-4


@pytest.fixture(scope="module")
def learner(prompts: list[Prompt], tokenizer: Any) -> Learner:
    return learner_of(prompts, tokenizer)


@pytest.fixture(scope="module")
def batch(learner: Learner) -> Draws:
    return draw(learner.setting, 0, "rollout", range(12), samples=8)


@pytest.fixture(scope="module")
def along(learner: Learner) -> dict[str, torch.Tensor]:
    apart = draw(learner.setting, 0, "rollout", range(12, 44), samples=8, first_group=12)
    return rollout_direction(learner.setting, apart).unit


@pytest.fixture(scope="module")
def aligned(learner: Learner, batch: Draws, along: dict[str, torch.Tensor]) -> list[np.ndarray]:
    return alignments(learner.setting, batch, along, STEP)


def test_the_gain_is_the_inner_product_of_the_gradient_with_the_direction(
    learner: Learner, batch: Draws, along: dict[str, torch.Tensor], aligned: list[np.ndarray]
) -> None:
    """For any signal: here random ones, whose gradient a backward pass gives."""
    rng = np.random.Generator(np.random.Philox(2))
    for _ in range(3):
        signal = [rng.normal(size=len(c.token_ids)) for c in batch.completions]
        exact = inner(signal_gradient(learner.setting, batch, signal), along)
        assert alignment.gain(signal, aligned) == pytest.approx(exact, rel=0.02, abs=2e-3)


def test_alignment_of_single_tokens_by_their_own_gradients(
    learner: Learner, batch: Draws, along: dict[str, torch.Tensor], aligned: list[np.ndarray]
) -> None:
    for completion, token in ((0, 0), (5, 2), (40, 1)):
        signal = [np.zeros(len(c.token_ids)) for c in batch.completions]
        signal[completion][token] = sum(len(c.token_ids) for c in batch.completions)
        exact = inner(signal_gradient(learner.setting, batch, signal), along)
        assert aligned[completion][token] == pytest.approx(exact, rel=0.02, abs=2e-3)


def test_the_direction_is_a_unit_vector_whose_halves_agree(learner: Learner) -> None:
    apart = draw(learner.setting, 0, "rollout", range(12, 44), samples=8)
    direction = rollout_direction(learner.setting, apart)
    for vector in (direction.unit, *direction.halves):
        assert inner(vector, vector) == pytest.approx(1)
    assert direction.agreement == pytest.approx(inner(*direction.halves))
    assert abs(direction.agreement) < 1


def test_without_a_signal_there_is_no_direction(prompts: list[Prompt], tokenizer: Any) -> None:
    from trainers.types import Grade

    none_right = learner_of(
        prompts, tokenizer, grader=lambda golds, texts, finished: [Grade("incorrect", None)] * len(golds)
    )
    apart = draw(none_right.setting, 0, "rollout", range(8), samples=4)
    with pytest.raises(ValueError, match="right and wrong"):
        rollout_direction(none_right.setting, apart)


def test_the_test_changes_nothing(prompts: list[Prompt], tokenizer: Any) -> None:
    """Weights, and the update that follows, are those of a learner that was never tested."""
    tested, untouched = learner_of(prompts, tokenizer), learner_of(prompts, tokenizer)
    before = tested.policy.digest()
    batch = draw(tested.setting, 0, "rollout", range(4), samples=8)
    apart = draw(tested.setting, 0, "rollout", range(4, 20), samples=8, first_group=4)
    direction = rollout_direction(tested.setting, apart)
    alignments(tested.setting, batch, direction.unit, STEP)
    token_signals(
        tested.setting, batch, Candidate(RewardMethod(tested.setting), Margin(0.2, 0.8, 0.1, shuffled=False)),
        tested.spec,
    )  # fmt: skip
    assert tested.policy.digest() == before
    assert all(p.grad is None for p in tested.policy.trainable.values())
    assert tested.update(1, 1e-3).loss == untouched.update(1, 1e-3).loss
    assert tested.policy.digest() == untouched.policy.digest()


def test_signals_are_what_an_update_would_train_with(prompts: list[Prompt], tokenizer: Any) -> None:
    learner = learner_of(prompts, tokenizer, credit={"kind": "margin"})
    candidate = Candidate(learner.reward, learner.credit)
    expected = learner.update(1, 0.0)
    signals = token_signals(learner.setting, expected.gathered.rollouts, candidate, learner.spec)
    for signal, record in zip(signals, expected.tokens, strict=True):
        if record is None:
            assert not signal.any()
        else:
            np.testing.assert_allclose(signal, record.credit, rtol=1e-5)


def signal_of(learner: Learner, batch: Draws, credit: CreditMethod) -> list[np.ndarray]:
    return token_signals(
        learner.setting, batch, Candidate(RewardMethod(learner.setting), credit), learner.spec
    )


@pytest.mark.parametrize(
    "credit", [Margin(0.2, 0.8, 0.1), Entropy(0.2, over_kept=True)], ids=["margin", "entropy"]
)
def test_the_placebo_of_a_credit_within_completions_gains_nothing_over_uniform(
    learner: Learner, batch: Draws, aligned: list[np.ndarray], credit: CreditMethod
) -> None:
    """Its gain is zero within its noise; the gain of the permuted signal itself would not be."""
    signal, uniform = signal_of(learner, batch, credit), signal_of(learner, batch, Uniform())
    found = alignment.placebo(signal, uniform, aligned, key=5)
    assert found.low < 0 < found.high
    error = (found.high - found.low) / 3.92 / np.sqrt(alignment.PLACEBOS)
    assert abs(found.mean) < 4 * error
    nothing = [np.zeros_like(c) for c in uniform]
    assert abs(alignment.placebo(signal, nothing, aligned, key=5).mean) > 6 * error
    assert alignment.placebo(uniform, uniform, aligned, key=5) == alignment.Placebo(0, 0, 0)


def test_a_credit_built_from_the_reference_itself_wins(
    learner: Learner, along: dict[str, torch.Tensor]
) -> None:
    """Each token's exact derivative, a backward pass each, makes the credit; two forward passes score it.

    It moves as much of the advantage within completions as the candidate that it is set against.
    """
    few = draw(learner.setting, 0, "rollout", range(6), samples=4)
    lengths = [len(c.token_ids) for c in few.completions]
    uniform = signal_of(learner, few, Uniform())
    exact = [np.zeros(n) for n in lengths]
    for i, row in enumerate(exact):
        for t in range(len(row) if uniform[i].any() else 0):
            one = [np.zeros(n) for n in lengths]
            one[i][t] = sum(lengths)
            row[t] = inner(signal_gradient(learner.setting, few, one), along)
    within = [row - row.mean() for row in exact]
    found = alignments(learner.setting, few, along, STEP)

    def gain(moved: list[np.ndarray], size: float) -> float:
        """Of uniform credit with `moved` added to it at the given root of its sum of squares."""
        factor = size / np.sqrt(sum((row**2).sum() for row in moved))
        return alignment.gain([u + factor * row for u, row in zip(uniform, moved, strict=True)], found)

    for credit in (Margin(0.2, 0.8, 0.1), Margin(0.2, 0.8, 0.1, shuffled=True), Entropy(0.2, over_kept=True)):
        candidate = signal_of(learner, few, credit)
        size = np.sqrt(sum(((c - u) ** 2).sum() for c, u in zip(candidate, uniform, strict=True)))
        assert gain(within, size) > alignment.gain(candidate, found)
        assert gain(within, size) > alignment.gain(uniform, found)
        assert gain([-row for row in within], size) < alignment.gain(candidate, found)


@pytest.mark.parametrize("credit", [Uniform(), Margin(0.2, 0.8, 0.1)], ids=["uniform", "margin"])
def test_a_step_of_the_policy_along_the_negative_control_loses_what_the_candidate_gains(
    learner: Learner, batch: Draws, aligned: list[np.ndarray], credit: CreditMethod
) -> None:
    """Measured on the direction's completions before and after a real step; nothing here is negated."""
    apart = draw(learner.setting, 0, "rollout", range(12, 44), samples=8, first_group=12)
    direction = rollout_direction(learner.setting, apart)
    signal = signal_of(learner, batch, credit)
    before = learner.policy.digest()
    gain = alignment.gain(signal, aligned)
    lost = negative_control(learner.setting, batch, apart, signal, direction, STEP)
    won = negative_control(learner.setting, batch, apart, [-row for row in signal], direction, STEP)
    assert gain > 0
    assert lost == pytest.approx(-gain, rel=0.15)
    assert won == pytest.approx(gain, rel=0.15)
    assert learner.policy.digest() == before
    nothing = [np.zeros_like(row) for row in signal]
    assert negative_control(learner.setting, batch, apart, nothing, direction, STEP) is None


def test_uniform_credit_has_no_correlation_within(
    learner: Learner, batch: Draws, aligned: list[np.ndarray]
) -> None:
    uniform = token_signals(
        learner.setting, batch, Candidate(RewardMethod(learner.setting), Uniform()), learner.spec
    )
    assert np.isnan(alignment.within_correlation(uniform, aligned))
