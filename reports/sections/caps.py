"""Accuracy at a token cap, as curves: what each arm would have scored, had answers been cut earlier."""

from __future__ import annotations

from reports import words
from reports.content import Column, Estimate, Figure, Panel, Point, Series, Table, Value
from reports.details import Details
from reports.scores import Evidence, block_reason
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


def figure(evidence: Evidence, details: Details) -> Figure:
    """A panel a budget and model, and the table of what it shows."""
    columns, lead = with_model(
        evidence,
        (
            Column("read_at", "Read"),
            Column("cap", "Cap, tokens", "integer"),
            Column("accuracy", "Right and finished", "estimate"),
            Column("seeds", "Seeds", "integer"),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    panels = []
    for model in evidence.study.models:
        for moment in moments(evidence)[1:]:
            series = []
            for group in groups(evidence, model):
                points = _points(evidence, details, group, moment)
                rows.extend((*lead(group), moment.title, cap, value, seeds) for cap, value, seeds in points)
                if points:
                    series.append(_series(group, [(cap, value) for cap, value, _ in points]))
            suffix = f", {model}" if len(evidence.study.models) > 1 else ""
            panels.append(
                Panel(
                    words.axis_phrase(moment.axis or "updates") + suffix, "cap on an answer, tokens",
                    f"{average_name(evidence)} (%)", tuple(series), "line", "linear",
                )
            )  # fmt: skip
    note = f"Percent, mean over seeds with its {words.OVER_SEEDS}."
    return Figure(
        "token_caps",
        "Accuracy at a token cap",
        "The share of samples that are right and finished within each number of tokens. Sampling writes from "
        "left to right, so this is what a cap there would have scored; no model of length is in it. A method "
        "whose gain appears only at large caps needs the longer answers for it.",
        tuple(panels),
        Table("token_caps", "Accuracy at a token cap", columns, tuple(rows), note, collapsed=True),
    )


def _points(
    evidence: Evidence, details: Details, group: Group, moment: Moment
) -> list[tuple[int, Estimate, int]]:
    read = policies(evidence, group, moment)
    result = []
    for index, cap in enumerate(details.caps):
        value, seeds = over_seeds(_score(evidence, details, run, step, index) for run, step in read)
        if seeds:
            result.append((cap, value, seeds))
    return result


def _score(evidence: Evidence, details: Details, run: str, step: int, index: int) -> float:
    """Right and finished within the cap, in percent over the benchmarks by weight; NaN if blocked."""
    total = 0.0
    for name, weight in evidence.study.weights().items():
        if block_reason(evidence, run, step, name) is not None:
            return float("nan")
        samples = int(evidence.ledger.cells[run, step, name].samples.sum())
        total += weight * int(details.capped[run, step, name][index]) / samples
    return 100 * total


def _series(group: Group, points: list[tuple[int, Estimate]]) -> Series:
    return Series(
        group.arm,
        group.style,
        tuple(float(cap) for cap, _ in points),
        tuple(value.value for _, value in points),
        tuple(value.low for _, value in points),
        tuple(value.high for _, value in points),
        tuple(
            Point(cap, value.value, f"{group.arm}, cap {cap:,}: {words.number(value.value)} %")
            for cap, value in points
        ),
    )
