"""A plan in words and numbers, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.plan import Plan

if TYPE_CHECKING:
    from harness.forecast import ArmForecast
    from harness.measuring import MeasuredArm


def render(plan: Plan) -> str:
    """A few lines on what will run and what it costs at most."""
    lines = [f"{len(plan.runs)} runs; each goes on until every budget is reached:"]
    lines += [f"  {axis.replace('_', ' '):<20} {value:>16,.15g}" for axis, value in plan.budgets.items()]
    lines += ["", "training tokens of a run:"]
    lines += [f"  {arm.arm:<20} {_bounds(plan, arm.training_tokens)}" for arm in plan.arms]
    lines += [
        "",
        *_evaluations(plan),
    ]
    lines += [f"note: {note}" for note in plan.notes]
    return "\n".join(lines)


def _evaluations(plan: Plan) -> tuple[str, ...]:
    """How often a run is evaluated and what that takes, as far as the budgets bound it."""
    samples = f"{plan.samples_per_evaluation:,} samples"
    if plan.evaluations_per_run is None or plan.evaluation_tokens is None:
        return (
            f"evaluations of a run: the start, {len(plan.budgets)} budgets, and the grid until the last",
            f"of them, which has no bound; each of {samples} and, not charged, of at most",
            f"{plan.tokens_per_evaluation:,} tokens, if every sample runs to its cap",
        )
    return (
        f"evaluations of a run: at most {plan.evaluations_per_run} of {samples}; tokens of all",
        f"evaluations, not charged: at most {plan.evaluation_tokens:,}, if every sample runs to its cap",
    )


def _bounds(plan: Plan, most: int | None) -> str:
    """Training tokens of a run, as far as the budgets bound them."""
    least = plan.budgets.get("generated_tokens")
    parts = [f"at least {least:,.0f}"] if least is not None else []
    parts += [f"at most {most:,}"] if most is not None else []
    return " and ".join(parts) or "not bounded by the budgets"


def render_measured(arms: Sequence[MeasuredArm], slots: int) -> str:
    """The prediction for each arm, and for the whole study on `slots` runs at a time."""
    headings = ("arm", "model", "updates", "tokens", "device s", "evaluations", "wall s", "reached last")
    rows = [
        (
            arm.arm,
            arm.model,
            f"{arm.updates:,}",
            f"{arm.generated_tokens:,}",
            f"{arm.train_device_seconds:,.1f}",
            f"{arm.evaluations:,}",
            f"{arm.wall_seconds:,.1f}",
            arm.last_axis.replace("_", " "),
        )
        for arm in arms
    ]
    lines = ["predicted for one run, from a few updates made here and thrown away:"]
    lines += _aligned((headings, *rows), left=(0, 1, 7))
    wall = sum(arm.runs * arm.wall_seconds for arm in arms) / slots
    device = sum(arm.runs * arm.train_device_seconds for arm in arms)
    disk = sum(arm.runs * arm.ledger_bytes for arm in arms)
    lines += [
        "",
        f"the whole study: about {device:,.0f} charged device-seconds, {wall / 60:,.1f} minutes on {slots} "
        f"slots, at most {disk / 1e6:,.0f} MB of ledger (weights not counted)",
        "the start policy was measured; if answers grow longer, so do the costs",
    ]
    return "\n".join(lines)


def render_forecast(arms: Sequence[ArmForecast], device: str, assumed: Sequence[str]) -> str:
    """What one run of each arm, and the whole study, would cost on a device that is not here."""
    headings = (
        "arm",
        "model",
        "updates",
        "tokens",
        "train h",
        "evaluations",
        "evaluate h",
        "GPU-hours a run",
    )
    rows = [
        (
            arm.arm, arm.model, f"{arm.updates:,}", f"{arm.generated_tokens:,}", f"{arm.train_hours:,.1f}",
            f"{arm.evaluations:,}", f"{arm.evaluation_hours:,.1f}", f"{arm.hours:,.1f}",
        )
        for arm in arms
    ]  # fmt: skip
    runs = sum(arm.runs for arm in arms)
    hours = sum(arm.runs * arm.hours for arm in arms)
    tokens = sum(arm.runs * arm.generated_tokens for arm in arms)
    disk = sum(arm.runs * arm.ledger_bytes for arm in arms)
    return "\n".join(
        [
            f"computed for one {device}, one run at a time:",
            *_aligned((headings, *rows), left=(0, 1)),
            "",
            f"the whole study: {runs} runs, {tokens / 1e9:,.2f} billion generated tokens, about {hours:,.0f} "
            f"GPU-hours, at most {disk / 1e9:,.1f} GB of ledger (weights not counted)",
            "assumed, and not measured:",
            *(f"  {line}" for line in assumed),
        ]
    )


def _aligned(rows: Sequence[Sequence[str]], left: Sequence[int]) -> list[str]:
    """Rows of cells in columns, those of `left` to the left and the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.ljust(width) if i in left else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines
