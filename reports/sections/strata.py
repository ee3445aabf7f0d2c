"""The registered differences within strata of difficulty."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prereg.hypotheses import Hypothesis
from prereg.sideeffects import Strata
from prereg.testkinds import BinomialScoreboard
from reports import words
from reports.cells import Cell
from reports.comparisons import Comparison, model_of
from reports.content import Column, Estimate, Prose, Section, Table, Value
from reports.details import Details
from reports.intervals import Interval
from reports.scores import Evidence, reading
from reports.strata import Stratified, other_seeds, stratified, stratum_of

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_SOURCES = {
    "base_model": "the start policy's samples under the other seeds",
    "other_seeds": "the control's samples in the runs of the other seeds, at the same budget",
    "cross_fit": "one half of the control's samples, the difference being taken in the other half; both ways "
    "round, averaged",
}


def build(evidence: Evidence, details: Details, comparisons: dict[str, Comparison]) -> Section | None:
    """The section; None where the plan declares no strata."""
    strata = evidence.study.strata
    if strata is None:
        return None
    rows: list[tuple[Value, ...]] = []
    for hypothesis in evidence.study.hypotheses:
        if isinstance(hypothesis.test, BinomialScoreboard):
            continue
        one = comparisons[hypothesis.id]
        found = None if one.reasons else _stratified(evidence, details, hypothesis, strata, one.seeds)
        if found is None:
            rows.append((hypothesis.id, "not available", None, None, None))
            continue
        rows.extend(
            (
                hypothesis.id,
                f"{words.number(100 * part.low, 0)}{words.DASH}{words.number(100 * part.high, 0)} %",
                part.problems,
                _estimate(part.effect),
                None,
            )
            for part in found.strata
        )
        rows.append((hypothesis.id, "hardest less easiest", None, None, _estimate(found.interaction)))
    table = Table(
        "strata",
        "Difference in avg@n by difficulty, percentage points",
        (
            Column("hypothesis", "Hypothesis"),
            Column("stratum", "Success rate"),
            Column("problems", "Problems", "decimal"),
            Column("effect", "Difference", "estimate"),
            Column("interaction", "Interaction", "estimate"),
        ),
        tuple(rows),
        f"Difficulty is the success rate in {_SOURCES.get(strata.by, strata.by)}, so that no sample decides "
        f"both a problem's stratum and its difference. 95 % paired t intervals over seeds. Strata are "
        "description; the one question they may answer is the interaction: a difference that is significant "
        "in one stratum and not in another does not show that the two differ.",
    )
    text = (
        "Where does a method help? The cut points were declared before the runs. Strata drawn from the "
        "compared samples themselves would show a gain among the hard problems for two identical methods."
    )
    return Section("strata", "By difficulty", (Prose(text), table))


def _estimate(interval: Interval | None) -> Estimate | None:
    return None if interval is None else Estimate(interval.estimate, interval.low, interval.high)


def _stratified(
    evidence: Evidence, details: Details, hypothesis: Hypothesis, strata: Strata, seeds: Sequence[int]
) -> Stratified | None:
    model = model_of(evidence, hypothesis)
    names = list(evidence.study.weights(hypothesis.benchmarks))
    arms = {
        arm: [_cells(evidence, model, arm, seed, hypothesis, names) for seed in seeds]
        for arm in (hypothesis.treatment, hypothesis.control)
    }
    treated, control = arms[hypothesis.treatment], arms[hypothesis.control]
    sizes = [len(cell.problem_ids) for cell in control[0][1]]
    shares = evidence.study.weights(hypothesis.benchmarks).values()
    weights = np.concatenate([np.full(size, share / size) for size, share in zip(sizes, shares, strict=True)])
    cuts = strata.cut_points
    if strata.by == "cross_fit":
        return _cross_fitted(details, treated, control, names, weights, cuts)
    if len(seeds) < 2:
        return None  # there are no other seeds whose samples could tell the difficulty
    difference = 100 * (_rates(treated) - _rates(control))
    if strata.by == "other_seeds":
        rate = other_seeds(_stack(control, "correct"), _stack(control, "samples"))
    else:
        start = []
        for seed in seeds:
            fact = evidence.run(model, hypothesis.control, seed)
            cells = [evidence.ledger.cells.get((fact.run_id if fact else "", 0, name)) for name in names]
            known = [cell for cell in cells if cell is not None]
            if len(known) < len(names) or [len(cell.problem_ids) for cell in known] != sizes:
                return None
            start.append(("", known, 0))
        rate = other_seeds(_stack(start, "correct"), _stack(start, "samples"))
    return stratified([difference], [stratum_of(rate, cuts)], weights, cuts)


Policy = tuple[str, list[Cell], int]
"""A run, its cells by benchmark, and the step."""


def _cells(
    evidence: Evidence, model: str, arm: str, seed: int, hypothesis: Hypothesis, names: list[str]
) -> Policy:
    fact = evidence.run(model, arm, seed)
    assert fact is not None, "a complete comparison has every run"
    at = reading(evidence, fact.run_id, hypothesis.matched_on)
    assert not isinstance(at, str), "a complete comparison has every reading"
    return fact.run_id, [evidence.ledger.cells[fact.run_id, at.step, name] for name in names], at.step


def _stack(policies: Sequence[Policy], field: str) -> Counts:
    """A count of each problem, shape (seeds, problems)."""
    return np.array([np.concatenate([getattr(cell, field) for cell in cells]) for _, cells, _ in policies])


def _rates(policies: Sequence[Policy]) -> Floats:
    return np.asarray(_stack(policies, "correct") / _stack(policies, "samples"), dtype=np.float64)


def _cross_fitted(
    details: Details, treated: list[Policy], control: list[Policy], names: list[str], weights: Floats,
    cuts: Sequence[float],
) -> Stratified:  # fmt: skip
    def halves(policies: list[Policy]) -> tuple[Floats, Floats]:
        even = [
            [np.concatenate([details.halves[run, step, name][part] for name in names]) for part in (0, 1)]
            for run, _, step in policies
        ]
        right, drawn = np.array([e[0] for e in even]), np.array([e[1] for e in even])
        whole, samples = _stack(policies, "correct"), _stack(policies, "samples")
        return right / drawn, (whole - right) / (samples - drawn)

    (t_even, t_odd), (c_even, c_odd) = halves(treated), halves(control)
    return stratified(
        [100 * (t_odd - c_odd), 100 * (t_even - c_even)],
        [stratum_of(c_even, cuts), stratum_of(c_odd, cuts)],
        weights,
        cuts,
    )
