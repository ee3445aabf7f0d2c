"""The ledger as the analysis sees it: counts by problem, checkpoints with their costs, sums of costs.

DuckDB joins and counts integers; every float is summed here with `math.fsum`, which is exact, so that
neither threads nor the order of rows can show in a report.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum
from typing import Any

import duckdb

from prereg.fields import AXES, Axis
from prereg.problems import Problem, Refused
from reports.cells import Cell, read_cells
from reports.querying import query_rows


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An evaluated policy: the updates that it had had, and its cost on each axis."""

    step: int
    cost: Mapping[Axis, float]
    benchmarks: Mapping[str, tuple[int, int]]
    """Problems and samples a problem that the run says it evaluated, by benchmark."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Which policy is read at a budget, as the run recorded it."""

    budget: float
    step: int
    cost: float
    crossing_cost: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """A sum of costs."""

    device_seconds: float = 0.0
    wall_seconds: float = 0.0
    generated_tokens: int = 0
    prompt_tokens: int = 0
    flops: float = 0.0
    energy_joules: float | None = None
    """None where no device gave a counter."""


@dataclass(frozen=True, slots=True)
class Completions:
    """Completions that a run wrote for one purpose."""

    completions: int
    truncated: int
    failed: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Training:
    """The updates of a run, in a few numbers."""

    updates: int
    groups: int
    informative_groups: int
    mean_steps: float
    """Steps a rollout by the reward's boundaries, mean over updates; NaN where it has none."""
    clip_share: float
    """Mean over updates; NaN without any."""
    kl: float
    """At the last update that computed it; NaN if none did."""
    logprob_gap_max: float
    entropy_first: float
    """Mean over the first tenth of the updates that have one."""
    entropy_last: float
    reached: Mapping[Axis, float]
    """Cost of the whole run."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Work that an interruption cost."""

    steps: int
    generated_tokens: int
    device_seconds: float
    wall_seconds: float


@dataclass(frozen=True, slots=True)
class Ledger:
    """Everything that a report takes from the ledger, by run."""

    cells: Mapping[tuple[str, int, str], Cell]
    checkpoints: Mapping[str, tuple[Checkpoint, ...]]
    """In order of step."""
    readings: Mapping[tuple[str, str], tuple[Reading, ...]]
    costs: Mapping[tuple[str, str, str], Cost]
    """By run, phase and purpose (empty where the phase generates nothing)."""
    device_kinds: Mapping[str, tuple[str, ...]]
    training: Mapping[str, Training]
    completions: Mapping[tuple[str, str], Completions]
    lost: Mapping[str, Lost]
    run_ids: frozenset[str]
    """Every run that has a row somewhere."""


def read_ledger(connection: duckdb.DuckDBPyConnection) -> Ledger:
    """Read the views named as the ledger's tables. Raises Refused if one, or a column of one, is missing."""
    updates = _group(query_rows(connection, "updates"), "run_id")
    cost_rows = query_rows(connection, "costs")
    completions = {
        (row["run_id"], row["purpose"]): Completions(
            row["completions"], row["truncated"], row["failed"], row["tokens"] or 0
        )
        for row in query_rows(connection, "training")
    }
    cells = read_cells(connection)
    checkpoints = {
        run: _checkpoints(run, rows)
        for run, rows in _group(query_rows(connection, "evaluations"), "run_id").items()
    }
    readings: dict[tuple[str, str], list[Reading]] = defaultdict(list)
    for row in query_rows(connection, "readings"):
        reading = Reading(row["budget"], row["step"], row["cost"], row["crossing_cost"])
        readings[row["run_id"], row["axis"]].append(reading)
    by_place: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    kinds: dict[str, set[str]] = defaultdict(set)
    for row in cost_rows:
        by_place[row["run_id"], row["phase"], row["purpose"]].append(row)
        kinds[row["run_id"]].add(row["device_kind"])
    lost = {run: _lost(rows) for run, rows in _group(query_rows(connection, "lost"), "run_id").items()}
    seen = {
        *updates,
        *kinds,
        *checkpoints,
        *lost,
        *(run for run, _ in completions),
        *(key[0] for key in cells),
    }
    return Ledger(
        cells=cells,
        checkpoints=checkpoints,
        readings={key: tuple(rows) for key, rows in readings.items()},
        costs={key: _cost(rows) for key, rows in by_place.items()},
        device_kinds={run: tuple(sorted(found)) for run, found in kinds.items()},
        training={run: _training(rows) for run, rows in updates.items()},
        completions=completions,
        lost=lost,
        run_ids=frozenset(seen),
    )


