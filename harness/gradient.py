"""The gradient test of a study: every arm's credit on one batch of one policy, stored before training."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from harness.cells import Cell, every_cell
from harness.folders import write_json
from harness.gradientfile import START, asked_words, read_predictions
from harness.ledger.reader import read_run
from harness.meter import RunMeter, Spent
from harness.preparing import prepare_cell
from harness.roots import StudyRoot
from prereg.canonical import digest_of
from prereg.events import append_event
from prereg.explain import did_you_mean
from prereg.layout import StudyLayout
from prereg.problems import Problem, Refused
from prereg.reserve import every_seed
from prereg.study import Study
from prereg.trainer import Trainer
from reports import alignment
from trainers.credit import build_credit
from trainers.credit.uniform import Uniform
from trainers.draws import Draws, charge, draw
from trainers.gradient_test import (
    Candidate,
    Direction,
    alignments,
    cosine,
    inner,
    negative_control,
    rollout_direction,
    signal_gradient,
    token_signals,
)
from trainers.noise import permutation, sequence_key
from trainers.reward import RewardMethod, build_reward
from trainers.setting import Setting

STEP = 1e-4
"""Half the distance of the two passes of a token's alignment, as a share of the weights' norm."""

FEWEST = 2
"""Prompts that the batch needs, and the direction."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What to test, and on what."""

    arm: str
    """Whose policy, sampling and prompts are used."""
    model: str
    seed: int
    checkpoint: str = START
    """`start`, or the axis of a budget whose weights the arm's run has kept."""
    prompts: int = 64
    """Of the batch on which candidates are scored."""
    direction_prompts: int = 128
    """Of the direction, in two halves; none of them is in the batch."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a step with a candidate costs here: its rollouts, its own signal, and the training pass."""

    generated_tokens: int
    device_seconds: float


def gradient_test(root: StudyRoot, asked: Asked, now: datetime) -> dict[str, Any]:
    """Make the test and return it as plain JSON. Raises Refused for what the user can mend."""
    study = root.loaded.study
    check_asked(study, asked)
    with ExitStack() as stack:
        ready = prepare_cell(study, root.loaded.folder, Cell(asked.arm, asked.model, asked.seed), stack)
        setting, meter = ready.learner.setting, ready.meter
        if asked.checkpoint != START:
            ready.policy.set_weights(_kept_weights(root, asked))
            setting.engine.sync()
        batch, apart, rollouts = _sample(setting, asked, meter)
        found = _score_all(study, setting, meter, batch, apart, rollouts, asked)
    return {
        **asdict(asked),
        "made_at": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "policy_digest": ready.policy.digest(),
        "study": study.id,
        "lock": root.lock,
        "runs_begun": sum(root.folder(cell).facts.is_file() for cell in every_cell(study)),
        **found,
    }


def check_asked(study: Study, asked: Asked) -> None:
    """Refuse what this study cannot be asked, all at once: a name that it lacks, or too few prompts."""
    problems = [
        Problem(f"--{option}: the study has no {option} `{name}`", hint=did_you_mean(name, names))
        for option, name, names in (
            ("arm", asked.arm, list(study.arms)),
            ("model", asked.model, list(study.models)),
            ("seed", str(asked.seed), [str(seed) for seed in every_seed(study)]),
            ("checkpoint", asked.checkpoint, [START, *study.budget.declared()]),
        )
        if name not in names
    ]
    for option, count, why in (
        ("prompts", asked.prompts, "an interval over prompts needs two"),
        ("direction-prompts", asked.direction_prompts, "each half of the direction needs one"),
    ):
        if count < FEWEST:
            problems.append(
                Problem(f"--{option}: {count} is too few", hint=f"Ask for {FEWEST} or more: {why}.")
            )
    if problems:
        raise Refused(*problems)


def store(root: StudyRoot, test: dict[str, Any], now: datetime) -> Path:
    """Add a test to the study's file of predictions, and log it. Earlier tests stay."""
    path = StudyLayout.of(root.loaded.path).predictions
    tests = read_predictions(path)
    write_json(path, {"version": 1, "tests": [*tests, test]})
    if root.events.is_file():
        words = f"gradient test of {asked_words(test)} with {test['runs_begun']} runs begun"
        append_event(root.events, "prediction", words, now, {"sha256": digest_of(test)})
    return path


def candidates_of(study: Study, base: str) -> tuple[dict[str, Trainer], dict[str, str]]:
    """The arms whose signal can be scored on the base arm's batch, and why the others cannot.

    A signal is what an arm trains tokens with: its reward, its advantage and its credit. Arms of one signal
    are tested once, under the first one's name.
    """
    shared = study.trainer_of(base)
    chosen: dict[str, Trainer] = {}
    left: dict[str, str] = {}
    for arm in study.arms:
        spec = study.trainer_of(arm)
        same = next((name for name, other in chosen.items() if _signal(other) == _signal(spec)), None)
        if same is not None:
            left[arm] = f"its signal is that of {same}"
        elif (spec.samples_per_prompt, spec.max_new_tokens, spec.temperature) != (
            shared.samples_per_prompt, shared.max_new_tokens, shared.temperature,
        ):  # fmt: skip
            left[arm] = f"it samples otherwise than {base}"
        else:
            chosen[arm] = spec
    return chosen, left


