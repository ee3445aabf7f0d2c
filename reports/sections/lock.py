"""What the lock proves, what differs from it, what happened around the runs, and how to do it again."""

from __future__ import annotations

from collections.abc import Sequence

from reports.content import Block, Column, Listing, Prose, Section, Table
from reports.inputs import Event, LockFact, RunFact, Setup
from reports.sections.deviations import looks


def build(lock: LockFact, events: tuple[Event, ...]) -> Section:
    """The section on the lock and the event log."""
    blocks: list[Block] = []
    if lock.digest is None:
        blocks.append(
            Prose("Nothing was locked before the runs. No verdict in this report is a registered one.")
        )
    else:
        at = f", written {lock.locked_at}" if lock.locked_at else ""
        blocks.append(Prose(f"The lock{at}, has the SHA-256"))
        blocks.append(Listing((lock.digest,), mono=True))
    if lock.proves:
        blocks += [Prose("What it proves, by itself:"), Listing(lock.proves)]
    if lock.receipts:
        blocks += [Prose("What its receipts prove, each verified for this report:"), Listing(lock.receipts)]
    if lock.receipt_faults:
        blocks += [Prose("Receipts that do not hold:"), Listing(lock.receipt_faults)]
    if lock.receipts_open:
        blocks += [Prose("Receipts that are open:"), Listing(lock.receipts_open)]
    if lock.owed:
        blocks += [Prose("Sources whose content could not be had when it was locked:"), Listing(lock.owed)]
    if lock.differences:
        blocks += [Prose("What differs from it now:"), Listing(lock.differences)]
    elif lock.digest is not None:
        blocks.append(
            Prose("Everything that it covers was derived again for this report, and nothing differs.")
        )
    if lock.changed:
        blocks += [Prose("What changed without breaking it:"), Listing(lock.changed)]
    blocks.append(_events(events))
    if lock.event_head:
        blocks += [Prose("Head of the event log's hash chain:"), Listing((lock.event_head,), mono=True)]
    return Section("lock", "The lock, and what it proves", tuple(blocks))


def reproduce(lock: LockFact, runs: Sequence[RunFact]) -> Section:
    """The section on the environment, what each run was made with, and the commands."""
    environment = Table(
        "environment",
        "Environment of the analysis",
        (Column("name", "Name"), Column("version", "Version")),
        tuple(sorted(lock.environment.items())),
        collapsed=True,
    )
    return Section(
        "reproduce",
        "How to reproduce this",
        (
            Prose(
                "In the study's folder. The first command derives every digest of the lock again, the "
                "second makes the runs or finishes them, the third makes this report from the ledger: the "
                "same ledger gives the same bytes, whatever the number of threads."
            ),
            Listing(("harness prereg verify", "harness run study.yaml", "harness report"), mono=True),
            _setups(runs),
            environment,
        ),
    )


def _setups(runs: Sequence[RunFact]) -> Table:
    """A row for each way in which runs were made, and whether making them again gives the same bits."""
    made: dict[Setup, list[str]] = {}
    for run in runs:
        if run.setup is not None:
            made.setdefault(run.setup, []).append(run.run_id)
    rows = tuple(
        (
            "all runs" if len(names) == len(runs) else ", ".join(names),
            one.engine,
            one.device,
            one.threads,
            "asked for" if one.deterministic else "not asked for",
            _repeats(one),
            ", ".join(f"{name} {version}" for name, version in one.packages),
        )
        for one, names in made.items()
    )
    return Table(
        "setups",
        "What the runs were made with",
        (
            Column("runs", "Runs"),
            Column("engine", "Engine"),
            Column("device", "Device"),
            Column("threads", "Threads", "integer"),
            Column("deterministic", "Deterministic kernels"),
            Column("repeats", "Made again with the same versions"),
            Column("packages", "Packages"),
        ),
        rows,
        collapsed=True,
    )


def _repeats(setup: Setup) -> str:
    """What docs/engines.md says of this kind of run."""
    if setup.engine == "transformers" and setup.device == "cpu":
        return "equal bit for bit on the same kind of CPU, but for measured seconds"
    if setup.engine == "transformers" and setup.deterministic:
        return "meant to be equal bit for bit on the same kind of GPU"
    if setup.engine == "vllm" and setup.device == "cpu":
        return "equal in our tests; the engine promises nothing"
    return "equal in law, not in bits: batches and rounding differ from run to run"


def _events(events: tuple[Event, ...]) -> Table:
    count = len(looks(events))
    note = f"Looks at results before all runs were complete: {count}." if events else "No event was recorded."
    return Table(
        "events",
        "What happened",
        (Column("at", "When"), Column("kind", "Event"), Column("summary", "What")),
        tuple((event.at, event.kind, event.summary) for event in events),
        note,
        collapsed=len(events) > 12,
    )