def total(costs: Iterable[Cost]) -> Cost:
    """The sum of costs, exact whatever their order."""
    every = list(costs)
    energies = [cost.energy_joules for cost in every if cost.energy_joules is not None]
    return Cost(
        fsum(cost.device_seconds for cost in every),
        fsum(cost.wall_seconds for cost in every),
        sum(cost.generated_tokens for cost in every),
        sum(cost.prompt_tokens for cost in every),
        fsum(cost.flops for cost in every),
        fsum(energies) if energies else None,
    )


def _group(rows: Iterable[dict[str, Any]], key: str) -> dict[str, list[dict[str, Any]]]:
    grouped: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[row[key]].append(row)
    return dict(grouped)


def _checkpoints(run: str, rows: list[dict[str, Any]]) -> tuple[Checkpoint, ...]:
    by_step: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_step[row["step"]].append(row)
    result = []
    for step, found in sorted(by_step.items()):
        costs = {tuple(row[f"cost_{axis}"] for axis in AXES) for row in found}
        if len(costs) > 1 or len({row["benchmark"] for row in found}) < len(found):
            raise Refused(
                Problem(
                    f"run {run}, step {step}: the evaluations repeat a benchmark or disagree about the "
                    "policy's cost",
                    hint="one evaluation a checkpoint and benchmark, all with the cost of that policy",
                )
            )
        cost = {axis: float(value) for axis, value in zip(AXES, next(iter(costs)), strict=True)}
        result.append(
            Checkpoint(step, cost, {row["benchmark"]: (row["problems"], row["samples"]) for row in found})
        )
    return tuple(result)


def _cost(rows: list[dict[str, Any]]) -> Cost:
    return total(
        Cost(
            row["device_seconds"] or 0.0,
            row["wall_seconds"] or 0.0,
            row["generated_tokens"] or 0,
            row["prompt_tokens"] or 0,
            row["flops"] or 0.0,
            row["energy_joules"],
        )
        for row in rows
    )


def _training(rows: list[dict[str, Any]]) -> Training:
    entropies = _known(rows, "entropy")
    tenth = max(1, len(entropies) // 10)
    kl, gaps = _known(rows, "kl"), _known(rows, "logprob_gap_max")
    return Training(
        updates=len(rows),
        groups=sum(row["groups"] for row in rows),
        informative_groups=sum(row["informative_groups"] for row in rows),
        mean_steps=_mean(_known(rows, "mean_steps")),
        clip_share=_mean(_known(rows, "clip_share")),
        kl=kl[-1] if kl else float("nan"),
        logprob_gap_max=max(gaps, default=float("nan")),
        entropy_first=_mean(entropies[:tenth]),
        entropy_last=_mean(entropies[-tenth:]),
        reached={axis: float(rows[-1][f"cum_{axis}"]) for axis in AXES},
    )


def _lost(rows: list[dict[str, Any]]) -> Lost:
    return Lost(
        sum(row["steps"] for row in rows),
        sum(row["generated_tokens"] for row in rows),
        fsum(row["device_seconds"] for row in rows),
        fsum(row["wall_seconds"] for row in rows),
    )


def _known(rows: list[dict[str, Any]], name: str) -> list[float]:
    return [row[name] for row in rows if row[name] is not None]


def _mean(values: list[float]) -> float:
    return fsum(values) / len(values) if values else float("nan")
