"""A hypothesis's paired differences all along its budgets, bootstrapped once for all axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prereg.fields import Axis
from prereg.hypotheses import Hypothesis
from reports.bootstrap import Bootstrap, bootstrap
from reports.comparisons import Comparison, model_of
from reports.intervals import Interval, paired_t, seed_means
from reports.ledger import Checkpoint
from reports.scores import Evidence, block_reason, problem_scores, reading

Floats = NDArray[np.float64]

PARTS = 20
"""Where the runs share too few checkpoints, they are read at so many equal parts of the budget."""
_SHARED = 3
"""Checkpoints that all runs must share to be read at those."""


@dataclass(frozen=True, slots=True)
class Along:
    """Treatment less control along one axis, percentage points."""

    axis: Axis
    costs: Floats
    """Shape (points,), rising; the last is the budget."""
    curve: Bootstrap
    """One column a point."""
    over_seeds: tuple[Interval, ...]
    """The paired t interval at each point."""
    area: Bootstrap | None
    """Mean height of the difference up to the budget, one column; None where nothing lies before it."""
    area_over_seeds: Interval | None


Run = tuple[str, tuple[Checkpoint, ...]]
"""A run and its checkpoints within the budget."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How each run of an axis is read: its checkpoints' steps, and their weights in each column."""

    axis: Axis
    costs: Floats
    has_area: bool
    treated: tuple[Run, ...]
    controls: tuple[Run, ...]
    start: float
    """Cost at which the area begins: that of the latest first checkpoint."""


def contrast_key(evidence: Evidence, hypothesis: Hypothesis) -> tuple[str, ...]:
    """What names a contrast whatever the hypothesis is called: equal for two that measure the same."""
    metric = hypothesis.metric.model_dump_json()
    names = ",".join(sorted(evidence.study.weights(hypothesis.benchmarks)))
    return hypothesis.treatment, hypothesis.control, model_of(evidence, hypothesis), metric, names


def along_budgets(
    evidence: Evidence, hypothesis: Hypothesis, comparison: Comparison
) -> tuple[tuple[Along, ...], tuple[str, ...]]:
    """The difference along every declared axis that can be read, and for the others why it cannot.

    `comparison` is that of the hypothesis, and complete: its seeds are used.
    """
    plans: list[_Plan] = []
    reasons: list[str] = []
    for axis, budget in evidence.study.budget.declared().items():
        found = _plan(evidence, hypothesis, comparison.seeds, axis, budget)
        if isinstance(found, str):
            reasons.append(found)
        else:
            plans.append(found)
    if not plans:
        return (), tuple(reasons)
    weights = evidence.study.weights(hypothesis.benchmarks)
    blocks = {
        name: np.concatenate([_differences(evidence, hypothesis, plan, name) for plan in plans], axis=2)
        for name in weights
    }
    made = bootstrap(blocks, weights, evidence.study.id, *contrast_key(evidence, hypothesis))
    shares = list(weights.values())
    per_seed = np.array(
        [seed_means([blocks[n][:, :, c] for n in weights], shares) for c in range(made.estimate.shape[0])]
    )
    return tuple(_taken(plans, made, per_seed)), tuple(reasons)


def _taken(plans: Sequence[_Plan], made: Bootstrap, per_seed: Floats) -> list[Along]:
    """The columns of each axis out of those of all."""
    result = []
    first = 0
    for plan in plans:
        end = first + len(plan.costs)
        intervals = tuple(paired_t(values) for values in per_seed[first:end])
        area = over_seeds = None
        curve = _columns(made, first, end)
        if plan.has_area:
            area, over_seeds = _columns(made, end, end + 1), paired_t(per_seed[end])
            end += 1
        result.append(Along(plan.axis, plan.costs, curve, intervals, area, over_seeds))
        first = end
    return result


def _columns(made: Bootstrap, first: int, end: int) -> Bootstrap:
    return Bootstrap(made.estimate[first:end], made.replicates[:, first:end])


