"""A plan in words and numbers, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.plan import Plan

if TYPE_CHECKING:
    from harness.measuring import MeasuredArm


def render(plan: Plan) -> str:
    """A few lines on what will run and what it costs at most."""
    budgets = ", ".join(f"{axis.replace('_', ' ')} {value:,.15g}" for axis, value in plan.budgets.items())
    lines = [
        f"{len(plan.runs)} runs, each until every budget is reached: {budgets}",
        "",
        f"{'arm':<20} {'model':<12} {'runs':>4} {'updates a run':>14} {'training tokens a run':>22}",
    ]
    for arm in plan.arms:
        updates = f"<= {arm.updates:,}" if arm.updates is not None else "open"
        tokens = f"<= {arm.training_tokens:,}" if arm.training_tokens is not None else "open"
        lines.append(f"{arm.arm:<20} {arm.model:<12} {arm.runs:>4} {updates:>14} {tokens:>22}")
    lines += [
        "",
        f"evaluations a run: at most {plan.evaluations_per_run}, "
        f"of {plan.samples_per_evaluation:,} samples each",
        f"evaluation tokens, whole study, every sample at its cap: at most {plan.evaluation_tokens:,} "
        "(not charged)",
    ]
    lines += [f"note: {note}" for note in plan.notes]
    return "\n".join(lines)


def render_measured(arms: Sequence[MeasuredArm], slots: int) -> str:
    """The prediction for each arm, and for the whole study on `slots` runs at a time."""
    lines = [
        f"{'arm':<20} {'model':<12} {'updates a run':>14} {'tokens a run':>14} {'device s a run':>15} {'wall s a run':>13}"
        "  reached last",
    ]
    for arm in arms:
        lines.append(
            f"{arm.arm:<20} {arm.model:<12} {arm.updates:>14,} {arm.generated_tokens:>14,} "
            f"{arm.train_device_seconds:>15,.1f} {arm.wall_seconds:>13,.1f}  {arm.last_axis.replace('_', ' ')}"
        )
    wall = sum(arm.runs * arm.wall_seconds for arm in arms) / slots
    device = sum(arm.runs * arm.train_device_seconds for arm in arms)
    disk = sum(arm.runs * arm.ledger_bytes for arm in arms)
    lines += [
        "",
        f"whole study: about {device:,.0f} charged device-seconds, {wall / 60:,.1f} minutes on {slots} slots, "
        f"{disk / 1e6:,.0f} MB of ledger (weights not counted)",
        "measured here with the start policy; answers that grow longer cost more",
    ]
    return "\n".join(lines)
