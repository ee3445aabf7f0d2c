"""From the runs that were planned to those that were analysed, and where exactly each was read."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from prereg.fields import Axis
from reports import words
from reports.content import Block, Column, Listing, Prose, Section, Table, Value
from reports.inputs import RunFact
from reports.ledger import Reading, total
from reports.planned import drawn_words
from reports.scores import Evidence, block_reason, reading
from reports.sections.common import groups, moments, step_at, with_model


def build(evidence: Evidence, unneeded: Collection[int] = ()) -> Section:
    """The section. `unneeded` are seeds after a planned look that ended the study."""
    blocks: list[Block] = [
        _flow(evidence, unneeded),
        _runs(evidence, unneeded),
        _readings(evidence),
        _overshoot(evidence),
        _grading(evidence),
    ]
    if reasons := open_reasons(evidence, unneeded):
        blocks[2:2] = [Prose("Why a run is not analysed at every budget:"), Listing(reasons)]
    if planned := by_plan(evidence):
        blocks[1:1] = [
            Prose("What the plan's own rules called for, which is no deviation:"),
            Listing(planned),
        ]
    return Section("runs", "From planned to analysed", tuple(blocks))


def analysed(evidence: Evidence, run: RunFact) -> bool:
    """Whether a finished run can be read, completely graded, at the start and at every budget."""
    return run.state == "finished" and not _reasons(evidence, run)


def open_reasons(evidence: Evidence, unneeded: Collection[int] = ()) -> tuple[str, ...]:
    """Why runs are not analysed, a line each; a run that was not needed wants no reason."""
    return tuple(
        reason
        for run in evidence.runs
        if run.seed not in unneeded
        for reason in _state_reason(run) or _reasons(evidence, run)
    )


def read_at_the_start(evidence: Evidence) -> Iterator[str]:
    """The axes on which an arm is read at its start policy, since the first update crosses the budget."""
    for axis in evidence.study.budget.declared():
        found = [
            run
            for run in evidence.runs
            if isinstance(one := reading(evidence, run.run_id, axis), Reading) and one.step == 0
        ]
        if found:
            arms = words.joined(tuple(dict.fromkeys(run.arm for run in found)))
            yield (
                f"The budget in {words.axis_unit(axis)} holds not one update of {arms} "
                f"({words.plural(len(found), 'run')}): what is read there is the start policy."
            )


def by_plan(evidence: Evidence) -> tuple[str, ...]:
    """What the plan's rules on reserve seeds and exclusions did, a sentence each."""
    done = evidence.as_run
    drawn = [f"As planned, {drawn_words(one, done.given_up)}." for one in done.drawn]
    excluded = [f"As planned, {run} is left out by {found}." for run, found in _excluded(evidence)]
    spent = [_spent(evidence)] if done.given_up else []
    return (*drawn, *spent, *excluded)


def _spent(evidence: Evidence) -> str:
    """What runs cost that no table counts, since a reserve seed took the place of theirs."""
    runs = {run.run_id for run in evidence.as_run.given_up}
    cost = total(one for (run, _, _), one in evidence.ledger.costs.items() if run in runs)
    return (
        f"The runs that were given up had generated {cost.generated_tokens:,} tokens in "
        f"{words.number(cost.device_seconds)} device-seconds, which no table counts."
    )


def _excluded(evidence: Evidence) -> list[tuple[str, str]]:
    """The planned runs that an exclusion leaves out, each with the rule."""
    found = evidence.as_run.excluded
    return [(run.run_id, found[run.run_id]) for run in evidence.runs if run.run_id in found]


def unplanned(evidence: Evidence) -> tuple[str, ...]:
    """Runs in the ledger that the study does not plan."""
    known = {run.run_id for run in (*evidence.runs, *evidence.as_run.given_up)}
    return tuple(sorted(evidence.ledger.run_ids - known))


def _state_reason(run: RunFact) -> list[str]:
    if run.state == "finished":
        return []
    return [f"{run.run_id}: {run.state}{f' ({run.note})' if run.note else ''}"]


def _reasons(evidence: Evidence, run: RunFact) -> list[str]:
    found = []
    for moment in moments(evidence):
        step = step_at(evidence, run.run_id, moment)
        if step is None:
            at = (
                reading(evidence, run.run_id, moment.axis)
                if moment.axis
                else f"{run.run_id}: the start was not evaluated"
            )
            found.append(str(at))
            continue
        blocked = [block_reason(evidence, run.run_id, step, name) for name in evidence.study.data.benchmarks]
        found.extend(reason for reason in blocked if reason is not None)
    return list(dict.fromkeys(found))


def _flow(evidence: Evidence, unneeded: Collection[int]) -> Table:
    columns, lead = with_model(
        evidence,
        (
            *(
                Column(key, key.capitalize(), "integer")
                for key in ("planned", "started", "finished", "analysed", "excluded", "diverged")
            ),
            *((Column("not_needed", "Not needed", "integer"),) if unneeded else ()),
        ),
    )
    rows: list[tuple[Value, ...]] = [
        (
            *lead(group),
            len(evidence.study.seeds),
            sum(run.state != "planned" for run in group.runs),
            sum(run.state == "finished" for run in group.runs),
            sum(analysed(evidence, run) for run in group.runs),
            sum(run.run_id in evidence.as_run.excluded for run in group.runs),
            sum(run.diverged for run in group.runs),
            *((len(unneeded),) if unneeded else ()),
        )
        for group in groups(evidence)
    ]
    return Table(
        "run_flow",
        "Run flow",
        columns,
        tuple(rows),
        "Analysed: read and completely graded at the start and at every budget. Excluded: left out of every "
        "hypothesis by a rule on how runs are made. Diverged runs stay in every table; a hypothesis may "
        "leave their seeds out, if its plan says so. Seeds whose places reserve seeds took do not count."
        + (
            " Not needed: of seeds after the look at which the study stopped, as planned." if unneeded else ""
        ),
    )


