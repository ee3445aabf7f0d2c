"""The exploratory regression of correctness on arm and length. No p-value, and its caveat printed with it."""

from __future__ import annotations

import duckdb
import numpy as np
from numpy.typing import NDArray

from prereg.fields import Axis
from prereg.testkinds import BinomialScoreboard
from reports import words
from reports.comparisons import model_of
from reports.content import Column, Estimate, Table, Value
from reports.details import Sampled, read_sampled
from reports.regression import Coefficient, clustered_regression
from reports.scores import Evidence

Floats = NDArray[np.float64]

SPLINE_DF = 4
"""Degrees of freedom of the natural cubic spline of log tokens."""

TERMS = {
    "arm": "treatment less control, at the mean log length of finished answers",
    "interaction": "treatment × log tokens (for each doubling)",
    "truncated": "cut at the cap, against a finished answer of mean length",
}

CAVEAT = (
    "Exploratory, without p-values, and it decides nothing. Length is a result of training: adjusting for it "
    "can turn the truth around (if a method lengthens answers and something unseen makes answers both longer "
    "and worse, the adjusted effect can be large where the direct effect is zero). Only a length-matched arm "
    "separates what a method does from what length does."
)


def table(connection: duckdb.DuckDBPyConnection, evidence: Evidence) -> Table:
    """A row a term of each contrast that the hypotheses name."""
    rows: list[tuple[Value, ...]] = []
    for model, treatment, control, axis in _contrasts(evidence):
        sampled = read_sampled(connection, evidence, model, treatment, control, axis)
        fitted = sampled if isinstance(sampled, str) else fit(sampled)
        name = f"{treatment} {words.MINUS} {control} {words.axis_phrase(axis)}"
        if len(evidence.study.models) > 1:
            name += f", {model}"
        if isinstance(fitted, str):
            rows.append((name, f"not available: {fitted}", None, None))
            continue
        assert not isinstance(sampled, str)
        for term, meaning in TERMS.items():
            if (one := fitted.get(term)) is not None:
                estimate = Estimate(100 * one.estimate, 100 * one.low, 100 * one.high)
                rows.append((name, meaning, estimate, sampled.samples_per_problem))
    return Table(
        "length_regression",
        "Correctness regressed on arm and length",
        (
            Column("contrast", "Contrast"),
            Column("term", "Term"),
            Column("points", "Percentage points", "estimate"),
            Column("samples", "Samples a problem", "integer"),
        ),
        tuple(rows),
        f"{CAVEAT} Linear probability; problem and seed fixed effects; a natural cubic spline of log tokens "
        f"with {SPLINE_DF} degrees of freedom; cut answers as a level of their own; errors clustered by "
        "problem and by seed; 95 % intervals with as many degrees of freedom as seeds less one.",
        collapsed=True,
    )


def fit(sampled: Sampled) -> dict[str, Coefficient] | str:
    """The terms of `TERMS` that can be estimated; or why none can."""
    finished = sampled.truncated == 0
    if not finished.any():
        return "no answer was finished"
    doublings = np.log2(np.maximum(sampled.tokens, 1).astype(np.float64))
    centred = np.where(finished, doublings - doublings[finished].mean(), 0.0)
    columns: dict[str, Floats] = {"arm": sampled.treated.astype(np.float64)}
    if np.ptp(centred) > 0:
        columns["interaction"] = np.asarray(sampled.treated * centred, dtype=np.float64)
        columns.update(_spline(centred, finished))
    if not finished.all():
        columns["truncated"] = sampled.truncated.astype(np.float64)
    try:
        return clustered_regression(
            sampled.correct.astype(np.float64), columns, sampled.problem, sampled.seed
        )
    except ValueError as error:
        return str(error)


def _spline(centred: Floats, finished: NDArray[np.bool_]) -> dict[str, Floats]:
    """A natural cubic spline basis, zero at the mean, so that the level terms keep their meaning there.

    A cut answer has no length of its own: it is 0 on every column, and has its own level.
    """
    import patsy

    values = centred[finished]
    if len(np.unique(values)) <= SPLINE_DF:
        return {"spline_0": centred}
    basis = patsy.dmatrix(f"cr(x, df={SPLINE_DF}) - 1", {"x": values})
    design = patsy.build_design_matrices([basis.design_info], {"x": np.append(values, 0.0)})[0]
    columns = np.asarray(design)[:-1, 1:] - np.asarray(design)[-1, 1:]  # the rows of a basis sum to 1
    result = {}
    for index in range(columns.shape[1]):
        full = np.zeros(len(centred))
        full[finished] = columns[:, index]
        result[f"spline_{index}"] = full
    return result


def _contrasts(evidence: Evidence) -> list[tuple[str, str, str, Axis]]:
    """Each pair of arms and axis that a hypothesis names, once."""
    found = [
        (model_of(evidence, h), h.treatment, h.control, h.matched_on)
        for h in evidence.study.hypotheses
        if not isinstance(h.test, BinomialScoreboard)
    ]
    return list(dict.fromkeys(found))
