"""What a training run does: the section that all arms share, and from which each arm states its difference.

The formulas behind each field stand in docs/methods.md. Variants (credit, reward, selection, engine,
adapter) are discriminated by `kind`; each carries its own parameters and nothing else's.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from prereg.fields import Axis, Count, Fraction, NonNegative, Positive, Section
from prereg.installed import InstalledMethod
from prereg.rewards import OutcomeReward, Reward
from prereg.selections import Selection, UniformSelection


class UniformCredit(Section):
    """Every token of a completion gets the completion's advantage (GRPO)."""

    kind: Literal["uniform"] = "uniform"


class MarginCredit(Section):
    """MCPO: tokens at which the policy hesitated (a small top-2 margin) get more of the advantage.

    Score 1 below `low`, `floor` above `high`, linear between; margins are probabilities in [0, 1].
    """

    kind: Literal["margin"] = "margin"
    low: Fraction = 0.2
    """Margin up to which a token gets the full score."""
    high: Fraction = 0.8
    """Margin from which a token gets the score `floor`."""
    floor: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Smallest score, so that no token is left out."""


class ShuffledCredit(Section):
    """The placebo of `margin`: the same scores, permuted within each completion."""

    kind: Literal["shuffled"] = "shuffled"
    low: Fraction = 0.2
    """As in `margin`."""
    high: Fraction = 0.8
    """As in `margin`."""
    floor: Annotated[float, Field(gt=0, le=1)] = 0.1
    """As in `margin`."""


class EntropyCredit(Section):
    """80/20: the tokens at which the policy was least sure get the advantage, the others nothing."""

    kind: Literal["entropy"]
    share: Annotated[float, Field(gt=0, le=1)] = 0.2
    """Share of a completion's tokens that is kept, those of the highest entropy; rounded up."""
    denominator: Literal["kept", "all"] = "kept"
    """Whether the mean is over the kept tokens or over all: a factor of 5 at a share of 0.2."""


Credit = Annotated[
    UniformCredit | MarginCredit | ShuffledCredit | EntropyCredit | InstalledMethod,
    Field(discriminator="kind"),
]


class Advantage(Section):
    """How rewards become advantages within a group of completions of one prompt."""

    baseline: Literal["mean", "leave_one_out"] = "mean"
    """What is subtracted from a reward: its group's mean, or that of the group's other members."""
    scale: Literal["none", "std_population", "std_sample"] = "std_population"
    """What it is divided by: nothing, or the group's standard deviation."""


class Loss(Section):
    """The clipped policy-gradient loss, its aggregation and its penalty towards the start policy."""

    aggregation: Literal["token_mean", "sequence_mean", "constant"] = "token_mean"
    """Mean over tokens, over completions of their means, or by a constant number of tokens a completion."""
    constant: Count | None = None
    """Denominator in tokens a sequence for `constant` (Dr. GRPO); required there, refused elsewhere."""
    clip_low: Positive = 0.2
    """The ratio to the sampling policy is clipped below 1 less this."""
    clip_high: Positive = 0.2
    """The ratio is clipped above 1 plus this."""
    kl_coefficient: NonNegative = 0.0
    """Weight of the penalty; 0 for none."""
    kl_estimator: Literal["k1", "k2", "k3"] = "k3"
    """Estimator of the divergence from samples (Schulman, 2020)."""
    importance: Literal["none", "token_truncated", "sequence_masked"] = "none"
    """Correction for an engine whose log-probabilities differ from the trainer's."""
    importance_cap: Positive = 2.0
    """Largest weight a token, or largest ratio a completion either way."""


class Schedule(Section):
    """The learning rate as a function of the fraction of one axis's budget that is spent."""

    kind: Literal["constant", "linear", "cosine"] = "constant"
    """Shape after the warm-up."""
    axis: Axis = "updates"
    """Whose budget counts; a study that decays on an axis may compare only on that axis."""
    warmup: Fraction = 0.0
    """Share of the budget over which the rate rises linearly from 0."""
    final: Fraction = 0.0
    """Rate at the end of the budget, as a share of `learning_rate` (linear and cosine)."""


