"""From what an update and an evaluation leave to rows of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.clock import Clock
from harness.evaluation import BenchmarkResult
from harness.ledger.columns import Ragged
from harness.ledger.writer import LedgerWriter
from harness.meter import Cost, Spent
from trainers.draws import Draws
from trainers.loop import UpdateResult
from trainers.reward import Continued


def record_costs(ledger: LedgerWriter, step: int, spent: Spent, clock: Clock) -> None:
    """One row a phase and purpose of what was spent during `step`."""
    keys = list(spent)
    costs = [spent[key] for key in keys]
    ledger.append(
        "costs",
        {
            "step": step,
            "phase": [phase for phase, _ in keys],
            "purpose": [purpose for _, purpose in keys],
            "device_kind": clock.device_kind,
            "devices": clock.devices,
            "device_seconds": [c.device_seconds for c in costs],
            "wall_seconds": [c.wall_seconds for c in costs],
            "generated_tokens": [c.generated_tokens for c in costs],
            "prompt_tokens": [c.prompt_tokens for c in costs],
            "flops": [c.flops for c in costs],
            "energy_joules": None,
        },
    )


def record_update(ledger: LedgerWriter, result: UpdateResult, after: Cost) -> None:
    """The selections, sequences, tokens and summary of one update."""
    sizes = np.array([len(c.token_ids) for c in result.completions])
    truncated = sum(c.finish_reason == "length" for c in result.completions)
    _record_selections(ledger, result)
    gathered = result.gathered
    _record_sequences(ledger, gathered.rollouts, result.rewards, advantages=result.advantages)
    for draws, rewards in zip(gathered.others, result.other_rewards, strict=True):
        _record_sequences(ledger, draws, rewards)
    if (continued := result.scored.continued) is not None:
        right = [float(grade.state == "correct") for grade in continued.draws.grades]
        _record_sequences(ledger, continued.draws, right, continued=continued)
    ledger.append(
        "tokens",
        {
            "step": result.step,
            "group_id": result.groups,
            "sample": result.samples,
            "token_id": Ragged(np.concatenate([c.token_ids for c in result.completions]), sizes),
            "logprob": Ragged(np.concatenate([c.logprobs for c in result.completions]), sizes),
            **_token_columns(result, sizes),
        },
    )
    ledger.append(
        "updates",
        {
            "step": result.step,
            "loss": result.loss,
            "kl": result.kl,
            "clip_share": result.clip_share,
            "groups": len(set(result.groups)),
            "informative_groups": result.informative_groups,
            "advantage_factor": result.scored.factor,
            "mean_steps": result.scored.mean_steps,
            "reward_loss": result.reward_loss,
            "gradient_norm": result.gradient_norm,
            "learning_rate": result.learning_rate,
            "logprob_gap": result.logprob_gap,
            "logprob_gap_max": result.logprob_gap_max,
            "reward": float(result.rewards.mean()),
            "entropy": result.entropy,
            "generated_tokens": int(sizes.sum()),
            "mean_length": float(sizes.mean()),
            "truncated": truncated,
            "cum_updates": after.updates,
            "cum_generated_tokens": after.generated_tokens,
            "cum_device_seconds": after.device_seconds,
            "cum_train_flops": after.train_flops,
        },
    )


def _record_sequences(
    ledger: LedgerWriter, draws: Draws, rewards: ArrayLike, *, advantages: NDArray[np.float64] | None = None,
    continued: Continued | None = None,
) -> None:  # fmt: skip
    """One row a sequence; a continuation's prompt holds the tokens that it continues."""
    kept = continued.kept if continued is not None else [0] * len(draws.prompts)
    ledger.append(
        "sequences",
        {
            "step": draws.step,
            "purpose": draws.purpose,
            "prompt_id": [p.id for p in draws.prompts],
            "group_id": draws.groups,
            "sample": draws.samples,
            "boundary": continued.boundaries if continued is not None else None,
            "kept_tokens": kept if continued is not None else None,
            "repeat": continued.repeats if continued is not None else None,
            "prompt_tokens": [len(p.token_ids) + k for p, k in zip(draws.prompts, kept, strict=True)],
            "generated_tokens": [len(c.token_ids) for c in draws.completions],
            "finish_reason": [c.finish_reason for c in draws.completions],
            "reward": np.asarray(rewards, dtype=np.float64),
            "advantage": advantages,
            "grader_state": [g.state for g in draws.grades],
            "answer": [g.answer for g in draws.grades],
            "text_digest": ledger.add_texts(c.text for c in draws.completions),
        },
    )


