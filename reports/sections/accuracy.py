"""avg@n by benchmark, and pass@k as a table and as curves."""

from __future__ import annotations

from math import isnan

import numpy as np

from prereg.hypotheses import PassMetric
from reports import metrics, words
from reports.content import (
    Block,
    Column,
    Estimate,
    Figure,
    Panel,
    Point,
    Prose,
    Section,
    Series,
    Table,
    Value,
)
from reports.scores import Evidence, benchmark_score, block_reason, score
from reports.sections.common import (
    Group,
    Moment,
    average_name,
    groups,
    moments,
    over_seeds,
    policies,
    with_model,
)


def build(evidence: Evidence) -> Section:
    """The section."""
    top = max(benchmark.samples for benchmark in evidence.study.data.benchmarks.values())
    blocks: list[Block] = [
        _averages(evidence),
        Prose(
            f"Below, pass@k by the unbiased estimator, averaged like {average_name(evidence)}. Its "
            f"intervals are over seeds only; pass@{top} of {top} samples is whether any was right, and has "
            "no other error to estimate. A curve over k is one correlated object: what it shows is "
            "description unless a hypothesis names its k."
        ),
        *(_pass_figures(evidence)),
    ]
    return Section("accuracy", "Accuracy by benchmark, and pass@k", tuple(blocks))


def evaluations_table(evidence: Evidence) -> Table:
    """Every evaluated checkpoint and benchmark, with both standard errors of avg@n; exported only."""
    rows: list[tuple[Value, ...]] = []
    for run in evidence.runs:
        for point in evidence.ledger.checkpoints.get(run.run_id, ()):
            for name in evidence.study.data.benchmarks:
                if name not in point.benchmarks:
                    continue
                reason = block_reason(evidence, run.run_id, point.step, name)
                value = None
                if reason is None:
                    cell = evidence.ledger.cells[run.run_id, point.step, name]
                    value = metrics.average(cell.correct, cell.samples)
                numbers = (
                    (None,) * 3
                    if value is None
                    else (100 * value.mean, 100 * value.se_problems, 100 * value.se_fixed)
                )
                cost = tuple(point.cost.values())
                rows.append(
                    (
                        run.run_id,
                        run.arm,
                        run.model,
                        run.seed,
                        point.step,
                        name,
                        *numbers,
                        *cost,
                        reason or "",
                    )
                )
    columns = (
        *(Column(key, key) for key in ("run_id", "arm", "model")),
        *(Column(key, key, "integer") for key in ("seed", "updates")),
        Column("benchmark", "benchmark"),
        *(Column(key, key, "decimal") for key in ("accuracy", "se_problems", "se_problems_fixed")),
        *(
            Column(f"cost_{axis}", axis, "decimal")
            for axis in ("updates", "generated_tokens", "device_seconds", "train_flops")
        ),
        Column("blocked", "blocked"),
    )
    return Table("evaluations", "Every evaluation", columns, tuple(rows))


