"""What the registered test says of a hypothesis: the p of its claim, and the p against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan

from prereg.hypotheses import Hypothesis
from prereg.study import Study
from prereg.testkinds import BinomialScoreboard, SignFlip, WildBootstrap
from reports.comparisons import Comparison
from reports.inference import Tails, p_against, p_of_claim
from reports.missing import WorstCase
from reports.scoreboard import Score, score_of
from reports.signflip import sign_flip_tails
from reports.tails import registered_tails
from reports.wildbootstrap import enumerated, wild_bootstrap_tails


@dataclass(frozen=True, slots=True)
class Decision:
    """The registered test of one hypothesis, before any correction."""

    p: float
    """Of the null that the claim is false; NaN if it could not be computed."""
    against: float
    """Of the null that the claim is true."""
    reasons: tuple[str, ...] = ()
    """Why it is inadmissible."""
    score: Score | None = None
    """Of a scoreboard."""


@dataclass(frozen=True, slots=True)
class SensitivityResult:
    """A test that stands beside the registered one and decides nothing."""

    name: str
    p: float


def decide(study: Study, hypothesis: Hypothesis, comparisons: Mapping[str, Comparison]) -> Decision:
    """The registered test of a hypothesis. `comparisons` has one for each that is no scoreboard."""
    nan = float("nan")
    if isinstance(hypothesis.test, BinomialScoreboard):
        score = score_of(study, hypothesis, comparisons)
        return (
            Decision(score.p, score.p_against, score=score)
            if isinstance(score, Score)
            else Decision(nan, nan, score)
        )
    comparison = comparisons[hypothesis.id]
    if comparison.reasons or comparison.effect is None:
        return Decision(nan, nan, comparison.reasons)
    tails = registered_tails(hypothesis, comparison.effect, comparison.per_seed)
    return Decision(
        p_of_claim(tails, hypothesis.direction, hypothesis.bound),
        p_against(tails, hypothesis.direction, hypothesis.bound),
    )


def sensitivity(
    study: Study, hypothesis: Hypothesis, comparison: Comparison
) -> tuple[SensitivityResult, ...]:
    """The p of the claim by each test of the hypothesis's `sensitivity` list, over seeds; before them that of
    the registered test with the missing pairs set against the claim, where the plan goes without them."""
    if comparison.effect is None or isnan(comparison.effect.se):
        return ()
    found = [] if comparison.worst is None else [_with_missing(comparison.worst)]
    for test in hypothesis.sensitivity:
        tails, name = _beside(study, hypothesis, test, comparison.per_seed)
        found.append(SensitivityResult(name, p_of_claim(tails, hypothesis.direction, hypothesis.bound)))
    return tuple(found)


def _with_missing(worst: WorstCase) -> SensitivityResult:
    pairs = "the missing pair" if worst.pairs == 1 else f"each of the {worst.pairs} missing pairs"
    return SensitivityResult(
        f"the registered test with {pairs} as the worst of the others (seed {worst.seed}: "
        f"{worst.difference:+.1f} points)",
        worst.p,
    )


def _beside(
    study: Study, hypothesis: Hypothesis, test: SignFlip | WildBootstrap, per_seed: tuple[float, ...]
) -> tuple[Tails, str]:
    seeds = len(per_seed)
    if isinstance(test, SignFlip):
        return sign_flip_tails(per_seed), f"exact sign flips over seeds, all {2**seeds:,}"
    taken = f"all {6**seeds:,}" if enumerated(seeds) else f"{test.replicates:,} draws"
    tails = wild_bootstrap_tails(per_seed, test.replicates, study.id, hypothesis.id)
    return tails, f"wild bootstrap over seeds with Webb's weights, {taken}"