def _runs(evidence: Evidence, unneeded: Collection[int]) -> Table:
    columns = (
        Column("run_id", "Run"),
        Column("arm", "Arm"),
        Column("model", "Model"),
        Column("seed", "Seed", "integer"),
        Column("state", "State"),
        Column("analysed", "Analysed"),
        Column("device", "Device"),
        Column("interruptions", "Interruptions", "integer"),
        Column("diverged", "Diverged"),
        Column("by_plan", "By the plan"),
        Column("note", "Note"),
    )
    by = {one.seed: f"reserve seed {one.by} took its place" for one in evidence.as_run.drawn}
    reserve = {one.by: f"in the place of seed {one.seed}" for one in evidence.as_run.drawn}
    excluded = {run: f"left out by {found}" for run, found in _excluded(evidence)}
    rows: list[tuple[Value, ...]] = [
        (
            run.run_id,
            run.arm,
            run.model,
            run.seed,
            run.state,
            "yes" if run.seed not in by and analysed(evidence, run) else "no",
            run.device_kind,
            run.interruptions,
            "yes" if run.diverged else "no",
            by.get(run.seed) or excluded.get(run.run_id) or reserve.get(run.seed, ""),
            run.note or ("not needed: the study stopped as planned" if run.seed in unneeded else ""),
        )
        for run in (*evidence.runs, *evidence.as_run.given_up)
    ]
    return Table("runs", "Every run", columns, tuple(rows), collapsed=True)


def _recorded(evidence: Evidence, run: RunFact, axis: Axis) -> Reading | None:
    found = evidence.ledger.readings.get((run.run_id, axis), ())
    return found[0] if found else None


def _readings(evidence: Evidence) -> Table:
    columns, lead = with_model(
        evidence,
        (
            Column("axis", "Axis"),
            Column("budget", "Budget", "compact"),
            Column("read", "Runs read", "integer"),
            Column("cost", "Cost there", "compact"),
            Column("unused", "Unused", "percent", 2),
            Column("crossing", "After the crossing update", "compact"),
            Column("overshoot", "Overshoot", "percent", 2),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    for group in groups(evidence):
        for axis, budget in evidence.study.budget.declared().items():
            at = [
                one for run in group.runs if isinstance(one := reading(evidence, run.run_id, axis), Reading)
            ]
            if not at:
                rows.append((*lead(group), words.axis_unit(axis), budget, 0, *(None,) * 4))
                continue
            cost = sum(one.cost for one in at) / len(at)
            after = sum(budget if one.crossing_cost is None else one.crossing_cost for one in at) / len(at)
            rows.append(
                (
                    *lead(group),
                    words.axis_unit(axis),
                    budget,
                    len(at),
                    cost,
                    1 - cost / budget,
                    after,
                    after / budget - 1,
                )
            )
    return Table(
        "readings",
        "Where the arms were read",
        columns,
        tuple(rows),
        "Means over runs. The policy that is read is the last one whose cost lies within the budget; the "
        "update that would have crossed the budget is not in it, and the cost after that update shows "
        "what a coarser rule would have charged.",
    )


def _overshoot(evidence: Evidence) -> Table:
    columns = (
        Column("run_id", "Run"),
        Column("axis", "Axis"),
        Column("budget", "Budget", "decimal"),
        Column("updates", "Updates", "integer"),
        Column("cost", "Cost", "decimal"),
        Column("crossing_cost", "Cost after the crossing update", "decimal"),
        Column("problem", "Problem"),
    )
    rows: list[tuple[Value, ...]] = []
    for run in evidence.runs:
        for axis, budget in evidence.study.budget.declared().items():
            at, one = reading(evidence, run.run_id, axis), _recorded(evidence, run, axis)
            numbers = (None,) * 3 if one is None else (one.step, one.cost, one.crossing_cost)
            rows.append(
                (run.run_id, words.axis_unit(axis), budget, *numbers, at if isinstance(at, str) else "")
            )
    return Table("readings_by_run", "Every reading", columns, tuple(rows), collapsed=True)


def _grading(evidence: Evidence) -> Table:
    columns, lead = with_model(
        evidence,
        (
            Column("benchmark", "Benchmark"),
            Column("problems", "Problems", "integer"),
            Column("samples", "Samples", "integer"),
            Column("correct", "Correct", "integer"),
            Column("unparseable", "Unparseable", "integer"),
            Column("limited", "Over a grading limit", "integer"),
            Column("truncated", "Cut at the cap", "integer"),
            Column("failed", "Grader failed", "integer"),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    for group in groups(evidence):
        runs = {run.run_id for run in group.runs}
        for name in evidence.study.data.benchmarks:
            cells = [
                cell
                for (run, _, bench), cell in evidence.ledger.cells.items()
                if run in runs and bench == name
            ]
            problems = max((len(cell.problem_ids) for cell in cells), default=0)
            sums = [
                sum(int(getattr(cell, key).sum()) for cell in cells)
                for key in ("samples", "correct", "unparseable", "limited", "truncated", "failed")
            ]
            rows.append((*lead(group), name, problems, *sums))
    return Table(
        "grading",
        "How the evaluation samples were graded",
        columns,
        tuple(rows),
        "All checkpoints. Unparseable, over a limit and cut at the cap count as wrong. A sample whose "
        "grader failed is neither right nor wrong: it blocks its checkpoint until it is graded again.",
        collapsed=True,
    )
