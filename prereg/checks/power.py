"""Power under the authors' own assumptions: an underpowered hypothesis must be acknowledged in the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from prereg.hypotheses import Hypothesis
from prereg.problems import Problem
from prereg.source import LoadedStudy

LEAST_POWER = 0.8


def paired_t_power(
    effect: float, sd: float, seeds: int, alpha: float, direction: Literal["greater", "less", "two_sided"]
) -> float:
    """Power of the paired t test of a mean difference of 0, for normal differences.

    `effect` and `sd` (over seeds, of the paired difference) share a unit. The statistic has the noncentral t
    law with seeds - 1 degrees of freedom: (Z + effect / sd * sqrt(seeds)) / V, with Z normal and V the
    estimated over the true sd. Its tail is averaged over 20,000 quantiles of V, to about 1e-6: SciPy's own
    tail is NaN for some large effects.
    """
    import numpy as np  # here, so that reading a plan loads neither of the two
    from scipy.special import chdtri, ndtr, stdtrit

    df, shift = seeds - 1, effect / sd * seeds**0.5
    spread = np.sqrt(chdtri(df, (np.arange(20_000) + 0.5) / 20_000) / df)
    if direction == "two_sided":
        critical = -stdtrit(df, alpha / 2)
        return float((ndtr(shift - critical * spread) + ndtr(-shift - critical * spread)).mean())
    critical = -stdtrit(df, alpha)
    return float(ndtr((shift if direction == "greater" else -shift) - critical * spread).mean())


def hypothesis_power(hypothesis: Hypothesis, seeds: int, members: int) -> float | None:
    """Power of a hypothesis under its `power` assumptions; None where it states none.

    `members` is the size of its family. Holm's method may demand alpha / members, and it is that demand which
    counts here, so that the power holds whatever the other members give. For the crossed test it is an upper
    bound: that test adds the spread over problems, of which the plan assumes nothing.
    """
    if hypothesis.power is None:
        return None
    effect = hypothesis.power.effect
    if hypothesis.decision == "exceeds_smallest_effect":
        effect -= (
            hypothesis.smallest_effect if hypothesis.direction == "greater" else -hypothesis.smallest_effect
        )
    return paired_t_power(
        effect, hypothesis.power.sd, seeds, hypothesis.alpha / members, hypothesis.direction
    )


def powered_or_acknowledged(loaded: LoadedStudy) -> Iterator[Problem]:
    """A power below 0.8 is refused unless the hypothesis acknowledges it."""
    study = loaded.study
    seeds = len(set(study.seeds))
    if seeds < 2:
        return
    for index, hypothesis in enumerate(study.hypotheses):
        members = sum(h.family == hypothesis.family for h in study.hypotheses) if hypothesis.family else 1
        power = hypothesis_power(hypothesis, seeds, members)
        if (
            hypothesis.power is None
            or power is None
            or power >= LEAST_POWER
            or hypothesis.acknowledge_underpowered
        ):
            continue
        corrected = f" at alpha {hypothesis.alpha:g} / {members} (Holm)" if members > 1 else ""
        message = (
            f"hypothesis `{hypothesis.id}` has a power of {power:.2f}{corrected} with {seeds} seeds for an "
            f"effect of {hypothesis.power.effect:g} points and an sd of {hypothesis.power.sd:g}; "
            f"{LEAST_POWER} is expected"
        )
        hint = "Plan more seeds, or write `acknowledge_underpowered: true` to run it all the same."
        if (hypothesis.power.effect < 0) == (
            hypothesis.direction == "greater"
        ) and hypothesis.direction != "two_sided":
            hint = f"The direction is `{hypothesis.direction}`, and the expected effect has the other sign."
        yield loaded.problem(message, "hypotheses", index, "power", hint=hint)
