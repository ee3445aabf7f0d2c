"""Accuracies of checkpoints, and the reasons why one cannot be given. Percentage points throughout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from prereg.fields import Axis
from prereg.hypotheses import AverageMetric, Metric, PassMetric
from prereg.problems import Problem, Refused
from prereg.study import Study
from reports import curves, metrics
from reports.cells import Cell
from reports.inputs import RunFact
from reports.ledger import Checkpoint, Ledger, Reading
from reports.planned import AsRun

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The plan, the runs and the ledger together: what every table is computed from."""

    study: Study
    """With the seeds that count: where a reserve seed was drawn, it stands in the place of the other."""
    runs: tuple[RunFact, ...]
    """Planned runs only, in the plan's order: model, arm, seed."""
    ledger: Ledger
    as_run: AsRun = field(default_factory=AsRun)
    """What became of the plan by its own rules."""
    _reasons: dict[tuple[str, int, str], str | None] = field(default_factory=dict, repr=False, compare=False)
    """What `block_reason` has found: every table asks it of every policy."""

    def run(self, model: str, arm: str, seed: int) -> RunFact | None:
        """The planned run of this cell, if there is one."""
        for fact in self.runs:
            if (fact.model, fact.arm, fact.seed) == (model, arm, seed):
                return fact
        return None

    def runs_of(self, model: str, arm: str) -> tuple[RunFact, ...]:
        """The arm's runs, in the order of the study's seeds."""
        return tuple(fact for fact in self.runs if (fact.model, fact.arm) == (model, arm))

    def checkpoint(self, run_id: str, step: int) -> Checkpoint | None:
        """The evaluation at this step."""
        for point in self.ledger.checkpoints.get(run_id, ()):
            if point.step == step:
                return point
        return None


def in_order(study: Study, runs: Sequence[RunFact]) -> tuple[RunFact, ...]:
    """The runs that the study plans, ordered by model, arm and seed as the study lists them."""
    models, arms, seeds = list(study.models), list(study.arms), list(study.seeds)
    planned = [run for run in runs if run.model in models and run.arm in arms and run.seed in seeds]
    return tuple(
        sorted(planned, key=lambda r: (models.index(r.model), arms.index(r.arm), seeds.index(r.seed)))
    )


def block_reason(evidence: Evidence, run_id: str, step: int, benchmark: str) -> str | None:
    """Why no accuracy can be given for a benchmark on a checkpoint, in words; None if it can.

    A missing or ungraded sample is a state of the cell, never a 0 and never left out.
    """
    known, key = evidence._reasons, (run_id, step, benchmark)
    if key not in known:
        known[key] = _block_reason(evidence, run_id, step, benchmark)
    return known[key]


def _block_reason(evidence: Evidence, run_id: str, step: int, benchmark: str) -> str | None:
    where = f"{run_id}, {benchmark} after {step:,} updates"
    point = evidence.checkpoint(run_id, step)
    cell = evidence.ledger.cells.get((run_id, step, benchmark))
    if point is None or benchmark not in point.benchmarks or cell is None:
        return f"{where}: not evaluated"
    if failed := int(cell.failed.sum()):
        return f"{where}: {_several(failed, 'sample')} could not be graded"
    problems, _ = point.benchmarks[benchmark]
    expected = evidence.study.data.benchmarks[benchmark].samples
    if len(cell.problem_ids) != problems:
        return f"{where}: {len(cell.problem_ids):,} of {problems:,} problems have samples"
    if (cell.distinct_samples != cell.samples).any():
        return f"{where}: a sample is recorded twice"
    if (cell.samples != expected).any():
        short = int((cell.samples != expected).sum())
        return f"{where}: {_several(short, 'problem')} without {expected} samples"
    return None


