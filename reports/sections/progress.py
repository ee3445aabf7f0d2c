"""Accuracy against cost, read as steps, on each axis."""

from __future__ import annotations

import numpy as np

from prereg.fields import Axis
from reports import words
from reports.content import Block, Column, Estimate, Figure, Panel, Point, Section, Series, Table, Value
from reports.curves import mean_step_curve
from reports.intervals import t_over_seeds
from reports.scores import Evidence, curve, reading, reading_of_curve
from reports.sections.common import Group, Moment, average_name, groups, over_seeds, policies, with_model


def build(evidence: Evidence) -> Section:
    """The section: a panel an axis, and how much the way of reading matters."""
    panels: list[Panel] = []
    rows: list[tuple[Value, ...]] = []
    columns, lead = with_model(
        evidence,
        (
            Column("axis", "Axis"),
            Column("cost", "Cost", "compact"),
            Column("accuracy", "Accuracy", "estimate"),
            Column("seeds", "Seeds", "integer"),
        ),
    )
    for model in evidence.study.models:
        for axis, budget in evidence.study.budget.declared().items():
            drawn = [
                (g, series)
                for g in groups(evidence, model)
                if (series := _series(evidence, g, axis)) is not None
            ]
            for group, one in drawn:
                rows.extend(
                    (
                        *lead(group),
                        axis,
                        x,
                        Estimate(y, low, high),
                        len(curves_to_budget(evidence, group, axis)),
                    )
                    for x, y, low, high in zip(one.x, one.y, one.low, one.high, strict=True)
                )
            suffix = f", {model}" if len(evidence.study.models) > 1 else ""
            panels.append(
                Panel(
                    words.axis_title(axis) + suffix,
                    words.axis_unit(axis),
                    f"{average_name(evidence)} (%)",
                    tuple(series for _, series in drawn),
                    "step",
                    "linear",
                    budget,
                )
            )
    blocks: list[Block] = [
        Figure(
            "curves",
            "Accuracy as compute is spent",
            "Mean over seeds of the last checkpoint within each cost (a step reading: nothing is "
            f"interpolated, and nothing lies beyond the budget). The band is the {words.OVER_SEEDS}; marks "
            "stand where all seeds of an arm were evaluated at one cost, and at the budget.",
            tuple(panels),
            Table(
                "curves", "The plotted values", columns, tuple(rows), "Accuracy in percent.", collapsed=True
            ),
        ),
        _sensitivity(evidence),
    ]
    return Section("curves", "Accuracy against compute", tuple(blocks))


def curves_to_budget(evidence: Evidence, group: Group, axis: Axis) -> list[tuple[np.ndarray, np.ndarray]]:
    """The curves of the runs that reached the budget."""
    runs = [run.run_id for run in group.runs if not isinstance(reading(evidence, run.run_id, axis), str)]
    return [found for run in runs if (found := curve(evidence, run, axis)) is not None]


def _series(evidence: Evidence, group: Group, axis: Axis) -> Series | None:
    budget = evidence.study.budget.declared()[axis]
    found = curves_to_budget(evidence, group, axis)
    if not found:
        return None
    cost, readings = mean_step_curve(found, budget)
    keep = ~np.isnan(readings).any(axis=0)
    cost, readings = cost[keep], readings[:, keep]
    intervals = [t_over_seeds(column) for column in readings.T]
    shared = {x for x in cost if all((x == one).any() for one, _ in found)} | {budget}
    updates = [step for _, step in policies(evidence, group, Moment(axis))]
    at_end = f"; {words.integer(float(np.mean(updates)))} updates" if updates else ""
    points = tuple(
        Point(
            float(x),
            one.estimate,
            f"{group.arm}: {words.number(one.estimate)} % at {words.compact(float(x))} "
            f"{words.axis_unit(axis)} ({words.plural(len(found), 'seed')}{at_end if x == budget else ''})",
        )
        for x, one in zip(cost, intervals, strict=True)
        if x in shared
    )
    return Series(
        group.arm,
        group.style,
        tuple(float(x) for x in cost),
        tuple(one.estimate for one in intervals),
        tuple(one.low for one in intervals),
        tuple(one.high for one in intervals),
        points,
    )


def _sensitivity(evidence: Evidence) -> Table:
    columns, lead = with_model(
        evidence,
        (
            Column("axis", "Axis"),
            Column("step", "Step reading", "estimate"),
            Column("linear", "Linear reading", "estimate"),
            Column("step_area", "Mean height, step", "estimate"),
            Column("linear_area", "Mean height, linear", "estimate"),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    for group in groups(evidence):
        for axis in evidence.study.budget.declared():
            values: list[Value] = []
            for how in ("step", "linear", "step_area", "linear_area"):
                estimate, seeds = over_seeds(
                    reading_of_curve(evidence, run.run_id, axis, how) for run in group.runs
                )
                values.append(estimate if seeds == len(group.runs) else None)
            rows.append((*lead(group), words.axis_title(axis), *values))
    return Table(
        "reading_sensitivity",
        "Does the way of reading the curve matter?",
        columns,
        tuple(rows),
        f"Percent at the budget, mean over seeds with its {words.OVER_SEEDS}. The step reading is the "
        "registered one. The linear reading needs a checkpoint at or beyond the budget in every run; a "
        "dash means that there was none. The mean height is the area under the curve up to the budget, "
        "divided by the budget.",
    )
