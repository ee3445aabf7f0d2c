"""Building everything that a cell needs in this process: model, prompts, graders, engine, learner."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers.utils.logging import disable_progress_bar

from harness.cells import Cell
from harness.clock import make_clock
from harness.evaluation import BenchmarkTask
from harness.grading.build import make_grader
from harness.meter import RunMeter
from harness.modelcheck import LONG_PROMPT_HINT
from harness.modelload import FOREIGN_TOKENIZER_HINT, MODEL_REFUSED, WHOLE_WEIGHTS_HINT
from harness.models import load_tokenizer, make_prompts, model_folder
from harness.tasks.resolve import load_task
from prereg.checks.methods import candidates
from prereg.problems import Problem, Refused
from prereg.sources import Model
from prereg.study import Study
from prereg.trainer import Trainer
from trainers.engines import Engine
from trainers.engines.build import build_engine
from trainers.loop import Learner
from trainers.policy import Policy
from trainers.types import Prompt
from trainers.whole_weights import DamagedWeights


@dataclass(frozen=True, slots=True)
class PreparedCell:
    """A cell that can train and be evaluated."""

    spec: Trainer
    policy: Policy
    learner: Learner
    benchmarks: list[BenchmarkTask]
    meter: RunMeter


def prepare_cell(study: Study, study_folder: Path, cell: Cell, graders: ExitStack) -> PreparedCell:
    """Load the cell's model and tasks. Graders and engines may hold processes; `graders` closes them.

    Raises Refused where the model cannot be used or is too short for the prompts.
    """
    disable_progress_bar()
    spec = study.trainer_of(cell.arm)
    device = _device(study, spec)
    model = study.models[cell.model]
    source = model_folder(model, study_folder)
    tokenizer = load_tokenizer(source, remote_code=model.remote_code)
    seed = study.training_seed(cell.arm, cell.seed)
    policy = _load_policy(study, cell, spec, source, device, seed)
    prompts = make_prompts(load_task(study.data.training.source, study_folder).items, model, tokenizer)
    _check_vocabulary(policy, "training", prompts)
    _check_room(policy, "training", prompts, spec.max_new_tokens)
    _check_enough(prompts, spec)
    benchmarks = []
    for name, benchmark in study.data.benchmarks.items():
        problems = make_prompts(load_task(benchmark.source, study_folder).items, model, tokenizer)
        _check_vocabulary(policy, name, problems)
        _check_room(policy, name, problems, benchmark.max_new_tokens)
        grader = graders.enter_context(make_grader(benchmark.grader))
        benchmarks.append(BenchmarkTask(name, benchmark, problems, grader))
    engine = _build_engine(spec, policy, tokenizer, source, model, _longest(prompts, spec, benchmarks))
    graders.callback(engine.close)
    meter = RunMeter(make_clock(study.budget.clock, device.type, engine.processes))
    grader = graders.enter_context(make_grader(study.data.training.grader))
    learner = Learner(spec, policy, engine, prompts, grader, meter, seed)
    return PreparedCell(spec, policy, learner, benchmarks, meter)


def _device(study: Study, spec: Trainer) -> torch.device:
    torch.set_num_threads(spec.torch_threads)
    torch.manual_seed(0)  # nothing draws from it; a library that did would at least be reproducible
    torch.use_deterministic_algorithms(study.environment.deterministic)
    if study.environment.device == "cuda" and not torch.cuda.is_available():
        raise Refused(
            Problem("the study asks for environment.device cuda, but torch sees no GPU here",
                    hint="run it on a machine with a GPU and a CUDA build of torch")
        )  # fmt: skip
    return torch.device(study.environment.device)


def _load_policy(
    study: Study, cell: Cell, spec: Trainer, source: Path, device: torch.device, seed: int
) -> Policy:
    try:
        return Policy.load(
            source, dtype=study.models[cell.model].dtype, adapter=spec.adapter, device=device, seed=seed,
            logits_chunk=spec.logits_chunk, gradient_checkpointing=spec.gradient_checkpointing,
            remote_code=study.models[cell.model].remote_code,
        )  # fmt: skip
    except DamagedWeights as error:
        raise Refused(
            Problem(
                f"the model {cell.model!r} is not whole: {error}", file=str(source), hint=WHOLE_WEIGHTS_HINT
            )
        ) from error
    except MODEL_REFUSED as error:
        raise Refused(
            Problem(f"the model {cell.model!r} cannot be used: {error}", file=str(source))
        ) from error


def _build_engine(
    spec: Trainer, policy: Policy, tokenizer: Any, source: Path, model: Model, longest: int
) -> Engine:
    try:
        return build_engine(
            spec.engine,
            policy,
            tokenizer,
            source,
            stop=model.stop,
            max_length=longest,
            dtype=model.dtype,
            remote_code=model.remote_code,
        )
    except ImportError as error:
        raise Refused(
            Problem(
                f"the engine `{spec.engine.kind}` cannot be loaded: {error}",
                hint="install it with the extra of its name; docs/engines.md says which versions go together",
            )
        ) from error


def _longest(prompts: Sequence[Prompt], spec: Trainer, benchmarks: Sequence[BenchmarkTask]) -> int:
    """Tokens of the longest sequence that training or evaluation can ask for."""
    return max(
        max(len(p.token_ids) for p in prompts) + spec.max_new_tokens,
        *(max(len(p.token_ids) for p in b.prompts) + b.spec.max_new_tokens for b in benchmarks),
    )


def _check_enough(prompts: Sequence[Prompt], spec: Trainer) -> None:
    """Refuse a training set with fewer prompts than an update looks at."""
    needed = candidates(spec)
    if needed > len(prompts):
        raise Refused(
            Problem(
                f"an update needs {needed} different prompts, but {len(prompts)} are there to train on",
                hint="train on more prompts, or lower prompts_per_update or the selection's pool_ratio",
            )
        )


def _check_vocabulary(policy: Policy, name: str, prompts: Sequence[Prompt]) -> None:
    """Refuse prompts with a token that the model has no embedding for."""
    rows = policy.model.get_input_embeddings().weight.shape[0]
    for prompt in prompts:
        if (highest := max(prompt.token_ids)) >= rows:
            raise Refused(
                Problem(
                    f"{name}: the prompt of {prompt.id!r} has the token {highest}, but the model's "
                    f"embedding ends at {rows - 1}",
                    hint=FOREIGN_TOKENIZER_HINT,
                )
            )


def _check_room(policy: Policy, name: str, prompts: Sequence[Prompt], new_tokens: int) -> None:
    """Refuse prompts that would run past the positions that the model knows."""
    positions = getattr(policy.model.config.get_text_config(), "max_position_embeddings", None)
    longest = max(prompts, key=lambda p: len(p.token_ids))
    needed = len(longest.token_ids) + new_tokens
    if positions is not None and needed > positions:
        raise Refused(
            Problem(
                f"{name}: the prompt of {longest.id!r} has {len(longest.token_ids)} tokens, which with "
                f"max_new_tokens {new_tokens} is more than the model's {positions} positions",
                hint=LONG_PROMPT_HINT,
            )
        )
