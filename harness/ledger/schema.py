"""The ledger's tables, column by column: the contract between a trainer and the analysis.

`docs/ledger.md` is generated from here. A change of a column's meaning raises `LEDGER_VERSION`.
Every table starts with `run_id`; rows are ordered as they happened. Steps are counted from 1; step 0 is
the start policy, and `step` in an evaluation table is the number of updates the policy had had.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

LEDGER_VERSION = 4
"""2: continuations name what they score; `selections`; what dense rewards scaled by and learned.
3: `reevaluations`."""

PURPOSES = ("rollout", "continuation", "screening", "discarded", "evaluation")
"""Every generated token has exactly one. All but `evaluation` are charged to the training budget."""

PHASES = (
    "generate", "grade", "score", "forward", "backward", "optimizer", "sync", "evaluate", "checkpoint",
    "idle",
)  # fmt: skip
"""Every device-second has exactly one. All but `evaluate` and `checkpoint` are charged to the budget."""

UNCHARGED_PHASES = ("evaluate", "checkpoint")

FINISH_REASONS = ("stop", "length")

SELECTION_OUTCOMES = ("nearest", "explored", "passed")

GRADER_STATES = ("correct", "incorrect", "unparseable", "limit", "grader_error")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its Arrow type, its meaning with the unit, and how it is checked, rounded and encoded."""

    name: str
    type: pa.DataType
    meaning: str
    split_bytes: bool = False
    """Encoded as BYTE_STREAM_SPLIT, which compresses floats and ids better."""
    nullable: bool = False
    """Whether a value may be missing; its meaning then says what a null stands for."""
    values: tuple[str, ...] = ()
    """The only values that a text column may hold; empty for any."""
    binary_places: int | None = None
    """The writer rounds to this many binary places."""


_S, _I, _F, _D, _B = pa.string(), pa.int32(), pa.float32(), pa.float64(), pa.bool_()