class Optimizer(Section):
    """AdamW."""

    learning_rate: NonNegative = 1e-6
    """At its highest."""
    schedule: Schedule = Schedule()
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    """Decay of the mean of gradients."""
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    """Decay of the mean of squares."""
    epsilon: Positive = 1e-8
    """Added to the root of the mean of squares."""
    weight_decay: NonNegative = 0.0
    """Decoupled from the gradient."""
    max_gradient_norm: Positive | None = 1.0
    """The gradient is scaled down to this norm; null for no limit."""


class FullAdapter(Section):
    """All weights are trained."""

    kind: Literal["full"] = "full"


class LoraAdapter(Section):
    """Low-rank adapters on the named linear layers; the base weights never change."""

    kind: Literal["lora"] = "lora"
    rank: Count = 16
    """Rank of each adapter."""
    alpha: Positive = 32.0
    """An adapter is multiplied by alpha / rank."""
    dropout: Literal[0] = 0
    """Dropout would make the training pass disagree with the sampling pass, so only 0 is accepted."""
    targets: Annotated[tuple[str, ...], Field(min_length=1)] = (
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj",
    )  # fmt: skip
    """Names of the layers that get one."""


Adapter = Annotated[FullAdapter | LoraAdapter, Field(discriminator="kind")]


class TransformersEngine(Section):
    """Sampling in the trainer's own process, from the very weights that are trained."""

    kind: Literal["transformers"] = "transformers"
    max_batch: Count = 512
    """Sequences decoded at once."""


class VllmEngine(Section):
    """Sampling by vLLM, in processes of its own. See docs/engines.md for versions and determinism.

    Its log-probabilities differ a little from the trainer's; `loss.importance` corrects for that, and the gap
    is in the ledger at each update. Adapters are passed as adapters, never merged into the base weights.
    """

    kind: Literal["vllm"]
    max_batch: Count = 256
    """Sequences decoded at once (vLLM's `max_num_seqs`)."""
    memory_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.45
    """Share of the GPU's memory for vLLM; the trainer has the rest. Not used on a CPU."""
    cpu_cache_gib: Count = 1
    """Memory for the key-value cache on a CPU, GiB."""
    eager: bool = False
    """Do not compile or capture graphs: slower, starts sooner. A CPU is always eager."""
    prefix_caching: bool = False
    """Keep prefixes of prompts between requests: faster, but rounding then depends on what came before."""
    sleep: bool = True
    """Give memory back between phases, on a GPU."""
    restarts: Annotated[int, Field(ge=0)] = 2
    """How often an engine that dies within one update is started again before the run fails."""


Engine = Annotated[TransformersEngine | VllmEngine, Field(discriminator="kind")]


class Trainer(Section):
    """One training run. Everything an arm can differ in is a field here."""

    prompts_per_update: Count = 8
    """Groups in an update."""
    samples_per_prompt: Annotated[int, Field(ge=2)] = 8
    """Group size. A group of one has no baseline, so it is refused."""
    max_new_tokens: Count = 1024
    """Cap on a completion; one that reaches it has no answer."""
    temperature: Positive = 1.0
    """Of sampling, and of the log-probabilities in the loss."""
    optimizer_steps_per_update: Count = 1
    """Mini-batches into which each update's completions are split, one optimizer step each."""
    advantage: Advantage = Advantage()
    credit: Credit = UniformCredit()
    """How a completion's advantage is spread over its tokens."""
    reward: Reward = OutcomeReward()
    """What a completion, or each of its tokens, is worth."""
    selection: Selection = UniformSelection()
    """Which training prompts an update uses."""
    loss: Loss = Loss()
    optimizer: Optimizer = Optimizer()
    adapter: Adapter = FullAdapter()
    """Which weights are trained."""
    engine: Engine = TransformersEngine()
    """What samples completions."""
    micro_batch_tokens: Count = 16_384
    """Padded tokens in one forward and backward pass. The result does not depend on it."""
    logits_chunk: Count = 1024
    """Tokens whose logits over the vocabulary exist at one time. The result does not depend on it."""
    gradient_checkpointing: bool = False
    """Compute activations again in the backward pass, to save memory."""
    torch_threads: Count = 1
    """Threads of one run. A small model is fastest on one."""