def _averages(evidence: Evidence) -> Table:
    names = tuple(evidence.study.data.benchmarks)
    columns, lead = with_model(
        evidence,
        (
            Column("read_at", "Read"),
            Column("mean", "All", "estimate"),
            *(Column(name, name, "estimate") for name in names),
            Column("updates", "Updates", "integer"),
            Column("seeds", "Seeds", "integer"),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    for group in groups(evidence):
        for moment in moments(evidence):
            read = policies(evidence, group, moment)
            every, seeds = over_seeds(score(evidence, run, step) for run, step in read)
            each = [
                over_seeds(benchmark_score(evidence, run, step, name) for run, step in read) for name in names
            ]
            updates = sum(step for _, step in read) / len(read) if read else float("nan")
            rows.append(
                (
                    *lead(group),
                    moment.title,
                    every if seeds else None,
                    *(value if count else None for value, count in each),
                    updates if read else None,
                    seeds,
                )
            )
    weights = ", ".join(
        f"{name} {words.number(weight, 3)}" for name, weight in evidence.study.weights().items()
    )
    return Table(
        "averages",
        f"{average_name(evidence)} in percent, at the start and at each budget",
        columns,
        tuple(rows),
        f"Mean over seeds with its {words.OVER_SEEDS}. Weights of the benchmarks in All: {weights}.",
    )


def _pass_read(
    evidence: Evidence, group: Group, moment: Moment, ks: list[int]
) -> tuple[dict[int, Estimate], float, int]:
    """pass@k by k, mean tokens a sample, and the most seeds that any k has."""
    read = policies(evidence, group, moment)
    each = {
        k: over_seeds(score(evidence, run, step, PassMetric(kind="pass", k=k)) for run, step in read)
        for k in ks
    }
    seeds = max((count for _, count in each.values()), default=0)
    return {k: estimate for k, (estimate, _) in each.items()}, mean_tokens(evidence, group, moment), seeds


def mean_tokens(evidence: Evidence, group: Group, moment: Moment) -> float:
    """Mean tokens an evaluation sample, over benchmarks by weight and over runs; NaN without any."""
    values = []
    for run, step in policies(evidence, group, moment):
        parts = []
        for name, weight in evidence.study.weights().items():
            cell = evidence.ledger.cells.get((run, step, name))
            parts.append(weight * int(cell.tokens.sum()) / int(cell.samples.sum()) if cell else float("nan"))
        values.append(float(np.sum(parts)))
    return float(np.mean(values)) if values else float("nan")


def _pass_figures(evidence: Evidence) -> tuple[Figure, Figure]:
    ks = sorted(set(evidence.study.evaluation.pass_k))
    several = len(evidence.study.models) > 1
    by_k: list[Panel] = []
    by_tokens: list[Panel] = []
    columns, lead = with_model(
        evidence,
        (
            Column("read_at", "Read"),
            *(Column(f"pass_{k}", f"pass@{k}", "estimate") for k in ks),
            Column("seeds", "Seeds", "integer"),
        ),
    )
    token_columns, _ = with_model(
        evidence,
        (
            Column("read_at", "Read"),
            Column("k", "k", "integer"),
            Column("tokens", "k × mean tokens", "decimal", 0),
            Column("pass", "pass@k", "estimate"),
        ),
    )
    read = {(g, m): _pass_read(evidence, g, m, ks) for g in groups(evidence) for m in moments(evidence)}
    rows: list[tuple[Value, ...]] = []
    token_rows: list[tuple[Value, ...]] = []
    for (group, moment), (values, _, seeds) in read.items():
        rows.append(
            (
                *lead(group),
                moment.title,
                *(value if policies(evidence, group, moment) else None for value in values.values()),
                seeds,
            )
        )
    for (group, moment), (values, tokens, seeds) in read.items():
        known = {k: value for k, value in values.items() if seeds and not isnan(value.value)}
        token_rows.extend((*lead(group), moment.title, k, k * tokens, value) for k, value in known.items())
    for model in evidence.study.models:
        for moment in moments(evidence)[1:]:
            found = [(group, *read[group, moment]) for group in groups(evidence, model)]
            title = words.axis_phrase(moment.axis or "updates") + (f", {model}" if several else "")
            by_k.append(
                _panel(
                    title, "samples k", [_series(g, values, None) for g, values, _, seeds in found if seeds]
                )
            )
            against_tokens = [_series(g, values, tokens) for g, values, tokens, seeds in found if seeds]
            by_tokens.append(_panel(title, "k × mean generated tokens", against_tokens))
    note = f"Percent, mean over seeds with its {words.OVER_SEEDS}."
    return (
        Figure(
            "pass_at_k",
            "pass@k against the number of samples",
            "Mean over seeds; the interval at each k is in the table. Where an arm has no point at a k, "
            "pass@k is not estimable from its samples.",
            tuple(by_k),
            Table("pass_at_k", "pass@k", columns, tuple(rows), note),
        ),
        Figure(
            "pass_at_k_tokens",
            "pass@k against what the samples cost",
            "The same values against k times the arm's mean tokens a sample, since an arm that writes "
            "longer answers pays more for each.",
            tuple(by_tokens),
            Table(
                "pass_at_k_tokens", "pass@k by tokens", token_columns, tuple(token_rows), note, collapsed=True
            ),
        ),
    )


def _series(group: Group, values: dict[int, Estimate], tokens: float | None) -> Series:
    """The estimable points, against k or, with `tokens` a sample, against k times them."""
    known = {k: value.value for k, value in values.items() if not isnan(value.value)}
    x = tuple(k * (tokens or 1.0) for k in known)
    points = tuple(
        Point(
            at,
            y,
            f"{group.arm}: pass@{k} {words.number(y)} "
            f"%{f' for {words.integer(at)} tokens' if tokens else ''}",
        )
        for at, (k, y) in zip(x, known.items(), strict=True)
    )
    nothing = tuple(float("nan") for _ in known)
    return Series(group.arm, group.style, x, tuple(known.values()), nothing, nothing, points)


def _panel(title: str, x_label: str, series: list[Series]) -> Panel:
    return Panel(title, x_label, "pass@k (%)", tuple(series), "line", "log2")
