"""The entry to this package: inputs to content, and content to files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prereg.reserve import with_reserve
from reports import words
from reports.content import ReportContent, Section
from reports.details import read_details
from reports.forecasts import Forecast, read_forecasts
from reports.hostile import cleaned
from reports.inputs import LockFact, ReportInputs
from reports.ledger import read_ledger
from reports.looks import judge_looks, look_at
from reports.planned import as_run
from reports.remeasured import read_again
from reports.scores import Evidence, in_order
from reports.sections import (
    accuracy,
    along,
    caveats,
    controlarms,
    costs,
    design,
    deviations,
    flow,
    gradient,
    grading,
    length,
    lock,
    looks,
    progress,
    ranking,
    regression,
    selection,
    sideeffects,
    strata,
    verdicts,
)
from reports.sideeffects import Checked

EXPLORATORY = "Exploratory: no verdict"
"""What stands beside the heading of everything that no hypothesis registers."""


@dataclass(frozen=True, slots=True)
class ReportPaths:
    """Where a report was written."""

    html: Path
    pdf: Path
    tables: tuple[Path, ...]
    """CSV and JSON of every table, and one JSON of the verdicts."""


def build_report(inputs: ReportInputs) -> ReportContent:
    """The content of the report: a pure function of its inputs, whatever the order of the ledger's rows.

    Raises Refused if the ledger lacks a view or a column, or contradicts itself.
    """
    study = with_reserve(inputs.study, inputs.drawn)
    ledger = read_ledger(inputs.connection)
    by_plan = as_run(inputs.study, inputs.drawn, inputs.runs, ledger)
    evidence = Evidence(study, in_order(study, inputs.runs), ledger, by_plan)
    looked = look_at(evidence)
    judged = judge_looks(study, inputs.lock, inputs.marks, [one.comparisons for one in looked])
    comparisons, stop = judged.comparisons, looks.stop_of(study, judged)
    checked = looked[stop.look - 1 if stop else -1].checked
    details = read_details(inputs.connection, evidence)
    forecasts = read_forecasts(inputs.connection)
    by_difficulty = strata.build(evidence, details, comparisons)
    along_budget = along.build(evidence, comparisons)
    adjusted = regression.table(inputs.connection, evidence)
    results = tuple(
        verdicts.result(
            evidence, hypothesis, comparisons[hypothesis.id], verdict, judged.standings[hypothesis.id]
        )
        for hypothesis, verdict in zip(study.hypotheses, judged.verdicts, strict=True)
    )
    forest = tuple(
        row
        for hypothesis, one in zip(study.hypotheses, results, strict=True)
        if (row := verdicts.forest_row(hypothesis, one)) is not None
    )
    content = ReportContent(
        id=study.id,
        title=study.title,
        authors=study.authors,
        question=study.description or "",
        kind=study.kind,
        marks=_marks(inputs),
        generated_at=inputs.generated_at,
        lock_line=_lock_line(evidence, inputs.lock, stop),
        summary=verdicts.summary(results),
        order=" ".join(ranking.words_of_order(evidence, model) for model in study.models),
        hypotheses=results,
        forest=forest,
        flags=_flags(evidence, inputs, checked, stop, forecasts),
        sections=(
            deviations.build(inputs.lock, inputs.events),
            *_optional(looks.build(evidence, judged)),
            exploratory(ranking.build(evidence)),
            exploratory(progress.build(evidence)),
            *([exploratory(along_budget)] if along_budget is not None else []),
            exploratory(accuracy.build(evidence)),
            exploratory(length.build(evidence, details, comparisons, adjusted)),
            *([exploratory(by_difficulty)] if by_difficulty is not None else []),
            exploratory(controlarms.build(evidence, read_again(inputs.connection))),
            sideeffects.build(evidence, checked),
            costs.build(evidence),
            *_optional(selection.build(evidence, forecasts)),
            *_optional(gradient.build(evidence, inputs.gradient_tests)),
            flow.build(evidence, stop.unneeded if stop else ()),
            *([twice] if (twice := grading.build(inputs.again)) is not None else []),
            design.build(evidence),
            lock.build(inputs.lock, inputs.events),
            design.methods(evidence),
            lock.reproduce(inputs.lock, evidence.runs),
        ),
        data=(accuracy.evaluations_table(evidence),),
    )
    return cleaned(content)


def exploratory(section: Section) -> Section:
    """A section whose results the lock does not name, marked so that nobody takes one for a verdict."""
    return replace(section, label=EXPLORATORY)


def write_report(content: ReportContent, folder: Path) -> ReportPaths:
    """Write `report.html`, `report.pdf` and `tables/` under `folder`, each whole or not at all."""
    from reports.export import write_tables, write_whole
    from reports.html import render_html
    from reports.pages import draw
    from reports.pdf import render_pdf

    html, pdf = folder / "report.html", folder / "report.pdf"
    charts = draw(content)
    page, document = render_html(content, charts).encode(), render_pdf(content, charts)
    folder.mkdir(parents=True, exist_ok=True)
    tables = write_tables(content, folder / "tables")
    write_whole(pdf, document)
    write_whole(html, page)
    return ReportPaths(html, pdf, tables)


def _optional(section: Section | None) -> tuple[Section, ...]:
    return () if section is None else (section,)


def _marks(inputs: ReportInputs) -> tuple[str, ...]:
    marks = list(inputs.marks)
    if inputs.study.kind == "pilot":
        marks.append("PILOT")
    if inputs.study.budget.clock == "counted":
        marks.append("REHEARSAL: seconds are a fixed price a token, not measured")
    return tuple(dict.fromkeys(marks))


def _lock_line(evidence: Evidence, lock: LockFact, stop: looks.Stop | None) -> str:
    if lock.digest is None:
        head = "Not locked."
    else:
        when = f" on {lock.locked_at}" if lock.locked_at else ""
        differs = (
            f"{words.plural(len(lock.differences), 'difference')} from the lock."
            if lock.differences
            else "Nothing differs from the lock."
        )
        head = f"Locked{when} as {lock.digest[:12]}. {differs}"
    count = sum(flow.analysed(evidence, run) for run in evidence.runs)
    planned = len(evidence.study.arms) * len(evidence.study.models) * len(evidence.study.seeds)
    stopped = f" Stopped at look {stop.look} of {stop.looks}, as planned." if stop else ""
    return (
        f"{head} {count} of {words.plural(planned, 'planned run')} analysed: {design.summary_line(evidence)}."
        f"{stopped}"
    )


def _flags(
    evidence: Evidence, inputs: ReportInputs, checked: Sequence[Checked], stop: looks.Stop | None,
    forecasts: Sequence[Forecast],
) -> tuple[str, ...]:  # fmt: skip
    """What a reader must know before believing any of it, the gravest first."""
    study = evidence.study
    found = [f"Differs from the lock: {difference}" for difference in inputs.lock.differences]
    found.extend(deviations.amendment_line(one) for one in inputs.lock.amendments)
    if behind := inputs.lock.left_behind:
        found.append(
            f"{words.plural(len(behind), 'run')} of the plan of before are on record and are no longer "
            f"planned: {words.joined(behind[:6])}{' and more' if len(behind) > 6 else ''}."
        )
    found.extend(f"A receipt of the lock does not hold: {fault}" for fault in inputs.lock.receipt_faults)
    needed = study.seeds[: stop.seeds] if stop else study.seeds
    missing = len(study.arms) * len(study.models) * len(needed) - sum(
        flow.analysed(evidence, run) for run in evidence.runs if run.seed in needed
    )
    if missing:
        found.append(
            f"{words.plural(missing, 'planned run')} could not be analysed at every budget; see the run flow."
        )
    found.extend(flow.by_plan(evidence))
    if stop:
        found.append(stop.line)
    if diverged := tuple(run.run_id for run in evidence.runs if run.diverged):
        found.append(f"Diverged: {', '.join(diverged)}. Each hypothesis says what becomes of them.")
    found.extend(flow.read_at_the_start(evidence))
    found.extend(caveats.lines(study))
    found.extend(inputs.lock.overlaps)
    if extra := flow.unplanned(evidence):
        found.append(
            f"The ledger holds {words.plural(len(extra), 'run')} that the study does not plan; not analysed."
        )
    found.extend(sideeffects.flags(evidence, checked))
    found.extend(length.flags(evidence))
    found.extend(selection.flags(evidence, forecasts))
    lines = (deviations.looks_line(inputs.events), deviations.trials_line(inputs.events))
    found.extend(line for line in lines if line)
    return tuple(found)
