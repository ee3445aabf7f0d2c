"""A plan in words and numbers, for the terminal."""

from __future__ import annotations

from harness.plan import Plan


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