# fmt: off
TABLES: dict[str, tuple[Column, ...]] = {
    "sequences": (
        Column("run_id", _S, "the run: arm.model.s<seed>"),
        Column("step", _I, "update for which it was generated, from 1"),
        Column("purpose", _S, "rollout, continuation, screening or discarded", values=PURPOSES[:4]),
        Column("prompt_id", _S, "id of the training problem"),
        Column("group_id", _I, "group within the step, from 0; of a continuation, that of its rollout"),
        Column("sample", _I, "sample within the group, from 0; of a continuation, that of its rollout"),
        Column("boundary", _I, "step of the rollout that begins where a continuation does, from 0; null "
               "for the other purposes", nullable=True),
        Column("kept_tokens", _I, "tokens of the rollout that a continuation continues; null for the others",
               nullable=True),
        Column("repeat", _I, "which continuation of its prefix, from 0; null for the others", nullable=True),
        Column("prompt_tokens", _I, "prefill tokens, what a continuation continues included; not charged"),
        Column("generated_tokens", _I, "tokens, the end-of-sequence token included"),
        Column("finish_reason", _S, "stop or length", values=FINISH_REASONS),
        Column("reward", _F, "reward, no unit"),
        Column("advantage", _F, "advantage of the completion before credit, its mean over tokens where they "
               "differ; null for other purposes than rollout", nullable=True),
        Column("grader_state", _S, "correct, incorrect, unparseable, limit or grader_error",
               values=GRADER_STATES),
        Column("answer", _S, "extracted answer; null if none was found", nullable=True),
        Column("text_digest", pa.binary(8), "first 8 bytes of the SHA-256 of the text, key of `texts`"),
    ),
    "tokens": (
        Column("run_id", _S, "the run"),
        Column("step", _I, "update, from 1"),
        Column("group_id", _I, "group within the step"),
        Column("sample", _I, "sample within the group"),
        Column("token_id", pa.list_(pa.int32()), "token ids", True),
        Column("logprob", pa.list_(_F), "log-probability when sampled, nats, rounded to 2^-16",
               True, binary_places=16),
        Column("entropy", pa.list_(_F), "entropy of the next-token law, nats, rounded to 2^-10",
               True, binary_places=10),
        Column("margin", pa.list_(_F), "p1 - p2 of the next-token law, rounded to 2^-10",
               True, binary_places=10),
        Column("credit", pa.list_(_F), "advantage after credit, rounded to 2^-10", True, binary_places=10),
    ),
    "costs": (
        Column("run_id", _S, "the run"),
        Column("step", _I, "update during which it was spent; 0 before the first"),
        Column("phase", _S, "one of the phases", values=PHASES),
        Column("purpose", _S, "purpose of the tokens; null for phases that generate none",
               nullable=True, values=PURPOSES),
        Column("device_kind", _S, "cpu, or the GPU's name"),
        Column("devices", _I, "devices held"),
        Column("device_seconds", _D,
               "charged seconds: devices x wall on a GPU, process CPU time on a CPU", True),
        Column("wall_seconds", _D, "wall-clock seconds", True),
        Column("generated_tokens", pa.int64(), "tokens generated in the phase"),
        Column("prompt_tokens", pa.int64(), "prefill tokens in the phase"),
        Column("flops", _D, "floating-point operations, computed from the model and the counted tokens"),
        Column("energy_joules", _D, "energy by the device's counter; null where there is none",
               nullable=True),
    ),
    "updates": (
        Column("run_id", _S, "the run"),
        Column("step", _I, "update, from 1"),
        Column("loss", _D, "loss over the update's tokens"),
        Column("kl", _D, "mean KL estimate to the start policy, nats a token; null if not computed",
               nullable=True),
        Column("clip_share", _D, "share of counted tokens whose ratio was clipped"),
        Column("groups", _I, "groups in the update"),
        Column("informative_groups", _I, "groups whose rewards differ"),
        Column("advantage_factor", _D, "factor that gave dense advantages the mean size of GRPO's; null "
               "where the reward is not dense", nullable=True),
        Column("mean_steps", _D, "steps a rollout, mean, by the reward's boundaries; null where it has none",
               nullable=True),
        Column("reward_loss", _D, "loss of a reward model that learns, over the rollouts, nats; null without",
               nullable=True),
        Column("gradient_norm", _D, "norm before clipping, of the last optimizer step, or of one that was "
               "not finite and so not made; 0 where no group was informative"),
        Column("learning_rate", _D, "rate that the optimizer used"),
        Column("logprob_gap", _D, "mean |trainer - engine| log-probability, nats; null if not trained on",
               nullable=True),
        Column("logprob_gap_max", _D, "largest such gap", nullable=True),
        Column("reward", _D, "mean reward"),
        Column("entropy", _D, "mean token entropy of the trained completions, nats; null if none",
               nullable=True),
        Column("generated_tokens", _I, "rollout tokens of the update"),
        Column("mean_length", _D, "mean tokens a completion"),
        Column("truncated", _I, "completions cut at the cap"),
        Column("cum_updates", _I, "updates so far"),
        Column("cum_generated_tokens", pa.int64(), "charged tokens so far"),
        Column("cum_device_seconds", _D, "charged device-seconds so far"),
        Column("cum_train_flops", _D, "charged operations so far"),
    ),
    "selections": (
        Column("run_id", _S, "the run"),
        Column("step", _I, "update, from 1"),
        Column("prompt_id", _S, "id of the candidate"),
        Column("predicted", _D, "mean reward predicted before anything of this update was trained on"),
        Column("evidence", _D, "samples of the prompt that the prediction rests on, discounted"),
        Column("outcome", _S, "nearest (chosen by the rule), explored (chosen by lot) or passed",
               values=SELECTION_OUTCOMES),
    ),
    "evaluations": (
        Column("run_id", _S, "the run"),
        Column("step", _I, "updates that the policy had had"),
        Column("benchmark", _S, "name in the study"),
        Column("occasion", _S, "why: start, grid, or the axes of budgets read there, separated by blanks"),
        Column("problems", _I, "problems evaluated"),
        Column("samples", _I, "samples a problem"),
        Column("generated_tokens", pa.int64(), "tokens of the evaluation, not charged"),
        Column("truncated", _I, "samples cut at the cap"),
        Column("cost_updates", _I, "cost of the policy: updates"),
        Column("cost_generated_tokens", pa.int64(), "cost of the policy: charged tokens"),
        Column("cost_device_seconds", _D, "cost of the policy: charged device-seconds"),
        Column("cost_train_flops", _D, "cost of the policy: charged operations"),
        Column("policy_digest", _S, "SHA-256 over the evaluated trainable weights"),
    ),
    "readings": (
        Column("run_id", _S, "the run"),
        Column("axis", _S, "axis of the budget"),
        Column("budget", _D, "the declared budget, in the axis's unit"),
        Column("step", _I, "updates of the policy that is read there: the last whose cost is <= budget"),
        Column("cost", _D, "its cost on the axis"),
        Column("crossing_cost", _D, "cost after the step that crossed the budget; null if met exactly",
               nullable=True),
    ),
    "samples": (
        Column("run_id", _S, "the run"),
        Column("step", _I, "updates that the policy had had"),
        Column("benchmark", _S, "name in the study"),
        Column("problem_id", _S, "id of the benchmark problem"),
        Column("sample", _I, "sample, from 0"),
        Column("correct", _B, "graded correct; null when the grader failed", nullable=True),
        Column("grader_state", _S, "correct, incorrect, unparseable, limit or grader_error",
               values=GRADER_STATES),
        Column("finish_reason", _S, "stop or length", values=FINISH_REASONS),
        Column("generated_tokens", _I, "tokens, the end-of-sequence token included"),
        Column("answer", _S, "extracted answer; null if none was found", nullable=True),
        Column("text_digest", pa.binary(8), "key of `texts`"),
    ),
    "reevaluations": (
        Column("run_id", _S, "the run"),
        Column("step", _I, "updates that the policy had had; its first evaluation stands in `samples`"),
        Column("benchmark", _S, "name in the study"),
        Column("occasion", _S, "why: start, or the axes of budgets read there, separated by blanks"),
        Column("problem_id", _S, "id of the benchmark problem"),
        Column("samples", _I, "samples drawn under a second noise"),
        Column("correct", _I, "of them, graded correct"),
        Column("failed", _I, "of them, those on which the grader failed"),
        Column("generated_tokens", _I, "tokens of all of them, not charged"),
    ),
    "lost": (
        Column("run_id", _S, "the run"),
        Column("after_commit", _I, "last commit before the interruption; 0 if there was none"),
        Column("steps", _I, "updates begun and lost"),
        Column("generated_tokens", pa.int64(), "tokens lost, charged to no budget"),
        Column("device_seconds", _D, "seconds lost, up to the last heartbeat"),
        Column("wall_seconds", _D, "wall-clock seconds lost, up to the last heartbeat"),
    ),
    "texts": (
        Column("text_digest", pa.binary(8), "first 8 bytes of the SHA-256 of the text"),
        Column("text", _S, "a completion, as generated; hostile until escaped"),
    ),
}
# fmt: on

TIME_COLUMNS = frozenset({
    "device_seconds", "wall_seconds", "energy_joules", "cum_device_seconds", "cost_device_seconds",
})  # fmt: skip
"""Columns that two runs of one study may differ in; the content digest leaves them out."""


def arrow_schema(table: str) -> pa.Schema:
    """The Arrow schema of a table, with each column's meaning as field metadata."""
    return pa.schema(
        [pa.field(c.name, c.type, c.nullable, {"meaning": c.meaning}) for c in TABLES[table]],
        metadata={"ledger_version": str(LEDGER_VERSION), "table": table},
    )
