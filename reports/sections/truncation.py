"""How much the answers that were cut off could matter to each registered difference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prereg.hypotheses import Hypothesis
from prereg.testkinds import BinomialScoreboard
from reports import words
from reports.cells import Cell
from reports.comparisons import Comparison, model_of
from reports.content import Column, Estimate, Table, Value
from reports.scores import Evidence, reading
from reports.sections.common import over_seeds


def table(evidence: Evidence, comparisons: dict[str, Comparison]) -> Table:
    """A row a hypothesis: the difference, among the finished, and with the cut answers set to 0 and to 1."""
    rows: list[tuple[Value, ...]] = []
    for hypothesis in evidence.study.hypotheses:
        if isinstance(hypothesis.test, BinomialScoreboard):
            continue
        values = (
            None
            if comparisons[hypothesis.id].reasons
            else _values(evidence, hypothesis, comparisons[hypothesis.id].seeds)
        )
        rows.append((hypothesis.id, *(values or (None,) * 7)))
    return Table(
        "truncation",
        "What the answers that were cut off could change, in avg@n",
        (
            Column("hypothesis", "Hypothesis"),
            Column("cut_treatment", "Cut, treatment", "percent"),
            Column("cut_control", "Cut, control", "percent"),
            Column("wrong", "Difference, cut = wrong", "estimate"),
            Column("finished", "Among the finished", "estimate"),
            Column("right", "Cut = right in both", "points"),
            Column("least", "Least possible", "points"),
            Column("most", "Most possible", "points"),
        ),
        tuple(rows),
        "Percentage points, treatment less control at the budget; mean over seeds, with the "
        f"{words.OVER_SEEDS} where one stands. The registered difference counts a cut answer as wrong. "
        "Least: the treatment's cut answers all wrong and the control's all right; most: the other way "
        "round. Among the finished, each arm is judged on a set of answers that it chose itself.",
    )


def _values(evidence: Evidence, hypothesis: Hypothesis, seeds: Sequence[int]) -> tuple[Value, ...]:
    model = model_of(evidence, hypothesis)
    shares = {
        arm: np.array([_shares(evidence, hypothesis, model, arm, seed) for seed in seeds])
        for arm in (hypothesis.treatment, hypothesis.control)
    }
    treated, control = shares[hypothesis.treatment], shares[hypothesis.control]
    (wrong_t, right_t, cut_t, done_t), (wrong_c, right_c, cut_c, done_c) = treated.T, control.T

    def estimate(values: np.ndarray) -> Estimate | None:
        found, seeds = over_seeds(100 * values)
        return found if seeds == len(values) else None

    return (
        float(cut_t.mean()),
        float(cut_c.mean()),
        estimate(wrong_t - wrong_c),
        estimate(done_t - done_c),
        float(100 * (right_t - right_c).mean()),
        float(100 * (wrong_t - right_c).mean()),
        float(100 * (right_t - wrong_c).mean()),
    )


def _shares(
    evidence: Evidence, hypothesis: Hypothesis, model: str, arm: str, seed: int
) -> tuple[float, float, float, float]:
    """Right with the cut as wrong, right with the cut as right, cut, and right among the finished."""
    fact = evidence.run(model, arm, seed)
    at = reading(evidence, fact.run_id, hypothesis.matched_on) if fact is not None else ""
    assert fact is not None, "a complete comparison has every run"
    assert not isinstance(at, str), "a complete comparison has every reading"
    total = np.zeros(4)
    for name, weight in evidence.study.weights(hypothesis.benchmarks).items():
        total += weight * _of_cell(evidence.ledger.cells[fact.run_id, at.step, name])
    return float(total[0]), float(total[1]), float(total[2]), float(total[3])


def _of_cell(cell: Cell) -> np.ndarray:
    """The four shares on one benchmark, over its samples: every problem has the same number of them."""
    right, cut, drawn = int(cell.correct.sum()), int(cell.truncated.sum()), int(cell.samples.sum())
    finished = right / (drawn - cut) if drawn > cut else float("nan")
    return np.array([right / drawn, (right + cut) / drawn, cut / drawn, finished])