def _several(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def problem_scores(cell: Cell, metric: Metric) -> Floats:
    """The metric on each problem, in [0, 1]; NaN where it is not estimable. Shape (problems,)."""
    if isinstance(metric, PassMetric):
        return metrics.pass_at_k_each(cell.correct, cell.samples, metric.k)
    return np.asarray(cell.correct / cell.samples, dtype=np.float64)


def benchmark_score(
    evidence: Evidence, run_id: str, step: int, benchmark: str, metric: Metric | None = None
) -> float:
    """The metric on a benchmark, in percent; NaN if the cell is blocked or the metric not estimable."""
    if block_reason(evidence, run_id, step, benchmark) is not None:
        return float("nan")
    cell = evidence.ledger.cells[run_id, step, benchmark]
    return float(100 * problem_scores(cell, metric or AverageMetric()).mean())


def score(evidence: Evidence, run_id: str, step: int, metric: Metric | None = None) -> float:
    """The metric over all benchmarks by their weights, in percent; NaN if one of them has none."""
    weights = evidence.study.weights()
    parts = [w * benchmark_score(evidence, run_id, step, name, metric) for name, w in weights.items()]
    return float(np.sum(parts))


def reading(evidence: Evidence, run_id: str, axis: Axis) -> Reading | str:
    """The policy that is read at the axis's budget, or why there is none.

    What the run recorded is checked against its evaluations: the policy must be the last one within the
    budget, and the run must have gone on until the budget was used up.
    """
    budget = evidence.study.budget.declared().get(axis)
    found = evidence.ledger.readings.get((run_id, axis), ())
    words = axis.replace("_", " ")
    if budget is None:
        return f"the study declares no budget in {words}"
    if not found:
        return f"{run_id}: the budget in {words} was not reached"
    if len(found) > 1 or found[0].budget != budget:
        return f"{run_id}: the recorded reading is not of the study's budget in {words}"
    one = found[0]
    if one.cost > budget:
        return f"{run_id}: the reading lies past the budget in {words}"
    if one.cost < budget and (one.crossing_cost is None or one.crossing_cost <= budget):
        return f"{run_id}: the run ended before its budget in {words} was used up"
    within = [point for point in evidence.ledger.checkpoints.get(run_id, ()) if point.cost[axis] <= budget]
    if not within or within[-1].step != one.step:
        return f"{run_id}: the policy read in {words} is not the last evaluated one within the budget"
    return one


def curve(evidence: Evidence, run_id: str, axis: Axis) -> tuple[Floats, Floats] | None:
    """Cost and score (percent) of the run's complete checkpoints on an axis; None if there are none.

    Raises Refused if the cost decreases or repeats.
    """
    points = [
        (point.cost[axis], score(evidence, run_id, point.step))
        for point in evidence.ledger.checkpoints.get(run_id, ())
    ]
    cost = np.array([x for x, _ in points], dtype=np.float64)
    if (np.diff(cost) <= 0).any():
        raise Refused(
            Problem(
                f"run {run_id}: the cumulative {axis.replace('_', ' ')} of its evaluations decrease or "
                "repeat",
                hint="a cumulative cost only grows: the run's ledger is damaged or mixed with another",
            )
        )
    if not points or any(np.isnan(y) for _, y in points):
        return None
    return cost, np.array([y for _, y in points], dtype=np.float64)


def reading_of_curve(evidence: Evidence, run_id: str, axis: Axis, how: str) -> float:
    """Step or linear reading, or area, of a run's curve at the axis's budget; NaN if not reached.

    `how` is `step`, `linear`, `step_area` or `linear_area`.
    """
    found = curve(evidence, run_id, axis)
    at = reading(evidence, run_id, axis)
    if found is None or isinstance(at, str):
        return float("nan")
    reached = at.budget if at.crossing_cost is None else at.crossing_cost
    if how == "step":
        return curves.step_reading(*found, at.budget, reached=reached)
    if how == "step_area":
        return curves.step_area(*found, at.budget, reached=reached)
    return (curves.linear_reading if how == "linear" else curves.linear_area)(*found, at.budget)
