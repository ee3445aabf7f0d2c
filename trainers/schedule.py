"""The learning rate as a function of how much of one axis's budget is spent."""

from __future__ import annotations

import math

from prereg.trainer import Schedule


def rate_factor(schedule: Schedule, fraction: float) -> float:
    """Factor of the learning rate when `fraction` (0..1) of the axis's budget is spent.

    Linear warm-up over the first `warmup` of the budget; then constant, or linear or half-cosine decay to
    `final` at the end. Beyond the budget the factor stays at its last value.
    """
    fraction = min(max(fraction, 0.0), 1.0)
    if fraction < schedule.warmup:
        return fraction / schedule.warmup
    if schedule.kind == "constant":
        return 1.0
    remaining = 1.0 - schedule.warmup
    progress = (fraction - schedule.warmup) / remaining if remaining > 0 else 1.0
    shape = 1.0 - progress if schedule.kind == "linear" else 0.5 * (1.0 + math.cos(math.pi * progress))
    return schedule.final + (1.0 - schedule.final) * shape
