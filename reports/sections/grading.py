"""How far the grading itself could be wrong: a second grader's opinions, and what grading again changed."""

from __future__ import annotations

from reports.content import Block, Column, Prose, Section, Table, Value
from reports.inputs import GradedAgain


def build(again: GradedAgain) -> Section | None:
    """The section; None if nothing was looked at twice."""
    blocks: list[Block] = []
    if again.why_not:
        blocks.append(Prose(f"No second grader looked at the answers: {again.why_not}"))
    if again.opinions:
        blocks.append(_opinions(again))
    if again.regraded:
        blocks.append(_regraded(again))
    return Section("grading-again", "Graded twice", tuple(blocks)) if blocks else None


def _opinions(again: GradedAgain) -> Table:
    rows: list[tuple[Value, ...]] = []
    for one in again.opinions:
        held = one.looked_at - one.no_opinion
        differ = one.only_first + one.only_second
        rate = 100 * differ / held if held else None
        rows.append(
            (one.model, one.arm, one.looked_at, one.no_opinion, one.only_first, one.only_second, rate)
        )
    return Table(
        "second_grader",
        "What a second grader says",
        (
            Column("model", "Model"),
            Column("arm", "Arm"),
            Column("looked_at", "Samples", "integer"),
            Column("no_opinion", "No opinion", "integer"),
            Column("only_first", "Right by the first only", "integer"),
            Column("only_second", "Right by the second only", "integer"),
            Column("rate", "Disagree", "percent"),
        ),
        tuple(rows),
        f"At most {again.per_run} samples of each run, drawn by a hash of the study's id and theirs, graded "
        f"again by a grader that shares no code with the first ({again.version}). The rate is of those "
        "on which it has an opinion. On a text that was cut off or has no closed box it has none: there is "
        "nothing to disagree on. Either of the two may be the one that errs; arms whose rates differ are a "
        "reason to read answers.",
    )


def _regraded(again: GradedAgain) -> Table:
    rows: list[tuple[Value, ...]] = [
        (one.model, one.arm, one.number, one.grader, one.version, one.samples, one.changed, one.usable)
        for one in again.regraded
    ]
    return Table(
        "regraded",
        "What grading the same texts again changed",
        (
            Column("model", "Model"),
            Column("arm", "Arm"),
            Column("number", "Number", "integer"),
            Column("grader", "Grader"),
            Column("version", "Version"),
            Column("samples", "Samples", "integer"),
            Column("changed", "Verdicts changed", "integer"),
            Column("usable", "Made usable", "integer"),
        ),
        tuple(rows),
        "Both verdicts are kept beside the ledger. Only samples whose grader had failed take the new one, "
        "from the study's own grader; every other number of this report rests on the verdicts of the runs.",
    )
