"""The arms in order of accuracy, on each axis side by side: does the answer depend on what is held equal?"""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan

from prereg.fields import Axis
from reports import words
from reports.content import Block, Column, Estimate, Prose, Section, SideBySide, Table, Value
from reports.scores import Evidence, score
from reports.sections.common import Moment, average_name, groups, over_seeds, policies

LISTED = 5
"""Arms whose orders are written out in a sentence, at most; the tables hold all."""


def build(evidence: Evidence) -> Section:
    """The section; one set of tables a model."""
    blocks: list[Block] = []
    for model in evidence.study.models:
        blocks.append(Prose(words_of_order(evidence, model)))
        blocks.append(
            SideBySide(tuple(_table(evidence, model, axis) for axis in evidence.study.budget.declared()))
        )
    blocks.append(
        Prose(
            f"Accuracy is {average_name(evidence)} in percent, the mean over n seeds with its "
            f"{words.OVER_SEEDS}. Updates are those that the policy had had when its budget was used up, a "
            "mean over seeds. A rank describes these runs; only a hypothesis above is a test."
        )
    )
    return Section("ranking", "The arms at matched compute", tuple(blocks))


def words_of_order(evidence: Evidence, model: str) -> str:
    """Whether the order of the arms is the same on every axis, in words."""
    orders = {axis: _order(evidence, model, axis) for axis in evidence.study.budget.declared()}
    known = {axis: order for axis, order in orders.items() if len(order) > 1 or any("=" in o for o in order)}
    on = f" on {model}" if len(evidence.study.models) > 1 else ""
    if not known:
        return f"No axis has two arms{on} that can be ranked."
    if len(known) == 1:
        axis, order = next(iter(known.items()))
        return f"{_capital(words.axis_phrase(axis))}{on}, the order is {', '.join(order)}."
    noise = _within_noise(evidence, model)
    most = max(len(order) for order in known.values())
    if len(set(known.values())) > 1 and most > LISTED:
        return f"The order of the arms{on} changes with what is held equal. {in_short(known)}{noise}"
    if len(set(known.values())) == 1:
        same = ", ".join(next(iter(known.values())))
        return f"The arms{on} stand in the same order on every axis: {same}.{noise}"
    parts = [f"{words.axis_phrase(axis)} {', '.join(order)}" for axis, order in known.items()]
    return f"The order of the arms{on} changes with what is held equal: {'; '.join(parts)}.{noise}"


def in_short(orders: Mapping[Axis, tuple[str, ...]]) -> str:
    """Who comes first on each axis, and who moves furthest: more arms than a sentence can hold."""
    first: dict[str, list[str]] = {}
    places: dict[str, dict[Axis, int]] = {}
    for axis, order in orders.items():
        first.setdefault(order[0], []).append(words.axis_phrase(axis))
        for place, tied in enumerate(order, start=1):
            for arm in tied.split(" = "):
                places.setdefault(arm, {})[axis] = place
    leaders = "; ".join(f"{arm} {words.joined(tuple(axes))}" for arm, axes in first.items())
    arm, found = max(places.items(), key=lambda item: max(item[1].values()) - min(item[1].values()))
    best, worst = min(found, key=lambda axis: found[axis]), max(found, key=lambda axis: found[axis])
    return (
        f"First place: {leaders}. The arm {arm} moves furthest: place {found[best]} "
        f"{words.axis_phrase(best)}, place {found[worst]} {words.axis_phrase(worst)}."
    )


def _within_noise(evidence: Evidence, model: str) -> str:
    """A warning where the intervals of all arms overlap on every axis."""
    for axis in evidence.study.budget.declared():
        estimates = [estimate for _, estimate, seeds, _ in _scores(evidence, model, axis) if seeds > 1]
        if len(estimates) < 2:
            continue
        if max(e.low for e in estimates) > min(e.high for e in estimates):
            return ""
    return " Their intervals overlap: a rank describes these runs, and only the paired tests decide."


def _scores(evidence: Evidence, model: str, axis: Axis) -> list[tuple[str, Estimate, int, float]]:
    """Arm, accuracy, seeds and mean updates, best first and then by the study's order; the unread last."""
    rows = []
    for group in groups(evidence, model):
        read = policies(evidence, group, Moment(axis))
        values = [(score(evidence, run_id, step), step) for run_id, step in read]
        complete = [(value, step) for value, step in values if not isnan(value)]
        estimate, seeds = over_seeds(value for value, _ in complete)
        updates = sum(step for _, step in complete) / seeds if seeds else float("nan")
        rows.append((group.arm, estimate, seeds, updates))
    return sorted(rows, key=lambda row: (isnan(row[1].value), -row[1].value if row[2] else 0.0))


def _order(evidence: Evidence, model: str, axis: Axis) -> tuple[str, ...]:
    """Arms from best to worst; those that are equal stand together, in the study's order."""
    tied: dict[float, list[str]] = {}
    for arm, estimate, seeds, _ in _scores(evidence, model, axis):
        if seeds:
            tied.setdefault(estimate.value, []).append(arm)
    return tuple(" = ".join(arms) for arms in tied.values())


def _table(evidence: Evidence, model: str, axis: Axis) -> Table:
    rows: list[tuple[Value, ...]] = []
    ranked = _scores(evidence, model, axis)
    for arm, estimate, seeds, updates in ranked:
        better = sum(1 for _, other, count, _ in ranked if count and other.value > estimate.value)
        missing = seeds == 0
        rows.append(
            (
                None if missing else better + 1,
                arm,
                None if missing else estimate,
                None if missing else updates,
                seeds,
            )
        )
    budget = evidence.study.budget.declared()[axis]
    suffix = f"_{model}" if len(evidence.study.models) > 1 else ""
    return Table(
        f"ranking_{axis}{suffix}",
        f"{_capital(words.axis_title(axis))}: {_amount(axis, budget)}",
        (
            Column("rank", "Rank", "integer"),
            Column("arm", "Arm"),
            Column("accuracy", "Accuracy", "estimate"),
            Column("updates", "Updates", "integer"),
            Column("seeds", "n", "integer"),
        ),
        tuple(rows),
    )


def _amount(axis: Axis, budget: float) -> str:
    """The budget without repeating what the heading says: seconds alone are in need of their unit."""
    return f"{words.compact(budget)} s" if axis == "device_seconds" else words.compact(budget)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
