"""What was done otherwise than planned, and what was seen when: right after the hypotheses."""

from __future__ import annotations

from prereg.study import Study
from reports import words
from reports.content import Block, Column, Listing, Prose, Section, Table
from reports.inputs import AmendmentFact, Event, LockFact

LOOK = "look"
"""Kind of the event that records a look at results before all runs were complete."""
TRIAL = "trial"
"""Kind of the event that records exploratory runs beside the lock."""


def build(lock: LockFact, events: tuple[Event, ...]) -> Section:
    """The section."""
    blocks: list[Block] = []
    if lock.differences:
        blocks += [Prose("What differs from the lock:"), Listing(lock.differences)]
    elif lock.digest is not None:
        amended = " as it was amended" if lock.amendments else ""
        blocks.append(Prose(f"Nothing differs from the lock{amended}."))
    else:
        blocks.append(Prose("There is no plan to deviate from: nothing was locked before the runs."))
    for one in lock.amendments:
        blocks += [Prose(_amendment(one)), Listing(one.changes)]
        if one.withdrawn:
            said = tuple(f"{gone.id}: {gone.statement}" for gone in one.withdrawn)
            blocks += [Prose(f"{withdrawn_line(one)} They said:"), Listing(said)]
    seen, planned = looks(events), planned_looks(events)
    if planned:
        lines = tuple(
            f"{event.at}: look {event.planned_look} of the plan, with {_complete(event)} complete"
            for event in planned
        )
        blocks += [Prose("Looks that the plan declares, and for which its tests allow:"), Listing(lines)]
    other = " other" if planned else ""
    blocks.append(
        _looks(seen)
        if seen
        else Prose(f"No{other} look at results before all runs were complete is on record.")
    )
    if tried := tuple(f"{event.at}: {event.summary}" for event in events if event.kind == TRIAL):
        blocks += [
            Prose(
                "Exploratory runs beside the lock, begun before its own were complete; they could be read:"
            ),
            Listing(tried),
        ]
    if failures := tuple(f"{event.at}: {event.summary}" for event in events if event.kind == "run_failed"):
        blocks += [Prose("Attempts at runs that failed:"), Listing(failures)]
    return Section("deviations", "Deviations and looks", tuple(blocks))


def looks(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """The looks at results before all runs were complete that no plan declared, in their order."""
    return tuple(event for event in events if event.kind == LOOK and event.planned_look is None)


def planned_looks(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """The looks that were made as the plan declares them, in their order."""
    return tuple(event for event in events if event.kind == LOOK and event.planned_look is not None)


def looks_line(events: tuple[Event, ...]) -> str:
    """For the first page: how often results were looked at, when, and how many runs were complete then."""
    seen = looks(events)
    if not seen:
        return ""
    times = tuple(f"{event.at} with {_complete(event)}" for event in seen[:5])
    more = f", and {words.plural(len(seen) - 5, 'further time')}" if len(seen) > 5 else ""
    return (
        f"Results were looked at {words.plural(len(seen), 'time')} before all runs were complete: "
        f"{words.joined(times)}{more}."
    )


def trials_line(events: tuple[Event, ...]) -> str:
    """For the first page: exploratory runs that were made beside the lock, before its own were complete."""
    tried = tuple(f"{event.at}: {event.summary}" for event in events if event.kind == TRIAL)
    if not tried:
        return ""
    more = f"; and {words.plural(len(tried) - 3, 'further time')}" if len(tried) > 3 else ""
    return f"Exploratory runs were made beside the lock. {'; '.join(tried[:3])}{more}."


def amendment_line(one: AmendmentFact) -> str:
    """For the first page: what was changed, when, why, what was known, and what follows."""
    names = tuple(change.split(":")[0] for change in one.changes)
    fields = words.joined(names if len(names) <= 4 else (*names[:3], f"{len(names) - 3} further fields"))
    line = f"The plan was amended on {one.at} ({fields}), with {one.known}; reason given: {one.reason}"
    line += "" if line.endswith(".") else "."
    if one.affected:
        line += f" Verdicts on {words.joined(one.affected)} are DEVIATED by it."
    elif one.after_runs:
        line += " No hypothesis is touched by it."
    if one.runs_set_aside:
        line += " The runs of before were made otherwise; they are kept apart and were made anew."
    return line


def withdrawn_line(one: AmendmentFact) -> str:
    """For the first page: hypotheses that an amendment removed after runs had started, and when."""
    names = words.joined(tuple(gone.id for gone in one.withdrawn))
    noun = "hypothesis" if one.registered == 1 else "hypotheses"
    return (
        f"Withdrawn on {one.at}, {_when_runs(one)}: {names} ({len(one.withdrawn)} of the "
        f"{one.registered} {noun} registered until then). What came of that could be known, and is not in "
        "this report."
    )


def withdrawn_counts(study: Study, lock: LockFact) -> tuple[tuple[int, str], ...]:
    """How many hypotheses each amendment withdrew that the plan still lacks, and when, in words."""
    present = {one.id for one in study.hypotheses}
    found: list[tuple[int, str]] = []
    for amendment in reversed(lock.amendments):
        gone = {one.id for one in amendment.withdrawn} - present
        present |= gone
        if gone:
            started = amendment.runs[0]
            after = words.plural(started, "run") if started else "exploratory runs"
            found.append((len(gone), f"withdrawn after {after}"))
    return tuple(reversed(found))


def _when_runs(one: AmendmentFact) -> str:
    """`when 8 runs were finished`, with those that had only started."""
    started, finished = one.runs
    if not started:
        return "after exploratory runs"
    verb = "was" if finished == 1 else "were"
    more = f" and {started - finished} more had started" if started > finished else ""
    return f"when {words.plural(finished, 'run')} {verb} finished{more}"


def _amendment(one: AmendmentFact) -> str:
    return f"Amendment {one.number}. {amendment_line(one)} Field by field:"


def _complete(event: Event) -> str:
    return "an unknown number of runs" if event.runs is None else f"{event.runs[0]} of {event.runs[1]} runs"


def _looks(seen: tuple[Event, ...]) -> Table:
    return Table(
        "looks",
        "Looks at results before all runs were complete",
        (
            Column("at", "When"),
            Column("finished", "Runs complete", "integer"),
            Column("planned", "Runs planned", "integer"),
            Column("summary", "What"),
        ),
        tuple(
            (
                event.at,
                event.runs[0] if event.runs else None,
                event.runs[1] if event.runs else None,
                event.summary,
            )
            for event in seen
        ),
        "A look is allowed. The tests do not correct for it, and whoever looked could stop, or change what "
        "came after; so each is on record. Reading the ledger by other means leaves no trace.",
    )
