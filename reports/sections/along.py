"""The difference of each hypothesis along the budget, with a band by the crossed bootstrap."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf

from prereg.hypotheses import Hypothesis
from prereg.testkinds import BinomialScoreboard
from reports import words
from reports.alongbudget import Along, along_budgets, contrast_key
from reports.bootstrap import FEW_SEEDS, REPLICATES, Limits, error_of_p, lead_from, p_two_sided, percentile
from reports.comparisons import Comparison, model_of
from reports.content import (
    Block,
    Column,
    Estimate,
    Figure,
    Listing,
    Panel,
    Point,
    Prose,
    Section,
    Series,
    Table,
    Value,
)
from reports.intervals import SEEDS_AND_PROBLEMS
from reports.scores import Evidence

WARNING = (
    "A percentile interval over fewer than 20 seeds is too narrow where most of the spread lies between "
    "seeds: with normal differences, one at 95 % covers 75 % of the time with 3 seeds and 84 % with 5, where "
    "the t interval covers 95 %. The t interval is the primary one; it stands beside the band in the table."
)
_NEVER = "not within the budget"


def build(evidence: Evidence, comparisons: Mapping[str, Comparison]) -> Section | None:
    """The section; None for a study without a hypothesis on a difference."""
    contrasts = _contrasts(evidence)
    if not contrasts:
        return None
    panels: list[Panel] = []
    points: list[tuple[Value, ...]] = []
    quantities: list[tuple[Value, ...]] = []
    reasons: list[str] = []
    few = False
    for members in contrasts:
        first, name = members[0], ", ".join(one.id for one in members)
        comparison = comparisons[first.id]
        if comparison.reasons:
            reasons.append(f"{name}: not comparable, as its verdict says.")
            continue
        few = few or len(comparison.seeds) < FEW_SEEDS
        found, missing = along_budgets(evidence, first, comparison)
        reasons.extend(f"{name}: {reason}." for reason in missing)
        matched = {one.matched_on for one in members}
        for one in found:
            bands = [percentile(column) for column in one.curve.replicates.T]
            points.extend(_point_rows(name, one, bands))
            quantities.extend(_quantity_rows(name, one))
            if one.axis in matched and len(one.costs) > 1:
                panels.append(_panel(evidence, first, name, one, bands))
    blocks: list[Block] = [Prose(WARNING)] if few else []
    if points:
        blocks.append(
            Figure("along", "The difference along the budget", _CAPTION, tuple(panels), _points(points))
        )
        blocks.append(_quantities(quantities))
    if reasons:
        blocks.append(Listing(tuple(reasons)))
    return Section("along", "The difference along the budget", tuple(blocks))


_CAPTION = (
    "Treatment less control in percentage points, paired by seed, read as steps: at the checkpoints that all "
    "runs share, or at twentieths of the budget where they share fewer than three. The band is the 95 % "
    f"percentile interval of {REPLICATES:,} replicates of the crossed bootstrap, point by point, for "
    f"{SEEDS_AND_PROBLEMS}: seeds drawn jointly for all benchmarks and both arms, problems within each "
    "benchmark. A curve is one correlated object: where it leaves 0 is no test. Only the reading at the "
    "budget is registered."
)


def _contrasts(evidence: Evidence) -> list[tuple[Hypothesis, ...]]:
    """The hypotheses about a difference; those that measure the same stand together."""
    grouped: dict[tuple[object, ...], list[Hypothesis]] = {}
    for hypothesis in evidence.study.hypotheses:
        if not isinstance(hypothesis.test, BinomialScoreboard):
            key = (*contrast_key(evidence, hypothesis), hypothesis.intercurrent)
            grouped.setdefault(tuple(map(str, key)), []).append(hypothesis)
    return [tuple(members) for members in grouped.values()]


def _panel(evidence: Evidence, hypothesis: Hypothesis, name: str, one: Along, bands: list[Limits]) -> Panel:
    style = list(evidence.study.arms).index(hypothesis.treatment)
    model = f" on {model_of(evidence, hypothesis)}" if len(evidence.study.models) > 1 else ""
    label = f"{hypothesis.treatment}{model}"
    marks = tuple(
        Point(
            float(cost),
            float(value),
            f"{hypothesis.treatment} less {hypothesis.control}{model}: {words.signed(float(value))} points "
            f"at {words.compact(float(cost))} {words.axis_unit(one.axis)}",
        )
        for cost, value in zip(one.costs, one.curve.estimate, strict=True)
    )
    series = Series(
        label,
        style,
        tuple(float(cost) for cost in one.costs),
        tuple(float(value) for value in one.curve.estimate),
        tuple(band.low for band in bands),
        tuple(band.high for band in bands),
        marks,
    )
    return Panel(
        f"{'Hypotheses' if ',' in name else 'Hypothesis'} {name}",
        words.axis_unit(one.axis),
        f"{label} less {hypothesis.control} (points)",
        (series,),
        "step",
        "linear",
        float(one.costs[-1]),
        signed=True,
    )


def _point_rows(name: str, one: Along, bands: list[Limits]) -> list[tuple[Value, ...]]:
    return [
        (
            name,
            words.axis_title(one.axis),
            float(cost),
            Estimate(float(value), band.low, band.high),
            band.error,
            Estimate(over_seeds.estimate, over_seeds.low, over_seeds.high),
        )
        for cost, value, band, over_seeds in zip(
            one.costs, one.curve.estimate, bands, one.over_seeds, strict=True
        )
    ]


def _points(rows: list[tuple[Value, ...]]) -> Table:
    return Table(
        "along",
        "The plotted values, on every axis",
        (
            Column("hypothesis", "Hypothesis"),
            Column("axis", "Axis"),
            Column("cost", "Cost", "compact"),
            Column("difference", "Difference, crossed bootstrap", "estimate", 2),
            Column("monte_carlo_error", "Monte-Carlo error of the limits", "decimal", 3),
            Column("over_seeds", "Difference, t over seeds", "estimate", 2),
        ),
        tuple(rows),
        "Percentage points. The Monte-Carlo error is how far other draws would move a limit, as a standard "
        "error.",
        collapsed=True,
    )


def _quantity_rows(name: str, one: Along) -> list[tuple[Value, ...]]:
    """The difference at the budget, its mean height, and the cost from which the treatment leads."""
    lead = (name, words.axis_title(one.axis))
    rows: list[tuple[Value, ...]] = []
    at_budget = one.curve.replicates[:, -1]
    scalars = [("difference at the budget", float(one.curve.estimate[-1]), at_budget, one.over_seeds[-1])]
    if one.area is not None and one.area_over_seeds is not None:
        drawn = one.area.replicates[:, 0]
        scalars.append(
            ("mean height of the difference", float(one.area.estimate[0]), drawn, one.area_over_seeds)
        )
    for quantity, value, replicates, interval in scalars:
        limits, p = percentile(replicates), p_two_sided(value, replicates)
        over_seeds = _between(words.signed(interval.low, 2), words.signed(interval.high, 2))
        rows.append(
            (
                *lead,
                quantity,
                words.signed(value, 2),
                _between(words.signed(limits.low, 2), words.signed(limits.high, 2)),
                words.number(limits.error, 3),
                p,
                error_of_p(p, len(replicates)),
                over_seeds if interval.low == interval.low else words.NOT_ESTIMABLE,
            )
        )
    if len(one.costs) > 1:
        found = float(lead_from(one.costs, one.curve.estimate[None, :])[0])
        limits = percentile(lead_from(one.costs, one.curve.replicates))
        rows.append(
            (
                *lead,
                f"{words.axis_unit(one.axis)} from which the treatment leads",
                _cost(found),
                _between(_cost(limits.low), _cost(limits.high)),
                _cost(limits.error),
                None,
                None,
                words.DASH,
            )
        )
    return rows


def _quantities(rows: list[tuple[Value, ...]]) -> Table:
    return Table(
        "along_quantities",
        "At the budget, on average, and from where on",
        (
            Column("hypothesis", "Hypothesis"),
            Column("axis", "Axis"),
            Column("quantity", "Quantity"),
            Column("value", "Value"),
            Column("interval", "95 % percentile interval"),
            Column("monte_carlo_error", "Monte-Carlo error of its limits"),
            Column("p", "Bootstrap p", "p"),
            Column("p_error", "Monte-Carlo error of p", "decimal", 4),
            Column("over_seeds", "95 % t interval over seeds"),
        ),
        tuple(rows),
        f"{REPLICATES:,} replicates; p = (1 + #) / (B + 1), two-sided, # being the replicates at least as "
        "far from the value as the value is from 0. The mean height is the area between the curves up to the "
        "budget, divided by its length. The treatment leads from the first reading after which its mean "
        "stays above the control's up to the budget. None of these decides a verdict.",
    )


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _cost(value: float) -> str:
    return _NEVER if isinf(value) else words.compact(value)
