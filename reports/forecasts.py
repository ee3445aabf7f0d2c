"""How good the predictions of a prompt selection were: Brier score, calibration, informative groups.

A forecast is the predicted mean reward p of a prompt, made before its group was sampled; its outcome are
the rewards r of the group's rollouts. Both lie in [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum, nan

import duckdb

from reports.querying import run_query

DECILES = 10


@dataclass(frozen=True, slots=True)
class Forecast:
    """A prediction for one group, and what came of it."""

    run_id: str
    predicted: float
    evidence: float
    """Samples of the prompt that the prediction rests on, discounted."""
    explored: bool
    """The prompt was chosen by lot and not by its prediction."""
    rewards: tuple[float, ...]

    @property
    def informative(self) -> bool:
        """Whether the rewards of the group differ."""
        return len(set(self.rewards)) > 1


@dataclass(frozen=True, slots=True)
class Decile:
    """Forecasts between two neighbouring tenths."""

    low: float
    high: float
    groups: int
    samples: int
    predicted: float
    """Mean over samples."""
    observed: float
    """Mean reward."""


def read_forecasts(connection: duckdb.DuckDBPyConnection) -> tuple[Forecast, ...]:
    """Every forecast whose prompt was used, in order of run, update and prompt."""
    return tuple(
        Forecast(
            row["run_id"],
            row["predicted"],
            row["evidence"],
            row["outcome"] == "explored",
            tuple(row["rewards"]),
        )
        for row in run_query(connection, "predictions").to_pylist()
    )


def brier(forecasts: Iterable[Forecast]) -> float:
    """Mean of (p - r)^2 over samples (Brier, 1950); NaN without any. 0 is best, 1/4 is always saying 1/2."""
    return _mean([(one.predicted - reward) ** 2 for one in forecasts for reward in one.rewards])


def base_rate(forecasts: Iterable[Forecast]) -> float:
    """Mean reward of the same samples; NaN without any."""
    return _mean([reward for one in forecasts for reward in one.rewards])


def brier_of_base_rate(forecasts: Sequence[Forecast]) -> float:
    """Brier score of whoever says the base rate each time: the variance of the rewards."""
    base = base_rate(forecasts)
    return _mean([(base - reward) ** 2 for one in forecasts for reward in one.rewards])


def informative_share(forecasts: Sequence[Forecast]) -> float:
    """Share of groups whose rewards differ; NaN without any."""
    return _mean([float(one.informative) for one in forecasts])


def deciles(forecasts: Sequence[Forecast]) -> tuple[Decile, ...]:
    """Predicted beside observed by tenth of the prediction; a tenth without a forecast is left out.

    A tenth holds its lower end, the last one its upper end as well.
    """
    found: list[list[Forecast]] = [[] for _ in range(DECILES)]
    for one in forecasts:
        found[min(int(one.predicted * DECILES), DECILES - 1)].append(one)
    return tuple(
        Decile(
            place / DECILES,
            (place + 1) / DECILES,
            len(some),
            sum(len(one.rewards) for one in some),
            _mean([one.predicted for one in some for _ in one.rewards]),
            base_rate(some),
        )
        for place, some in enumerate(found)
        if some
    )


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values) if values else nan
