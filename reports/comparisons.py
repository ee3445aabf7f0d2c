"""From a registered hypothesis to its paired differences, or to the reasons why they cannot be had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prereg.hypotheses import Hypothesis
from prereg.testkinds import BinomialScoreboard
from reports.intervals import Interval, crossed, paired_t, seed_means
from reports.leftout import left_out, missing_pairs, too_few
from reports.missing import WorstCase, worst_case
from reports.scores import Evidence, block_reason, problem_scores, reading

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Treatment minus control at the budget, in percentage points; without `reasons`, it is complete."""

    hypothesis: str
    reasons: tuple[str, ...]
    """Why it is inadmissible, in words; the other fields are then empty."""
    effect: Interval | None = None
    """By the registered test."""
    other: Interval | None = None
    """The interval that was not registered: a sensitivity analysis."""
    seeds: tuple[int, ...] = ()
    per_seed: tuple[float, ...] = ()
    treatment_mean: float = float("nan")
    control_mean: float = float("nan")
    treatment_updates: tuple[int, ...] = ()
    """Updates that the treatment's policies had had at the budget, by seed."""
    control_updates: tuple[int, ...] = ()
    excluded: tuple[str, ...] = ()
    """Seeds that the plan leaves out of both arms, each with the event."""
    missing: tuple[str, ...] = ()
    """Pairs that are missing and that the plan goes without, each in words."""
    worst: WorstCase | None = None
    """What the test says if the missing pairs are set against the claim."""


def model_of(evidence: Evidence, hypothesis: Hypothesis) -> str:
    """The model that a hypothesis speaks of: its own, or the study's first."""
    return hypothesis.model or next(iter(evidence.study.models))


def compare_all(evidence: Evidence, share: float = 1.0) -> dict[str, Comparison]:
    """The comparison of each hypothesis by id; that of a scoreboard is empty: its predictions measure.

    `share` is the part of alpha that is spent on it, for the level of the intervals (`shown_level`).
    """
    return {
        h.id: Comparison(h.id, ()) if isinstance(h.test, BinomialScoreboard) else compare(evidence, h, share)
        for h in evidence.study.hypotheses
    }


def shown_level(hypothesis: Hypothesis, share: float = 1.0) -> float:
    """The level of the printed interval: 95 %, or 1 - 2 alpha where it lies within the margin or does not.

    The interval at 1 - 2 alpha lies inside (-margin, margin) exactly where TOST rejects, and above -margin
    exactly where non-inferiority does, before a family's correction. At a look that spends a `share` of
    alpha the interval may miss so much less often: over all looks, one in twenty (or 2 alpha) does.
    """
    level = 1 - 2 * hypothesis.alpha if hypothesis.margin is not None else 0.95
    return level if share == 1 else 1 - share * (1 - level)


def interval_of(
    hypothesis: Hypothesis,
    blocks: Sequence[Floats],
    shares: Sequence[float],
    *,
    over_problems: bool,
    share: float = 1.0,
) -> Interval:
    """The effect with its printed interval, from the paired differences of each benchmark.

    `blocks[b]` has shape (seeds, problems of b), in percentage points; `shares` sum to 1. `share` is the
    part of alpha that is spent on it. The simulation of power calls this as the report does.
    """
    level = shown_level(hypothesis, share)
    if over_problems:
        return crossed(blocks, shares, level)
    return paired_t(seed_means(blocks, shares), level)


def compare(evidence: Evidence, hypothesis: Hypothesis, share: float = 1.0) -> Comparison:
    """The comparison that a hypothesis registers, on every planned seed or not at all.

    What the plan excludes, or goes without, it does in pairs and by what happened to a run, whatever its
    score.
    """
    model = model_of(evidence, hypothesis)
    weights = evidence.study.weights(hypothesis.benchmarks)
    steps: dict[tuple[str, int], tuple[str, int]] = {}
    reasons: list[str] = []
    if hypothesis.model is None and len(evidence.study.models) > 1:
        reasons.append("the study has several models and the hypothesis names none")
    excluded = left_out(evidence, hypothesis, model)
    missing = missing_pairs(evidence, hypothesis, model, excluded)
    seeds = tuple(seed for seed in evidence.study.seeds if seed not in excluded and seed not in missing)
    named = tuple(excluded.values())
    if len(seeds) < 2 and named:
        reasons.append(f"the plan excludes all seeds but {len(seeds)}: {'; '.join(named)}")
    if (few := too_few(evidence, len(seeds))) is not None:
        reasons.extend((few, *missing.values()))
    for arm in (hypothesis.treatment, hypothesis.control):
        for seed in seeds:
            found = _policy(evidence, hypothesis, model, arm, seed, tuple(weights))
            if isinstance(found, tuple):
                steps[arm, seed] = found
            else:
                reasons.extend(found)
    reasons.extend(_device_reasons(evidence, hypothesis, model, seeds))
    if not reasons:
        reasons.extend(_problem_reasons(evidence, hypothesis, steps, tuple(weights)))
    if reasons:
        return Comparison(hypothesis.id, tuple(reasons), excluded=named)
    complete = _complete(evidence, hypothesis, steps, weights, seeds, len(missing), share)
    return replace(complete, excluded=named, missing=tuple(missing.values()))


