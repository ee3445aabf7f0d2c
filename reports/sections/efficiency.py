"""What the compute bought: updates at each budget, tokens a point gained, and where curves cross."""

from __future__ import annotations

from math import fsum, isnan

import numpy as np

from prereg.fields import Axis
from reports import words
from reports.content import Column, Estimate, Table, Value
from reports.curves import Floats, lead_changes, mean_step_curve
from reports.scores import Evidence, reading, score
from reports.sections.common import Group, Moment, arm_model, groups, over_seeds, policies, with_model
from reports.sections.progress import curves_to_budget


def updates_at_budgets(evidence: Evidence) -> Table:
    """How far each arm came within each budget."""
    columns, lead = with_model(
        evidence,
        (
            Column("axis", "Budget"),
            Column("budget", "Amount", "compact"),
            Column("updates", "Updates", "decimal"),
            Column("fewest", "Fewest", "integer"),
            Column("most", "Most", "integer"),
            Column("used", "Of the budget used", "percent"),
            Column("seeds", "n", "integer"),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    for group in groups(evidence):
        for axis, budget in evidence.study.budget.declared().items():
            found = [reading(evidence, run.run_id, axis) for run in group.runs]
            read = [one for one in found if not isinstance(one, str)]
            steps = [one.step for one in read]
            mean = fsum(steps) / len(steps) if steps else None
            used = fsum(one.cost for one in read) / len(read) / budget if read else None
            rows.append(
                (
                    *lead(group),
                    words.axis_title(axis),
                    budget,
                    mean,
                    min(steps, default=None),
                    max(steps, default=None),
                    used,
                    len(steps),
                )
            )
    return Table(
        "updates_at_budgets",
        "Updates reached at each budget",
        columns,
        tuple(rows),
        "Mean, fewest and most over seeds, of the policy that is read at the budget: the last one that does "
        "not exceed it. What is left of the budget did not pay for another update.",
    )


def cost_of_a_point(evidence: Evidence) -> Table:
    """Tokens and seconds for each percentage point over the start policy."""
    columns, lead = with_model(
        evidence,
        (
            Column("read_at", "Read"),
            Column("gain", "Gain, points", "estimate"),
            Column("tokens", "Tokens spent", "compact"),
            Column("tokens_per_point", "Tokens a point", "compact"),
            Column("seconds_per_point", "Device-seconds a point", "decimal", 3),
            Column("meaning", "Meaning"),
            Column("seeds", "n", "integer"),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    for group in groups(evidence):
        for axis, budget in evidence.study.budget.declared().items():
            moment = Moment(axis, budget)
            gains, tokens, seconds = _gains(evidence, group, moment)
            gain, seeds = over_seeds(gains)
            rows.append(
                (
                    *lead(group),
                    moment.title,
                    gain if seeds else None,
                    fsum(tokens) / seeds if seeds else None,
                    _per_point(tokens, gains),
                    _per_point(seconds, gains),
                    _meaning(gains, gain),
                    seeds,
                )
            )
    return Table(
        "cost_of_a_point",
        "What a point gained cost",
        columns,
        tuple(rows),
        "Gain: accuracy at the budget less that of the start policy, percentage points, mean over seeds with "
        f"its {words.OVER_SEEDS}. A point's price is what all seeds spent over what all seeds gained; "
        "a mean of the seeds' own ratios would be ruled by the seed that gained least. `no gain`: they "
        "gained nothing or lost, so no amount bought a point. `uncertain`: the interval of the gain holds 0, "
        "or there is none, and the price may be any amount. The first points are the cheapest: compare "
        "prices of equal gains.",
    )


def _gains(evidence: Evidence, group: Group, moment: Moment) -> tuple[list[float], list[float], list[float]]:
    """Gain in points, tokens and device-seconds of every run that has both policies."""
    gains, tokens, seconds = [], [], []
    for run_id, step in policies(evidence, group, moment):
        gain = score(evidence, run_id, step) - score(evidence, run_id, 0)
        point = evidence.checkpoint(run_id, step)
        if point is not None and not isnan(gain):
            gains.append(gain)
            tokens.append(point.cost["generated_tokens"])
            seconds.append(point.cost["device_seconds"])
    return gains, tokens, seconds


def _per_point(spent: list[float], gains: list[float]) -> float | None:
    """What all seeds spent over what all gained; None where they gained nothing."""
    gained = fsum(gains)
    return fsum(spent) / gained if gained > 0 else None


def _meaning(gains: list[float], gain: Estimate) -> str | None:
    """What a price is worth; None without a run."""
    if not gains:
        return None
    if fsum(gains) <= 0:
        return "no gain"
    return "a price" if gain.low > 0 else "uncertain"


def crossings(evidence: Evidence) -> Table:
    """Where each arm's curve crosses that of each control."""
    several = len(evidence.study.models) > 1
    columns = (
        *((Column("model", "Model"),) if several else ()),
        Column("arm", "Arm"),
        Column("control", "Against"),
        Column("axis", "Axis"),
        Column("first", "Ahead first"),
        Column("count", "Crossings", "integer"),
        Column("last_crossing", "Last at", "compact"),
        Column("last", "Ahead at the end"),
        Column("gap", "Gap at the end", "points"),
    )
    rows: list[tuple[Value, ...]] = []
    for model in evidence.study.models:
        every = groups(evidence, model)
        controls = [one for one in every if evidence.study.arms[one.arm].role == "control"]
        for one in every:
            for control in controls:
                if one.arm != control.arm:
                    rows.extend(
                        (*((model,) if several else ()), one.arm, control.arm, *row)
                        for axis in evidence.study.budget.declared()
                        if (row := _crossing(evidence, one, control, axis)) is not None
                    )
    return Table(
        "crossings",
        "Where the curves cross",
        columns,
        tuple(rows),
        "Of the mean curves over seeds, read as steps, up to the budget. The lead passes at the cost at "
        "which the other curve is first strictly above, so it is known to within one evaluation. Curves "
        "within their noise cross often: look at the gap beside its test, not at the count.",
    )


def _crossing(evidence: Evidence, arm: Group, control: Group, axis: Axis) -> tuple[Value, ...] | None:
    curves = [_mean_curve(evidence, group, axis) for group in (arm, control)]
    if curves[0] is None or curves[1] is None:
        return None
    changes = lead_changes(curves[0], curves[1])
    gap = float(curves[0][1][-1] - curves[1][1][-1])
    names = {1: arm_model(evidence, arm), -1: arm_model(evidence, control)}
    title = words.axis_title(axis)
    if not changes:
        return title, "neither", 0, None, "neither", gap
    end = names[int(np.sign(gap))] if gap else "neither"
    last = changes[-1][0] if len(changes) > 1 else None
    return title, names[changes[0][1]], len(changes) - 1, last, end, gap


def _mean_curve(evidence: Evidence, group: Group, axis: Axis) -> tuple[Floats, Floats] | None:
    """The mean over the seeds that reached the budget, from where all of them have a value."""
    found = curves_to_budget(evidence, group, axis)
    if not found:
        return None
    cost, readings = mean_step_curve(found, evidence.study.budget.declared()[axis])
    whole = ~np.isnan(readings).any(axis=0)
    return cost[whole], readings[:, whole].mean(axis=0)
