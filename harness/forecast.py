"""What a study would cost on a GPU that is not here: computed from shapes and stated assumptions.

A roofline: decoding reads the weights and the cache once for each token of every sequence in the batch, and
is bound by memory; prefill and training are bound by arithmetic. Every assumption is a field and is printed;
a measured plan (`harness plan --measure`) is better wherever it can be had.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from harness.devices import Device
from harness.plan import evaluations_at
from harness.shapes import Shape
from prereg.rewards import Continuations, ImplicitPrmReward, StepValues, UniformBoundaries
from prereg.study import Study
from prereg.trainer import LoraAdapter, Trainer
from trainers.flops import ModelShape, attended_causally

BYTES_PER_WEIGHT = {"float32": 4, "bfloat16": 2}

LEDGER_BYTES_A_TOKEN = 4.2
"""Upper end of what the ledger was measured to take (docs/benchmarks.md); evaluation samples take less."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What a forecast takes for granted."""

    length_share: float = 0.5
    """Mean length of an answer, as a share of its cap."""
    prompt_tokens: int = 150
    train_utilisation: float = 0.35
    """Share of the device's arithmetic that training reaches."""
    prefill_utilisation: float = 0.5
    decode_bandwidth: float = 0.6
    """Share of the memory bandwidth that decoding reaches."""
    update_overhead: float = 3.0
    """Seconds an update for weights to the engine, grading that is not hidden, and idle time."""

    def words(self) -> tuple[str, ...]:
        """A line each."""
        return (
            f"answers of {self.length_share:.0%} of their cap and prompts of {self.prompt_tokens} tokens",
            f"training at {self.train_utilisation:.0%} and prefill at {self.prefill_utilisation:.0%} of the "
            f"device's bfloat16 arithmetic, decoding at {self.decode_bandwidth:.0%} of its bandwidth",
            f"{self.update_overhead:g} s an update for weights, grading and idle time",
        )


@dataclass(frozen=True, slots=True)
class ArmForecast:
    """One run of an arm on one device."""

    arm: str
    model: str
    runs: int
    updates: int
    """Until the last budget is reached."""
    generated_tokens: int
    train_hours: float
    evaluations: int
    """Of the start, at the budgets, and along the grid until the last budget."""
    evaluation_hours: float
    ledger_bytes: int

    @property
    def hours(self) -> float:
        """GPU-hours of one run."""
        return self.train_hours + self.evaluation_hours

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def forecast(
    study: Study, arm: str, model: str, shape: Shape, problems: dict[str, int], device: Device,
    assumed: Assumptions,
) -> ArmForecast:  # fmt: skip
    """The forecast of one run. `problems` has the number of problems of each benchmark."""
    spec = study.trainer_of(arm)
    width = BYTES_PER_WEIGHT[study.models[model].dtype]
    length = max(1.0, assumed.length_share * spec.max_new_tokens)
    sequences = spec.prompts_per_update * spec.samples_per_prompt
    rollout_tokens = sequences * length
    tokens = rollout_tokens * (1 + continuation_share(spec))
    decode = _decode_seconds(shape, width, tokens, length, spec.engine.max_batch, device, assumed)
    operations = _update_operations(shape, spec, sequences, int(length), assumed)
    seconds = (
        decode
        + sequences * 2 * shape.weights * assumed.prompt_tokens / (device.flops * assumed.prefill_utilisation)
        + operations / (device.flops * assumed.train_utilisation)
        + assumed.update_overhead
    )
    per_update = {
        "updates": 1.0,
        "generated_tokens": tokens,
        "device_seconds": seconds,
        "train_flops": operations + 2 * shape.weights * tokens,
    }
    updates = max(int(-(-budget // per_update[axis])) for axis, budget in study.budget.declared().items())
    evaluations = evaluations_at(study, updates, int(updates * tokens))
    evaluation_tokens = evaluations * sum(
        problems[name] * one.samples * max(1.0, assumed.length_share * one.max_new_tokens)
        for name, one in study.data.benchmarks.items()
    )
    longest = max(assumed.length_share * one.max_new_tokens for one in study.data.benchmarks.values())
    evaluation = _decode_seconds(
        shape, width, evaluation_tokens, longest, study.evaluation.max_batch, device, assumed
    )
    return ArmForecast(
        arm, model, len(study.seeds), updates, int(updates * tokens), updates * seconds / 3600,
        evaluations, evaluation / 3600, int(LEDGER_BYTES_A_TOKEN * updates * tokens),
    )  # fmt: skip


def continuation_share(spec: Trainer) -> float:
    """Continuation tokens for each rollout token: K (S + 1) / 2 with S evenly spaced boundaries.

    The root is one of them; where its value is free, K (S - 1) / 2.
    """
    reward = spec.reward
    if not isinstance(reward, StepValues) or not isinstance(reward.estimator, Continuations):
        return 0.0
    steps = reward.boundaries.steps if isinstance(reward.boundaries, UniformBoundaries) else ASSUMED_STEPS
    remainders = steps - 1 if reward.estimator.root == "leave_one_out" else steps + 1
    return reward.estimator.count * remainders / 2


ASSUMED_STEPS = 8
"""Steps of an answer at whose boundaries continuations begin, where the text decides how many there are."""


def _decode_seconds(
    shape: Shape, width: int, tokens: float, length: float, batch: int, device: Device, assumed: Assumptions
) -> float:
    """Bound by memory: every decoding step reads all weights and the cache of the sequences in it."""
    weights = (shape.linear_weights + shape.output_weights) * width
    cache = shape.cache_values_a_token * width * (assumed.prompt_tokens + length / 2)
    a_step = (weights + batch * cache) / (device.bandwidth * assumed.decode_bandwidth)
    arithmetic = 2 * shape.weights * batch / (device.flops * assumed.prefill_utilisation)
    return tokens / batch * max(a_step, arithmetic)


def _update_operations(
    shape: Shape, spec: Trainer, sequences: int, length: int, assumed: Assumptions
) -> float:
    """Forward and backward of every completion, as though every group were informative."""
    adapter = 0
    if isinstance(spec.adapter, LoraAdapter):
        adapter = shape.adapter_weights(spec.adapter.rank, spec.adapter.targets)
    counted = ModelShape(
        shape.linear_weights, shape.output_weights, adapter, shape.layers, shape.heads * shape.head_dim
    )
    tokens = sequences * (assumed.prompt_tokens + length)
    attended = sequences * attended_causally(assumed.prompt_tokens, length)
    scored = sequences * length
    forward, backward = counted.forward(tokens, attended, scored), counted.backward(tokens, attended, scored)
    passes = 1 + (spec.loss.kl_coefficient > 0) + (spec.optimizer_steps_per_update > 1)
    learned = isinstance(spec.reward, ImplicitPrmReward)  # reads phi and the reference, and trains phi
    return (passes + 3 * learned) * forward + (1 + learned) * backward
