"""A linear regression with problem and seed fixed effects and errors clustered by both.

Exploratory only: length is a result of training, and adjusting for a result can turn the truth around
(docs/statistics.md). statsmodels fits it; the fixed effects are taken out beforehand, which is exact where
every problem has the same number of rows under every seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A slope with its 95 % interval on `seeds - 1` degrees of freedom."""

    estimate: float
    se: float
    """NaN where the two-way covariance is not positive, which few seeds allow."""
    low: float
    high: float


def two_way_demeaned(values: Floats, problem: Ints, seed: Ints) -> Floats:
    """`values` (rows,) or (rows, columns) less the means of problem and seed, plus the grand mean."""
    left = values - _group_means(values, problem) - _group_means(values, seed) + values.mean(axis=0)
    return np.asarray(left, dtype=np.float64)


def clustered_regression(
    y: Floats, columns: Mapping[str, Floats], problem: Ints, seed: Ints
) -> dict[str, Coefficient]:
    """Slopes of `y` (rows,) on `columns` beside problem and seed effects.

    `problem` and `seed` number the clusters from 0. Columns that the fixed effects explain wholly are left
    out of the result. Raises ValueError unless the rows are balanced over problem x seed, or where
    the columns are linear combinations of each other.
    """
    import statsmodels.api as sm

    _require_balance(problem, seed)
    names = list(columns)
    design = two_way_demeaned(np.column_stack([columns[name] for name in names]), problem, seed)
    scale = np.abs(np.column_stack([columns[name] for name in names])).max(axis=0)
    kept = np.abs(design).max(axis=0) > 1e-9 * np.maximum(scale, 1e-300)
    names = [name for name, keep in zip(names, kept, strict=True) if keep]
    if np.linalg.matrix_rank(design[:, kept]) < len(names):
        raise ValueError("in these samples arm and length cannot be told apart")
    fit = sm.OLS(two_way_demeaned(y, problem, seed), design[:, kept]).fit(
        cov_type="cluster", cov_kwds={"groups": np.column_stack([problem, seed])}
    )
    variances = np.diag(np.asarray(fit.cov_params(), dtype=np.float64))
    half = stdtrit(float(seed.max()), 0.975)
    result = {}
    for name, estimate, variance in zip(names, np.asarray(fit.params), variances, strict=True):
        se = float(np.sqrt(variance)) if variance > 0 else float("nan")
        result[name] = Coefficient(
            float(estimate), se, float(estimate - half * se), float(estimate + half * se)
        )
    return result


def _group_means(values: Floats, group: Ints) -> Floats:
    flat = values.reshape(len(values), -1)
    counts = np.bincount(group)
    sums = np.column_stack([np.bincount(group, weights=flat[:, i]) for i in range(flat.shape[1])])
    return np.asarray((sums / counts[:, None])[group].reshape(values.shape))


def _require_balance(problem: Ints, seed: Ints) -> None:
    seeds = int(seed.max()) + 1
    cells = np.bincount(problem * seeds + seed, minlength=(int(problem.max()) + 1) * seeds)
    table = cells.reshape(-1, seeds)
    if (table != table[:, :1]).any() or (table == 0).any():
        raise ValueError("the rows are not balanced: a problem has more samples under one seed than another")
