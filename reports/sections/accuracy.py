"""avg@n by benchmark, and pass@k as a table and as curves."""

from __future__ import annotations

from math import isnan

import numpy as np

from prereg.hypotheses import PassMetric
from reports import metrics, words
from reports.content import Block, Column, Estimate, Figure, Panel, Point, Prose, Section, Series, Table, Value
from reports.scores import Evidence, benchmark_score, block_reason, score
from reports.sections.common import Group, Moment, average_name, groups, moments, over_seeds, policies, with_model


def build(evidence: Evidence) -> Section:
    """The section."""
    top = max(benchmark.samples for benchmark in evidence.study.data.benchmarks.values())
    blocks: list[Block] = [
        _averages(evidence),
        Prose(
            f"Below, pass@k by the unbiased estimator, averaged like {average_name(evidence)}. Its intervals are over "
            f"seeds only; pass@{top} of {top} samples is whether any was right, and has no other error to estimate. "
            "A curve over k is one correlated object: what it shows is description unless a hypothesis names its k."
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
                numbers = (None,) * 3 if value is None else (
                    100 * value.mean, 100 * value.se_problems, 100 * value.se_fixed
                )  # fmt: skip
                cost = tuple(point.cost.values())
                rows.append((run.run_id, run.arm, run.model, run.seed, point.step, name, *numbers, *cost, reason or ""))
    columns = (
        *(Column(key, key) for key in ("run_id", "arm", "model")),
        *(Column(key, key, "integer") for key in ("seed", "updates")),
        Column("benchmark", "benchmark"),
        *(Column(key, key, "decimal") for key in ("accuracy", "se_problems", "se_problems_fixed")),
        *(Column(f"cost_{axis}", axis, "decimal") for axis in ("updates", "generated_tokens", "device_seconds", "train_flops")),
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
                    *lead(group), moment.title, every if seeds else None,
                    *(value if count else None for value, count in each), updates if read else None, seeds,
                )
            )  # fmt: skip
    weights = ", ".join(f"{name} {words.number(weight, 3)}" for name, weight in evidence.study.weights().items())
    return Table(
        "averages",
        f"{average_name(evidence)} in percent, at the start and at each budget",
        columns,
        tuple(rows),
        f"Mean over seeds with its 95 % t interval over seeds. Weights of the benchmarks in All: {weights}.",
    )


def _pass_values(evidence: Evidence, group: Group, moment: Moment, k: int) -> tuple[Estimate, int]:
    metric = PassMetric(kind="pass", k=k)
    return over_seeds(score(evidence, run, step, metric) for run, step in policies(evidence, group, moment))


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
        (Column("read_at", "Read"), *(Column(f"pass_{k}", f"pass@{k}", "estimate") for k in ks), Column("seeds", "Seeds", "integer")),
    )
    token_columns, _ = with_model(
        evidence,
        (
            Column("read_at", "Read"), Column("k", "k", "integer"), Column("tokens", "k x mean tokens", "decimal", 0),
            Column("pass", "pass@k", "estimate"),
        ),
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    token_rows: list[tuple[Value, ...]] = []
    for model in evidence.study.models:
        for moment in moments(evidence):
            against_k: list[Series] = []
            against_tokens: list[Series] = []
            for group in groups(evidence, model):
                values = {k: _pass_values(evidence, group, moment, k) for k in ks}
                tokens = mean_tokens(evidence, group, moment)
                seeds = max(count for _, count in values.values())
                read = bool(policies(evidence, group, moment))
                rows.append((*lead(group), moment.title, *(values[k][0] if read else None for k in ks), seeds))
                shown = {k: estimate for k, (estimate, count) in values.items() if count}
                token_rows.extend((*lead(group), moment.title, k, k * tokens, e) for k, e in shown.items())
                if shown and moment.axis is not None:
                    against_k.append(_series(group, shown, 1.0))
                    against_tokens.append(_series(group, shown, tokens))
            if moment.axis is not None:
                title = words.axis_phrase(moment.axis) + (f", {model}" if several else "")
                by_k.append(_panel(title, "samples k", against_k))
                by_tokens.append(_panel(title, "k x mean generated tokens", against_tokens))
    note = "Percent, mean over seeds with its 95 % t interval over seeds."
    return (
        Figure(
            "pass_at_k", "pass@k against the number of samples",
            "Mean over seeds; the interval at each k is in the table. Where an arm has no point at a k, pass@k is not "
            "estimable from its samples.",
            tuple(by_k), Table("pass_at_k", "pass@k", columns, tuple(rows), note),
        ),
        Figure(
            "pass_at_k_tokens", "pass@k against what the samples cost",
            "The same values against k times the arm's mean tokens a sample, since an arm that writes longer answers "
            "pays more for each.",
            tuple(by_tokens),
            Table("pass_at_k_tokens", "pass@k by tokens", token_columns, tuple(token_rows), note, collapsed=True),
        ),
    )  # fmt: skip


def _series(group: Group, shown: dict[int, Estimate], tokens: float) -> Series:
    x = tuple(k * tokens for k in shown)
    points = tuple(
        Point(at, value.value, f"{group.arm}: pass@{k} {words.number(value.value)} %" + ("" if tokens == 1.0 else f" for {words.integer(at)} tokens"))
        for at, (k, value) in zip(x, shown.items(), strict=True)
    )
    y = tuple(value.value for value in shown.values())
    nothing = tuple(float("nan") for _ in shown)
    return Series(group.arm, group.style, x, y, nothing, nothing, points)


def _panel(title: str, x_label: str, series: list[Series]) -> Panel:
    known = tuple(one for one in series if not any(isnan(x) for x in one.x))
    return Panel(title, x_label, "pass@k (%)", known, "line", "log2")