def _signal(spec: Trainer) -> tuple[object, ...]:
    """All of a trainer that decides a token's advantage."""
    return spec.reward, spec.advantage, spec.credit


def _sample(setting: Setting, asked: Asked, meter: RunMeter) -> tuple[Draws, Draws, Cost]:
    """The batch and the direction's completions, of disjoint prompts, and what the batch cost.

    The noise is that of a step 0, which no update has.
    """
    needed = asked.prompts + asked.direction_prompts
    if needed > len(setting.prompts):
        raise Refused(
            Problem(
                f"{needed} prompts are asked for, and the study has {len(setting.prompts)}",
                hint="lower --prompts or --direction-prompts",
            )
        )
    order = permutation(len(setting.prompts), setting.seed, "gradient-test").tolist()
    size = setting.spec.samples_per_prompt
    meter.take()
    batch = draw(setting, 0, "rollout", order[: asked.prompts], samples=size)
    charge(setting, batch)
    rollouts = _cost(meter.take())
    apart = draw(
        setting, 0, "rollout", order[asked.prompts : needed], samples=size, first_group=asked.prompts
    )
    return batch, apart, rollouts


def _score_all(
    study: Study, setting: Setting, meter: RunMeter, batch: Draws, apart: Draws, rollouts: Cost, asked: Asked
) -> dict[str, Any]:
    try:
        direction = rollout_direction(setting, apart)
    except ValueError as error:
        raise Refused(Problem(f"no direction can be had: {error}", hint="ask for more prompts")) from None
    along = alignments(setting, batch, direction.unit, STEP)
    halves = [alignments(setting, batch, half, STEP) for half in direction.halves]
    uniform = token_signals(setting, batch, Candidate(RewardMethod(setting), Uniform()), setting.spec)
    meter.take()
    gradient = signal_gradient(setting, batch, uniform)
    training = _cost(meter.take())
    exact, approximate = inner(gradient, direction.unit), alignment.gain(uniform, along)
    chosen, left = candidates_of(study, asked.arm)
    rows: dict[str, Any] = {}
    for name, spec in chosen.items():
        meter.take()
        candidate = Candidate(
            build_reward(spec.reward, replace(setting, spec=spec)), build_credit(spec.credit)
        )
        signal = token_signals(setting, batch, candidate, setting.spec)
        own = _cost(meter.take())
        cost = Cost(
            rollouts.generated_tokens + own.generated_tokens,
            rollouts.device_seconds + own.device_seconds + training.device_seconds,
        )
        rows[name] = _row(setting, batch, direction, along, halves, uniform, signal, cost)
        rows[name]["negative_control"] = negative_control(setting, batch, apart, signal, direction, STEP)
    return {
        "samples": len(batch.completions),
        "noise_floor": direction.agreement,
        "finite_difference": {"exact": exact, "approximate": approximate},
        "uniform_gain_by_half": [alignment.gain(uniform, half) for half in halves],
        "candidates": rows,
        "left_out": left,
    }


def _row(
    setting: Setting, batch: Draws, direction: Direction, along: list[Any], halves: list[Any],
    uniform: list[Any], signal: list[Any], cost: Cost,
) -> dict[str, Any]:  # fmt: skip
    """The numbers of one candidate."""
    found = alignment.gain(signal, along)
    key = sequence_key(setting.seed, "gradient-test")
    return {
        "gain": found,
        "cosine": _number(cosine(signal_gradient(setting, batch, signal), direction.unit)),
        "within": _number(alignment.within_correlation(signal, along)),
        "between": _number(alignment.between_correlation(signal, along)),
        "gain_by_half": [alignment.gain(signal, half) for half in halves],
        "versus_uniform": asdict(alignment.prompt_bootstrap(signal, uniform, along, batch.groups, key)),
        "permuted_less_uniform": asdict(alignment.placebo(signal, uniform, along, key)),
        **asdict(cost),
        "gain_per_1000_tokens": 1000 * found / cost.generated_tokens,
        "gain_per_device_second": found / cost.device_seconds if cost.device_seconds else None,
    }


def _cost(spent: Spent) -> Cost:
    return Cost(
        sum(c.generated_tokens for c in spent.values()), sum(c.device_seconds for c in spent.values())
    )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value


def _kept_weights(root: StudyRoot, asked: Asked) -> dict[str, torch.Tensor]:
    """The weights that the arm's run kept at a budget."""
    cell = Cell(asked.arm, asked.model, asked.seed)
    run = read_run(root.folder(cell).path)
    name = f"budget-{asked.checkpoint}.safetensors"
    found = [file.path for file in run.kept if file.name == name] if run is not None else []
    if not found:
        raise Refused(
            Problem(
                f"the run {cell.run_id} has kept no weights at a budget in {asked.checkpoint}",
                hint=f"run it first, or test the {START} policy",
            )
        )
    return load_file(str(found[0]))
