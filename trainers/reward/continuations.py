"""Values of prefixes from completions sampled behind them (Kazemnejad et al., 2024, arXiv 2410.01679).

All prefixes of an update are continued in one call, in full batches. A prefix that several completions of a
prompt share is continued once. A continuation has the tokens that were left to the completion; one that is
cut off there has no answer, counts 0 and is charged like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prereg.rewards import Continuations
from trainers.draws import Draws, charge
from trainers.engines import Sampling
from trainers.noise import sequence_key
from trainers.reward import Continued
from trainers.setting import Setting
from trainers.types import Request


@dataclass(frozen=True, slots=True)
class Prefix:
    """The beginning of a completion."""

    completion: int
    boundary: int
    """Step that begins behind it, from 0."""
    kept: int
    """Its tokens."""


def continue_prefixes(
    setting: Setting, spec: Continuations, rollouts: Draws, prefixes: Sequence[Prefix]
) -> tuple[dict[Prefix, float], Continued | None]:
    """The share of right answers among each prefix's continuations, NaN where the grader failed on one.

    Also the continuations themselves, charged; None if there was nothing to continue.
    """
    names = {prefix: _name(rollouts, prefix) for prefix in prefixes}
    distinct: dict[tuple[str, bytes], Prefix] = {}
    for prefix in prefixes:
        distinct.setdefault(names[prefix], prefix)
    if not distinct:
        return {}, None
    continued = _sample(setting, spec, rollouts, [p for p in distinct.values() for _ in range(spec.count)])
    charge(setting, continued.draws, phase="score", kept=continued.kept)
    states = [grade.state for grade in continued.draws.grades]
    right = np.array([s == "correct" for s in states], dtype=np.float64)
    right[[s == "grader_error" for s in states]] = np.nan
    means = dict(zip(distinct, right.reshape(-1, spec.count).mean(axis=1).tolist(), strict=True))
    return {prefix: means[names[prefix]] for prefix in prefixes}, continued


def _name(rollouts: Draws, prefix: Prefix) -> tuple[str, bytes]:
    """What makes two prefixes identical: their prompt and their tokens."""
    tokens = rollouts.completions[prefix.completion].token_ids[: prefix.kept]
    return rollouts.prompts[prefix.completion].id, tokens.tobytes()


def _sample(setting: Setting, spec: Continuations, rollouts: Draws, prefixes: Sequence[Prefix]) -> Continued:
    """One continuation for each entry of `prefixes`, in which each prefix stands K times in a row."""
    places = [p.completion for p in prefixes]
    heads = [rollouts.completions[p.completion].token_ids[: p.kept].tolist() for p in prefixes]
    repeats = [k % spec.count for k in range(len(prefixes))]
    cap = setting.spec.max_new_tokens
    requests = []
    for prefix, head, repeat in zip(prefixes, heads, repeats, strict=True):
        i = prefix.completion
        prompt = rollouts.prompts[i]
        key = sequence_key(
            setting.seed, "continuation", rollouts.step, prompt.id, rollouts.groups[i], rollouts.samples[i],
            prefix.boundary, repeat,
        )  # fmt: skip
        requests.append(Request((*prompt.token_ids, *head), key, cap - prefix.kept))
    sampling = Sampling(cap, spec.temperature, max_batch=setting.spec.engine.max_batch)
    with setting.meter.phase("score", "continuation"):
        completions = setting.engine.generate(requests, sampling)
        whole = [[*head, *c.token_ids.tolist()] for head, c in zip(heads, completions, strict=True)]
        texts = setting.engine.texts(whole)
    prompts = [rollouts.prompts[i] for i in places]
    with setting.meter.phase("grade"):
        complete = [c.finish_reason == "stop" for c in completions]
        grades = setting.grader([p.gold for p in prompts], texts, complete)
    draws = Draws(
        rollouts.step, "continuation", prompts, [rollouts.groups[i] for i in places],
        [rollouts.samples[i] for i in places], completions, grades,
    )  # fmt: skip
    return Continued(draws, [p.boundary for p in prefixes], [p.kept for p in prefixes], repeats)
