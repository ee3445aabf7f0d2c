"""A made-up run whose every number follows from its step, for tests of the ledger."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harness.ledger.columns import Ragged
from harness.ledger.reader import RunLedger
from harness.ledger.writer import CommitInfo, LedgerWriter

RUN = "grpo.base.s1"
GROUPS, SAMPLES = 2, 4


def append_step(writer: LedgerWriter, step: int, seconds: float = 0.5) -> None:
    """Update `step`: 8 sequences of 5 to 12 tokens, with costs and totals that agree."""
    rng = np.random.default_rng(step)
    lengths = rng.integers(5, 13, GROUPS * SAMPLES)
    tokens = int(lengths.sum())
    texts = writer.add_texts(f"{i}+{step}={i + step},#{i % 3}" for i in range(GROUPS * SAMPLES))
    names = {"step": step, "group_id": np.repeat(np.arange(GROUPS), SAMPLES), "sample": [0, 1, 2, 3] * GROUPS}
    writer.append("sequences", {
        **names, "purpose": "rollout", "prompt_id": [f"p{step}-{g}" for g in (0, 1) for _ in range(SAMPLES)],
        "boundary": None, "kept_tokens": None, "repeat": None,
        "prompt_tokens": 6, "generated_tokens": lengths, "finish_reason": "stop",
        "reward": rng.integers(0, 2, len(lengths)).astype(np.float32),
        "advantage": rng.normal(size=len(lengths)),
        "grader_state": "correct", "answer": ["7", None] * 4, "text_digest": texts,
    })  # fmt: skip
    writer.append("tokens", {
        **names,
        "token_id": Ragged(rng.integers(0, 20, tokens), lengths),
        **{name: Ragged(rng.random(tokens), lengths) for name in ("logprob", "entropy", "margin", "credit")},
    })  # fmt: skip
    append_costs(writer, step, tokens, seconds)
    before = writer_tokens(step - 1)
    append_update(writer, step, before + tokens, 2 * seconds * step)


def append_costs(writer: LedgerWriter, step: int, tokens: int, seconds: float = 0.5) -> None:
    """Generation of `tokens` rollout tokens and one backward pass, `seconds` each; 10 operations a token."""
    same = {
        "step": step,
        "device_kind": "cpu",
        "devices": 1,
        "device_seconds": seconds,
        "energy_joules": None,
    }
    writer.append("costs", [
        {**same, "phase": "generate", "purpose": "rollout", "wall_seconds": seconds * 1.5,
         "generated_tokens": tokens, "prompt_tokens": 48, "flops": 10.0 * tokens},
        {**same, "phase": "backward", "purpose": None, "wall_seconds": seconds * 1.5,
         "generated_tokens": 0, "prompt_tokens": 0, "flops": 0.0},
    ])  # fmt: skip


def append_update(writer: LedgerWriter, step: int, tokens: int, seconds: float, loss: float = -0.1) -> None:
    """The row of `updates` with these running totals of tokens and seconds."""
    writer.append("updates", {
        "step": step, "loss": loss, "kl": None, "clip_share": 0.0, "groups": GROUPS, "informative_groups": 1,
        "advantage_factor": None, "mean_steps": None, "reward_loss": None,
        "gradient_norm": 1.0, "learning_rate": 1e-4, "logprob_gap": 1e-6, "logprob_gap_max": 1e-5,
        "reward": 0.5, "entropy": 0.2, "generated_tokens": 1, "mean_length": 8.0, "truncated": 0,
        "cum_updates": step,
        "cum_generated_tokens": tokens, "cum_device_seconds": seconds, "cum_train_flops": 10.0 * tokens,
    })  # fmt: skip


def append_evaluation(writer: LedgerWriter, step: int) -> None:
    """Three samples of one problem, 12 tokens, and what they cost."""
    writer.append("samples", {
        "step": step, "benchmark": "easy", "problem_id": "e0", "sample": [0, 1, 2],
        "correct": [True, None, False],
        "grader_state": ["correct", "grader_error", "incorrect"], "finish_reason": "stop",
        "generated_tokens": [3, 4, 5], "answer": None, "text_digest": writer.add_texts(["a", "b", "a"]),
    })  # fmt: skip
    writer.append("evaluations", {
        "step": step, "benchmark": "easy", "problems": 1, "samples": 3, "generated_tokens": 12,
        "truncated": 0, "occasion": "grid",
        "cost_updates": step, "cost_generated_tokens": writer_tokens(step),
        "cost_device_seconds": float(step),
        "cost_train_flops": 10.0 * writer_tokens(step), "policy_digest": "0" * 64,
    })  # fmt: skip
    writer.append("costs", {
        "step": step, "phase": "evaluate", "purpose": "evaluation", "device_kind": "cpu", "devices": 1,
        "device_seconds": 0.1, "wall_seconds": 0.1, "generated_tokens": 12, "prompt_tokens": 6,
        "flops": 120.0,
        "energy_joules": None,
    })  # fmt: skip


def writer_tokens(step: int) -> int:
    """Tokens of all steps up to `step`."""
    return sum(
        int(np.random.default_rng(t).integers(5, 13, GROUPS * SAMPLES).sum()) for t in range(1, step + 1)
    )


def write_run(
    folder: Path, steps: int, every: int = 1, seconds: float = 0.5, evaluate: bool = True
) -> list[CommitInfo]:
    """A run of `steps` updates with a commit after every `every`, and an evaluation at its end."""
    writer = LedgerWriter(folder, RUN)
    done = []
    for step in range(1, steps + 1):
        append_step(writer, step, seconds)
        if step == steps and evaluate:
            append_evaluation(writer, step)
        if step % every == 0 or step == steps:
            done.append(writer.commit(step, checkpoint_of(step)))
    return done


def checkpoint_of(step: int) -> dict[str, bytes]:
    """What the checkpoint after `step` holds."""
    return {"model.safetensors": b"weights %d" % step, "state/optimizer.bin": b"moments %d" % step}


def whole(run: RunLedger | None) -> RunLedger:
    """The run, which must be there."""
    assert run is not None
    return run
