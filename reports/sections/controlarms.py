"""The control arms in one place: each beside what it stands against, at every budget."""

from __future__ import annotations

from math import nan

from reports import words
from reports.content import Block, Column, Prose, Section, Table, Value
from reports.controlarms import ControlArm, control_arms
from reports.remeasured import Remeasured
from reports.scores import Evidence, score
from reports.sections import remeasured
from reports.sections.common import Moment, average_name, moments, over_seeds, step_at


def build(evidence: Evidence, again: Remeasured) -> Section:
    """The section. What the study does not have is named, since a missing control should be seen."""
    found = tuple(control_arms(evidence.study))
    blocks: list[Block] = []
    if found:
        blocks.append(_table(evidence, found))
    if missing := _missing(evidence, found):
        blocks.append(Prose(f"The study has no {words.joined(missing)}."))
    blocks += remeasured.blocks(evidence, again)
    return Section("control_arms", "Control arms and measurement noise", tuple(blocks))


def _missing(evidence: Evidence, found: tuple[ControlArm, ...]) -> tuple[str, ...]:
    wanted = ("A/A arm", "learning rate", "placebo", "format-only", "length-matched")
    named = {
        "A/A arm": "A/A arm",
        "learning rate": "arm with another learning rate",
        "placebo": "placebo",
        "format-only": "arm with a format-only reward",
        "length-matched": "length-matched arm",
    }
    absent = [named[start] for start in wanted if not any(one.what.startswith(start) for one in found)]
    return (*absent, *(() if evidence.study.evaluation.reevaluate else ("A/A re-evaluation",)))


def _table(evidence: Evidence, found: tuple[ControlArm, ...]) -> Table:
    several = len(evidence.study.models) > 1
    read = moments(evidence)[1:]
    columns = (
        *((Column("model", "Model"),) if several else ()),
        Column("arm", "Arm"),
        Column("what", "What it is"),
        Column("against", "Less"),
        *(Column(moment.key, words.axis_title(moment.axis or "updates"), "estimate") for moment in read),
        Column("shows", "What a difference shows"),
    )
    rows: list[tuple[Value, ...]] = [
        (
            *((model,) if several else ()),
            one.arm,
            one.what,
            one.against,
            *(_difference(evidence, model, one, moment) for moment in read),
            one.shows,
        )
        for model in evidence.study.models
        for one in found
    ]
    return Table(
        "control_arms",
        "Differences of the control arms",
        columns,
        tuple(rows),
        f"{average_name(evidence)}, percentage points, mean over paired seeds with its {words.OVER_SEEDS}. "
        "A method's own difference from its control means little unless it exceeds these.",
    )


def _difference(evidence: Evidence, model: str, one: ControlArm, moment: Moment) -> Value:
    differences = [
        _score(evidence, model, one.arm, seed, moment) - _score(evidence, model, one.against, seed, moment)
        for seed in evidence.study.seeds
    ]
    estimate, seeds = over_seeds(differences)
    return estimate if seeds else None


def _score(evidence: Evidence, model: str, arm: str, seed: int, moment: Moment) -> float:
    run = evidence.run(model, arm, seed)
    step = None if run is None else step_at(evidence, run.run_id, moment)
    return nan if run is None or step is None else score(evidence, run.run_id, step)
