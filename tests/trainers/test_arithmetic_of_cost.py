"""Micro-batches, schedules and operation counts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from prereg.trainer import LoraAdapter, Schedule
from tests.trainers.conftest import load_policy
from trainers.batching import PADDING_LIMIT, micro_batches
from trainers.flops import attended_causally, attended_decoding
from trainers.policy import Batch
from trainers.schedule import rate_factor
from trainers.types import Prompt


def test_micro_batches_hold_every_sequence_once_within_the_limit() -> None:
    lengths = np.random.default_rng(0).integers(1, 900, 300).tolist()
    batches = micro_batches(lengths, 8192)
    assert sorted(i for batch in batches for i in batch) == list(range(300))
    assert all(len(b) * max(lengths[i] for i in b) <= 8192 for b in batches)


def test_little_is_padding_where_a_batch_is_large() -> None:
    lengths = np.random.default_rng(0).integers(100, 4000, 400).tolist()
    batches = micro_batches(lengths, 65_536)
    padded = sum(len(b) * max(lengths[i] for i in b) for b in batches)
    assert 1 - sum(lengths) / padded < PADDING_LIMIT
    in_given_order = [lengths[i : i + 16] for i in range(0, 400, 16)]
    assert 1 - sum(lengths) / sum(16 * max(part) for part in in_given_order) > 2 * PADDING_LIMIT


def test_a_sequence_longer_than_the_limit_stands_alone() -> None:
    assert micro_batches([10, 5000, 20], 100) == [[1], [2, 0]]


@pytest.mark.parametrize(
    ("schedule", "fraction", "expected"),
    [
        (Schedule(), 0.7, 1.0),
        (Schedule(warmup=0.1), 0.05, 0.5),
        (Schedule(kind="linear"), 0.25, 0.75),
        (Schedule(kind="linear", final=0.2), 1.0, 0.2),
        (Schedule(kind="cosine"), 0.5, 0.5),
        (Schedule(kind="cosine", warmup=0.5), 0.75, 0.5),
        (Schedule(kind="linear"), 1.5, 0.0),  # beyond the budget
    ],
)
def test_schedules_by_hand(schedule: Schedule, fraction: float, expected: float) -> None:
    assert rate_factor(schedule, fraction) == pytest.approx(expected, abs=1e-12)


def test_attended_tokens_by_enumeration() -> None:
    for prompt in (1, 4):
        for generated in (1, 2, 5):
            every = sum(position + 1 for position in range(prompt + generated))
            assert attended_causally(prompt, generated) == every
            later = sum(prompt + t for t in range(1, generated))
            assert attended_decoding(prompt, generated) == later


@pytest.mark.parametrize("adapted", [False, True])
def test_operations_agree_with_torchs_counter(adapted: bool, prompts: list[Prompt]) -> None:
    lora = LoraAdapter(kind="lora", rank=4, alpha=8.0, targets=("q_proj", "v_proj", "up_proj"))
    policy = load_policy(lora if adapted else None)
    policy.model.set_attn_implementation("eager")  # the counter does not see the CPU's fused attention
    same_length = [p for p in prompts if len(p.token_ids) == 8][:6]
    rows, width = len(same_length), 8 + 12
    tokens = [np.full(12, 5, dtype=np.int32)] * rows
    batch = Batch.of([p.token_ids for p in same_length], tokens, torch.device("cpu"))
    with FlopCounterMode(display=False) as counter:
        loss = policy.statistics(batch, 1.0).logprob.sum()
    forward = counter.get_total_flops()
    with FlopCounterMode(display=False) as counter:
        loss.backward()
    backward = counter.get_total_flops()
    # The counter knows no causality: it charges every position for the whole width.
    attended = rows * width * width
    shape = policy.shape()
    assert shape.forward(rows * width, attended, rows * 12) == pytest.approx(forward, rel=0.01)
    # Our backward leaves out the recomputation of logits and scores, which is an implementation's choice.
    assert shape.backward(rows * width, attended, rows * 12) == pytest.approx(backward, rel=0.12)
