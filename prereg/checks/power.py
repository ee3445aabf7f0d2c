"""Power under the authors' own assumptions: an underpowered hypothesis must be acknowledged in the file."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.hypotheses import Direction, Hypothesis
from prereg.levels import share_of_alpha
from prereg.problems import Problem
from prereg.source import LoadedStudy
from prereg.stopping import GroupSequential
from prereg.study import Study

LEAST_POWER = 0.8


def paired_t_power(
    effect: float, sd: float, seeds: int, alpha: float, direction: Direction, margin: float = 0.0
) -> float:
    """Power of the paired t test by direction, for normal differences.

    `effect`, `sd` (over seeds, of the paired difference) and `margin` share a unit. `margin` is the size of
    the effect at the null, as in docs/statistics.md. The statistic has the noncentral t law with seeds - 1
    degrees of freedom: (Z + shift / sd * sqrt(seeds)) / V, with Z normal and V the estimated over the true
    sd. Its tail is averaged over 20,000 quantiles of V, to about 1e-6: SciPy's own tail is NaN for some large
    effects. Equivalence asks for both tails at once, which the same average gives.
    """
    import numpy as np  # here, so that reading a plan loads neither of the two
    from scipy.special import chdtri, ndtr, stdtrit

    df, scale = seeds - 1, seeds**0.5 / sd
    spread = np.sqrt(chdtri(df, (np.arange(20_000) + 0.5) / 20_000) / df)
    critical = -stdtrit(df, alpha / 2 if direction == "two_sided" else alpha) * spread
    above = (effect - margin) * scale - critical
    below = -(effect + margin) * scale - critical
    if direction == "two_sided":
        return float((ndtr(above) + ndtr(below)).mean())
    if direction == "equivalent":
        lowest, highest = critical - (margin + effect) * scale, (margin - effect) * scale - critical
        return float(np.maximum(0.0, ndtr(highest) - ndtr(lowest)).mean())
    if direction == "non_inferior":
        return float(ndtr((effect + margin) * scale - critical).mean())
    return float(ndtr(above if direction == "greater" else below).mean())


def hypothesis_power(hypothesis: Hypothesis, seeds: int, divisor: float) -> float | None:
    """Power of a hypothesis under its `power` assumptions; None where it states none.

    `divisor` is what its family may divide alpha by: with Holm's method the number of members. It is that
    demand which counts here, so that the power holds whatever the other members give. For a crossed standard
    error it is an upper bound: that adds the spread over problems, of which the plan assumes nothing. For the
    sign-flip test it is one as well, by the t test that it replaces.
    """
    if hypothesis.power is None:
        return None
    return paired_t_power(
        hypothesis.power.effect,
        hypothesis.power.sd,
        seeds,
        hypothesis.alpha / divisor,
        hypothesis.direction,
        hypothesis.bound,
    )


def powered_or_acknowledged(loaded: LoadedStudy) -> Iterator[Problem]:
    """A power below 0.8 is refused unless the hypothesis acknowledges it.

    No formula knows the looks of a group-sequential plan; the lock simulates them.
    """
    study = loaded.study
    seeds = len(set(study.seeds))
    if seeds < 2 or isinstance(study.stopping, GroupSequential):
        return
    for index, hypothesis in enumerate(study.hypotheses):
        share = share_of_alpha(study, hypothesis)
        power = hypothesis_power(hypothesis, seeds, 1 / share) if share > 0 else None
        if (
            hypothesis.power is None
            or power is None
            or power >= LEAST_POWER
            or hypothesis.acknowledge_underpowered
        ):
            continue
        message = (
            f"hypothesis `{hypothesis.id}` has a power of {power:.2f}{_corrected(study, hypothesis, share)} "
            f"with {seeds} seeds for an effect of {hypothesis.power.effect:g} points and an sd of "
            f"{hypothesis.power.sd:g}; {LEAST_POWER} is expected"
        )
        hint = "Plan more seeds, or write `acknowledge_underpowered: true` to run it all the same."
        if hypothesis.power.effect * {"greater": 1, "less": -1}.get(hypothesis.direction, 0) < 0:
            hint = f"The direction is `{hypothesis.direction}`, and the expected effect has the other sign."
        yield loaded.problem(message, "hypotheses", index, "power", hint=hint)


def _corrected(study: Study, hypothesis: Hypothesis, share: float) -> str:
    if share == 1:
        return ""
    if study.families[hypothesis.family or ""].method == "holm":
        return f" at alpha {hypothesis.alpha:g} / {round(1 / share)} (Holm)"
    return f" at alpha {hypothesis.alpha * share:.3g} (its share of the family's)"