def _record_selections(ledger: LedgerWriter, result: UpdateResult) -> None:
    found = result.gathered.predictions
    if found:
        ledger.append(
            "selections",
            {
                "step": result.step,
                "prompt_id": [p.prompt_id for p in found],
                "predicted": [p.predicted for p in found],
                "evidence": [p.evidence for p in found],
                "outcome": [p.outcome for p in found],
            },
        )


def record_evaluation(
    ledger: LedgerWriter, results: Sequence[BenchmarkResult], cost: Cost, policy_digest: str, occasion: str
) -> None:
    """The samples of every benchmark under the policy whose cost is `cost`, and a summary of each."""
    for result in results:
        ledger.append(
            "samples",
            {
                "step": cost.updates,
                "benchmark": result.benchmark,
                "problem_id": result.problem_ids,
                "sample": result.samples,
                "correct": [
                    None if g.state == "grader_error" else g.state == "correct" for g in result.grades
                ],
                "grader_state": [g.state for g in result.grades],
                "finish_reason": result.finish_reasons,
                "generated_tokens": result.generated_tokens,
                "answer": [g.answer for g in result.grades],
                "text_digest": ledger.add_texts(result.texts),
            },
        )
        ledger.append(
            "evaluations",
            {
                "step": cost.updates,
                "benchmark": result.benchmark,
                "occasion": occasion,
                "problems": result.problems,
                "samples": result.samples_per_problem,
                "generated_tokens": int(sum(result.generated_tokens)),
                "truncated": sum(reason == "length" for reason in result.finish_reasons),
                "cost_updates": cost.updates,
                "cost_generated_tokens": cost.generated_tokens,
                "cost_device_seconds": cost.device_seconds,
                "cost_train_flops": cost.train_flops,
                "policy_digest": policy_digest,
            },
        )


def _token_columns(result: UpdateResult, sizes: NDArray[Any]) -> dict[str, Ragged]:
    """What the training pass read of all completions' tokens: NaN, and a credit of 0, where it read none."""
    total = int(sizes.sum())
    columns = {
        "entropy": np.full(total, np.nan, dtype=np.float32),
        "margin": np.full(total, np.nan, dtype=np.float32),
        "credit": np.zeros(total, dtype=np.float32),
    }
    end = 0
    for record, size in zip(result.tokens, sizes.tolist(), strict=True):
        end += size
        if record is not None:
            columns["entropy"][end - size : end] = record.entropy
            columns["margin"][end - size : end] = record.margin
            columns["credit"][end - size : end] = record.credit
    return {name: Ragged(values, sizes) for name, values in columns.items()}


def record_reevaluation(
    ledger: LedgerWriter, results: Sequence[BenchmarkResult], cost: Cost, occasion: str
) -> None:
    """The second evaluation of the policy whose cost is `cost`: counts by problem, in the problems' order."""
    for result in results:
        each = result.samples_per_problem
        starts = range(0, len(result.problem_ids), each)
        states = [[g.state for g in result.grades[start : start + each]] for start in starts]
        ledger.append(
            "reevaluations",
            {
                "step": cost.updates,
                "benchmark": result.benchmark,
                "occasion": occasion,
                "problem_id": [result.problem_ids[start] for start in starts],
                "samples": each,
                "correct": [found.count("correct") for found in states],
                "failed": [found.count("grader_error") for found in states],
                "generated_tokens": [sum(result.generated_tokens[start : start + each]) for start in starts],
            },
        )