def _policy(
    evidence: Evidence, hypothesis: Hypothesis, model: str, arm: str, seed: int, benchmarks: tuple[str, ...]
) -> tuple[str, int] | list[str]:
    """Run and step of the policy to be read, or the reasons why there is none."""
    fact = evidence.run(model, arm, seed)
    if fact is None or fact.state == "planned":
        return [f"{arm}, seed {seed}: the run was never started"]
    if fact.state != "finished":
        return [f"{fact.run_id}: the run did not finish ({fact.state})"]
    at = reading(evidence, fact.run_id, hypothesis.matched_on)
    if isinstance(at, str):
        return [at]
    blocked = [block_reason(evidence, fact.run_id, at.step, name) for name in benchmarks]
    if found := [reason for reason in blocked if reason is not None]:
        return found
    return fact.run_id, at.step


def _device_reasons(
    evidence: Evidence, hypothesis: Hypothesis, model: str, seeds: tuple[int, ...]
) -> list[str]:
    if hypothesis.matched_on != "device_seconds":
        return []
    kinds: set[str] = set()
    for arm in (hypothesis.treatment, hypothesis.control):
        for fact in (run for run in evidence.runs_of(model, arm) if run.seed in seeds):
            kinds.update(evidence.ledger.device_kinds.get(fact.run_id, ()))
            kinds.update([fact.device_kind] if fact.device_kind else [])
    if len(kinds) < 2:
        return []
    return [f"device-seconds of different devices cannot be compared: {', '.join(sorted(kinds))}"]


def _problem_reasons(
    evidence: Evidence,
    hypothesis: Hypothesis,
    steps: dict[tuple[str, int], tuple[str, int]],
    benchmarks: tuple[str, ...],
) -> list[str]:
    reasons = []
    for name in benchmarks:
        cells = [evidence.ledger.cells[run, step, name] for run, step in steps.values()]
        if len({cell.problem_ids for cell in cells}) > 1:
            reasons.append(f"{name}: the runs were not evaluated on the same problems")
        if any(np.isnan(problem_scores(cell, hypothesis.metric)).any() for cell in cells):
            reasons.append(f"{name}: the metric is not estimable from so few samples a problem")
    return reasons


def _complete(
    evidence: Evidence,
    hypothesis: Hypothesis,
    steps: dict[tuple[str, int], tuple[str, int]],
    weights: dict[str, float],
    seeds: tuple[int, ...],
    missing: int,
    share: float,
) -> Comparison:
    def scores(arm: str, benchmark: str) -> Floats:
        rows = [evidence.ledger.cells[(*steps[arm, seed], benchmark)] for seed in seeds]
        return np.array([100 * problem_scores(cell, hypothesis.metric) for cell in rows])

    treated = [scores(hypothesis.treatment, name) for name in weights]
    controls = [scores(hypothesis.control, name) for name in weights]
    blocks = [one - other for one, other in zip(treated, controls, strict=True)]
    shares = list(weights.values())

    def registered(differences: Sequence[Floats]) -> Interval:
        over = hypothesis.over_problems
        return interval_of(hypothesis, differences, shares, over_problems=over, share=share)

    other = not hypothesis.over_problems
    return Comparison(
        hypothesis.id,
        (),
        effect=registered(blocks),
        other=interval_of(hypothesis, blocks, shares, over_problems=other, share=share),
        seeds=seeds,
        per_seed=tuple(float(value) for value in seed_means(blocks, shares)),
        treatment_mean=float(seed_means(treated, shares).mean()),
        control_mean=float(seed_means(controls, shares).mean()),
        treatment_updates=tuple(steps[hypothesis.treatment, seed][1] for seed in seeds),
        control_updates=tuple(steps[hypothesis.control, seed][1] for seed in seeds),
        worst=worst_case(hypothesis, blocks, shares, seeds, missing, registered),
    )
