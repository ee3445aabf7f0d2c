"""What the runs cost, by purpose and by phase, and what interruptions threw away."""

from __future__ import annotations

from reports.content import Column, Section, Table, Value
from reports.ledger import Cost, total
from reports.scores import Evidence
from reports.sections import efficiency
from reports.sections.common import Group, groups, with_model

UNCHARGED_PHASES = ("evaluate", "checkpoint")
"""Phases that are reported and charged to no budget (docs/ledger.md)."""

_PHASES = (
    "generate",
    "grade",
    "score",
    "forward",
    "backward",
    "optimizer",
    "sync",
    "idle",
    *UNCHARGED_PHASES,
)
_PURPOSES = ("rollout", "continuation", "screening", "discarded", "evaluation")


def build(evidence: Evidence) -> Section:
    """The section."""
    return Section(
        "costs",
        "What it cost",
        (
            _by_purpose(evidence),
            _by_phase(evidence),
            efficiency.updates_at_budgets(evidence),
            efficiency.cost_of_a_point(evidence),
            efficiency.crossings(evidence),
            _lost(evidence),
        ),
    )


def _of(evidence: Evidence, group: Group, *, phase: str | None = None, purpose: str | None = None) -> Cost:
    runs = {run.run_id for run in group.runs}
    return total(
        cost
        for (run, in_phase, for_purpose), cost in sorted(
            evidence.ledger.costs.items(), key=lambda item: item[0]
        )
        if run in runs and phase in (None, in_phase) and purpose in (None, for_purpose)
    )


def _present(evidence: Evidence, place: int, known: tuple[str, ...]) -> list[str]:
    """Phases or purposes that the ledger has, the known ones in their order, then any other by name."""
    found = {key[place] for key in evidence.ledger.costs} - {""}
    return [name for name in known if name in found] + sorted(found - set(known))


def _by_purpose(evidence: Evidence) -> Table:
    columns, lead = with_model(
        evidence,
        (
            Column("purpose", "Tokens for"),
            Column("charged", "Charged"),
            Column("tokens", "Generated tokens", "integer"),
            Column("tokens_per_run", "A run", "integer"),
            Column("share", "Of the charged", "percent"),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    for group in groups(evidence):
        found = {
            p: _of(evidence, group, purpose=p).generated_tokens for p in _present(evidence, 2, _PURPOSES)
        }
        charged = sum(tokens for purpose, tokens in found.items() if purpose != "evaluation")
        for purpose, tokens in found.items():
            counts = purpose != "evaluation"
            share = tokens / charged if counts and charged else None
            rows.append(
                (
                    *lead(group),
                    purpose,
                    "yes" if counts else "no",
                    tokens,
                    tokens / max(1, _with_costs(evidence, group)),
                    share,
                )
            )
    return Table(
        "cost_by_purpose",
        "Tokens by purpose",
        columns,
        tuple(rows),
        "Sums over the arm's runs; prompt tokens are not generated tokens and not in here.",
    )


def _by_phase(evidence: Evidence) -> Table:
    energy = any(cost.energy_joules is not None for cost in evidence.ledger.costs.values())
    columns, lead = with_model(
        evidence,
        (
            Column("phase", "Phase"),
            Column("charged", "Charged"),
            Column("device_seconds", "Device-seconds", "decimal"),
            Column("share", "Of all", "percent"),
            Column("wall_seconds", "Wall seconds", "decimal"),
            Column("generated_tokens", "Generated tokens", "integer"),
            Column("prompt_tokens", "Prompt tokens", "integer"),
            Column("flops", "FLOPs", "compact"),
            *([Column("energy_joules", "Joules", "integer")] if energy else []),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    for group in groups(evidence):
        phases = {phase: _of(evidence, group, phase=phase) for phase in _present(evidence, 1, _PHASES)}
        every = total(phases.values())
        charged = total(cost for phase, cost in phases.items() if phase not in UNCHARGED_PHASES)
        lines = [
            (phase, "no" if phase in UNCHARGED_PHASES else "yes", cost) for phase, cost in phases.items()
        ]
        for name, mark, cost in [*lines, ("all charged", "yes", charged)]:
            share = cost.device_seconds / every.device_seconds if every.device_seconds else None
            rows.append(
                (
                    *lead(group),
                    name,
                    mark,
                    cost.device_seconds,
                    share,
                    cost.wall_seconds,
                    cost.generated_tokens,
                    cost.prompt_tokens,
                    cost.flops,
                    *([cost.energy_joules] if energy else []),
                )
            )
    return Table(
        "cost_by_phase",
        "Time, tokens and operations by phase",
        columns,
        tuple(rows),
        "Sums over the arm's runs. Device-seconds are devices held times wall time on a GPU, and process "
        "CPU time on a CPU. FLOPs are computed from the model and the counted tokens, not measured.",
    )


def _lost(evidence: Evidence) -> Table:
    columns, lead = with_model(
        evidence,
        (
            Column("interruptions", "Interruptions", "integer"),
            Column("steps", "Updates lost", "integer"),
            Column("tokens", "Tokens lost", "integer"),
            Column("device_seconds", "Device-seconds lost", "decimal"),
            Column("wall_seconds", "Wall seconds lost", "decimal"),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    for group in groups(evidence):
        found = [evidence.ledger.lost[run.run_id] for run in group.runs if run.run_id in evidence.ledger.lost]
        seconds = total(
            Cost(device_seconds=one.device_seconds, wall_seconds=one.wall_seconds) for one in found
        )
        rows.append(
            (
                *lead(group),
                sum(run.interruptions for run in group.runs),
                sum(one.steps for one in found),
                sum(one.generated_tokens for one in found),
                seconds.device_seconds,
                seconds.wall_seconds,
            )
        )
    return Table(
        "lost_work",
        "Work lost to interruptions",
        columns,
        tuple(rows),
        "Done after the last commit before a run was cut off, and done again; charged to no budget.",
    )


def _with_costs(evidence: Evidence, group: Group) -> int:
    return sum(any(key[0] == run.run_id for key in evidence.ledger.costs) for run in group.runs)
