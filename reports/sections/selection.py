"""Prompt selection: what was predicted of the prompts before they were used, beside what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from reports import words
from reports.content import Block, Column, Figure, Panel, Point, Prose, Section, Series, Table, Value
from reports.forecasts import (
    Decile,
    Forecast,
    base_rate,
    brier,
    brier_of_base_rate,
    deciles,
    informative_share,
)
from reports.scores import Evidence
from reports.sections.common import Group, arm_model, groups, with_model


def build(evidence: Evidence, forecasts: Sequence[Forecast]) -> Section | None:
    """The section; None where no arm predicted anything."""
    by_arm = [(group, _of(group, forecasts)) for group in groups(evidence)]
    predicting = [(group, some) for group, some in by_arm if some]
    if not predicting:
        return None
    blocks: list[Block] = [
        Prose(
            "Each prediction was logged before its prompt was sampled in that update. Prompts that were "
            "passed over have no outcome; those chosen by lot are the only ones that were not chosen for "
            "their prediction."
        ),
        _summary(evidence, by_arm),
        _calibration(evidence, predicting),
    ]
    return Section("selection", "Choosing prompts: predicted and observed", tuple(blocks))


def flags(evidence: Evidence, forecasts: Sequence[Forecast]) -> tuple[str, ...]:
    """For the first page: arms whose predictions never rested on a sample of their prompt."""
    return tuple(
        f"{arm_model(evidence, group)}: no prediction of its selection rests on a sample of the prompt: "
        "none came up again. It chose by the mean of all others, which is by chance."
        for group in groups(evidence)
        if (some := _of(group, forecasts)) and not any(one.evidence > 0 for one in some)
    )


def _of(group: Group, forecasts: Sequence[Forecast]) -> tuple[Forecast, ...]:
    runs = {run.run_id for run in group.runs}
    return tuple(one for one in forecasts if one.run_id in runs)


def _summary(evidence: Evidence, by_arm: Sequence[tuple[Group, tuple[Forecast, ...]]]) -> Table:
    columns, lead = with_model(
        evidence,
        (
            Column("chosen", "Prompts"),
            Column("groups", "Groups", "integer"),
            Column("known", "Seen before", "percent"),
            Column("base_rate", "Mean reward", "percent"),
            Column("brier", "Brier score", "decimal", 4),
            Column("brier_base", "Of the base rate", "decimal", 4),
            Column("skill", "Skill", "percent"),
            Column("informative", "Informative groups", "percent"),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    for group, some in by_arm:
        if not some:
            rows.append((*lead(group), "not predicted", *_unpredicted(evidence, group)))
            continue
        parts = {
            "by the rule": [one for one in some if not one.explored],
            "by lot": [one for one in some if one.explored],
            "all": list(some),
        }
        rows.extend((*lead(group), name, *_scores(part)) for name, part in parts.items() if part)
    return Table(
        "selection",
        "Predictions and their outcomes",
        columns,
        tuple(rows),
        "Over all updates and seeds. Brier score: mean squared difference of prediction and reward, over "
        "rollouts; 0 is best. Of the base rate: the score of saying these rollouts' own mean reward each "
        "time, which nobody could have known beforehand. Skill: one less their ratio; below 0, the "
        "predictions told less than that mean. Near one half most of a reward is luck, so a rule that "
        "chooses such prompts leaves little to predict among them. Seen before: groups of a prompt whose "
        "prediction rests on samples of its own. Informative: groups whose rewards differ, which is what "
        "choosing is for; the arms that predict nothing stand beside.",
    )


def _scores(part: Sequence[Forecast]) -> tuple[Value, ...]:
    own, base = brier(part), brier_of_base_rate(part)
    known = sum(one.evidence > 0 for one in part) / len(part)
    skill = 1 - own / base if base > 0 else None
    return len(part), known, base_rate(part), own, base, skill, informative_share(part)


def _unpredicted(evidence: Evidence, group: Group) -> tuple[Value, ...]:
    """Groups and the share that is informative of an arm without predictions."""
    training = [
        evidence.ledger.training[run.run_id] for run in group.runs if run.run_id in evidence.ledger.training
    ]
    count = sum(one.groups for one in training)
    share = sum(one.informative_groups for one in training) / count if count else None
    return count, None, None, None, None, None, share


def _calibration(evidence: Evidence, predicting: Sequence[tuple[Group, tuple[Forecast, ...]]]) -> Figure:
    columns, lead = with_model(
        evidence,
        (
            Column("predicted_from", "Predicted from", "percent"),
            Column("predicted_to", "to", "percent"),
            Column("groups", "Groups", "integer"),
            Column("samples", "Rollouts", "integer"),
            Column("predicted", "Predicted, mean", "percent"),
            Column("observed", "Observed", "percent"),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    panels = []
    for model in evidence.study.models:
        series = []
        for group, some in predicting:
            if group.model == model:
                found = deciles(some)
                rows.extend(
                    (*lead(group), one.low, one.high, one.groups, one.samples, one.predicted, one.observed)
                    for one in found
                )
                series.append(_series(group, found))
        if series:
            suffix = f", {model}" if len(evidence.study.models) > 1 else ""
            diagonal = _diagonal(len(evidence.study.arms))
            panels.append(
                Panel(
                    f"Calibration{suffix}", "predicted mean reward (%)", "observed (%)",
                    (*series, diagonal), "line",
                )
            )  # fmt: skip
    return Figure(
        "selection_calibration",
        "Calibration by tenth of the prediction",
        "On the diagonal, prompts that were predicted to succeed in 30 % of their samples did so. Tenths are "
        "of the prediction, not of equal size; the table has the groups behind each point.",
        tuple(panels),
        Table("selection_calibration", "Calibration by tenth of the prediction", columns, tuple(rows)),
    )


def _series(group: Group, found: Sequence[Decile]) -> Series:
    x = tuple(100 * one.predicted for one in found)
    y = tuple(100 * one.observed for one in found)
    none = (float("nan"),) * len(found)
    points = tuple(
        Point(
            100 * one.predicted,
            100 * one.observed,
            f"{group.arm}: predicted {words.number(100 * one.predicted)} %, observed "
            f"{words.number(100 * one.observed)} % ({words.plural(one.groups, 'group')})",
        )
        for one in found
        if not isnan(one.observed)
    )
    return Series(group.arm, group.style, x, y, none, none, points)


def _diagonal(style: int) -> Series:
    none = (float("nan"),) * 2
    return Series("calibrated", style, (0.0, 100.0), (0.0, 100.0), none, none, ())