def _plan(
    evidence: Evidence, hypothesis: Hypothesis, seeds: Sequence[int], axis: Axis, budget: float
) -> _Plan | str:
    """How the runs are read along an axis, or why they cannot be."""
    model = model_of(evidence, hypothesis)
    names = tuple(evidence.study.weights(hypothesis.benchmarks))
    by_arm: dict[str, list[Run]] = {hypothesis.treatment: [], hypothesis.control: []}
    ids: dict[str, tuple[str, ...]] = {}
    for arm, runs in by_arm.items():
        for seed in seeds:
            fact = evidence.run(model, arm, seed)
            at = "the run was never started" if fact is None else reading(evidence, fact.run_id, axis)
            if fact is None or isinstance(at, str):
                return str(at)
            points = tuple(p for p in evidence.ledger.checkpoints[fact.run_id] if p.cost[axis] <= budget)
            for point in points:
                for name in names:
                    if (reason := block_reason(evidence, fact.run_id, point.step, name)) is not None:
                        return reason
                    cell = evidence.ledger.cells[fact.run_id, point.step, name]
                    if ids.setdefault(name, cell.problem_ids) != cell.problem_ids:
                        return f"{name}: the runs were not evaluated on the same problems"
            runs.append((fact.run_id, points))
    every = [*by_arm[hypothesis.treatment], *by_arm[hypothesis.control]]
    start = max(points[0].cost[axis] for _, points in every)
    return _Plan(
        axis,
        _costs([[point.cost[axis] for point in points] for _, points in every], budget),
        start < budget,
        tuple(by_arm[hypothesis.treatment]),
        tuple(by_arm[hypothesis.control]),
        start,
    )


def _costs(runs: Sequence[Sequence[float]], budget: float) -> Floats:
    """Where the runs are read: at the checkpoints that all share, else at equal parts of the budget."""
    shared = set(runs[0]).intersection(*runs[1:])
    if len(shared) >= _SHARED:
        return np.array(sorted(shared | {budget}), dtype=np.float64)
    start = max(costs[0] for costs in runs)
    parts = [budget * part / PARTS for part in range(1, PARTS)]
    return np.array([*(cost for cost in parts if cost >= start), budget], dtype=np.float64)


def _differences(evidence: Evidence, hypothesis: Hypothesis, plan: _Plan, benchmark: str) -> Floats:
    """Paired differences of a benchmark, shape (seeds, problems, columns): the points, then the area."""

    def read(run: Run) -> Floats:
        run_id, points = run
        scores = np.array([
            100 * problem_scores(evidence.ledger.cells[run_id, point.step, benchmark], hypothesis.metric)
            for point in points
        ])  # fmt: skip
        costs = np.array([point.cost[plan.axis] for point in points])
        # Not `@`: a sum whose order depends on the library's threads would show in the last bits.
        weights = column_weights(costs, plan.costs, plan.start, plan.has_area)
        return np.asarray(np.einsum("kp,kc->pc", scores, weights))

    return np.array([read(one) - read(other) for one, other in zip(plan.treated, plan.controls, strict=True)])


def column_weights(costs: Floats, at: Floats, start: float, has_area: bool) -> Floats:
    """What each checkpoint weighs in each column, shape (checkpoints, points [+ 1 for the area]).

    `costs` are those of one run's checkpoints, rising; `at` those where it is read, the last being the
    budget. A point has the last checkpoint within it; the area each checkpoint by how long it stays the last.
    """
    weights = np.zeros((len(costs), len(at) + has_area))
    weights[np.searchsorted(costs, at, side="right") - 1, np.arange(len(at))] = 1.0
    if has_area:
        begins = np.clip(costs, start, at[-1])
        ends = np.append(begins[1:], at[-1])
        weights[:, -1] = (ends - begins) / (at[-1] - start)
    return weights
