"""What the test would say, had the missing pairs been like the worst of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prereg.hypotheses import Hypothesis
from reports.inference import p_of_claim
from reports.intervals import Interval, seed_means
from reports.tails import registered_tails

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The registered test with the missing pairs set against the claim."""

    pairs: int
    """Pairs that are missing."""
    seed: int
    """The seed whose differences stand in for them."""
    difference: float
    """Its paired difference, percentage points."""
    p: float
    """Of the claim, before any correction."""


def worst_case(
    hypothesis: Hypothesis,
    blocks: Sequence[Floats],
    shares: Sequence[float],
    seeds: Sequence[int],
    pairs: int,
    interval: Callable[[Sequence[Floats]], Interval],
) -> WorstCase | None:
    """Set every missing pair to one observed one, of the lowest or the highest difference: whichever makes p
    larger. None where nothing is missing.

    `blocks[b]` has shape (seeds, problems of b) and holds paired differences. An answer that nobody gave
    could be anything from 0 to 100 %; a bound by that would always say that nothing is known. This one says
    what follows if the missing seeds are no worse than the worst that was seen.
    """
    if pairs == 0:
        return None
    observed = seed_means(blocks, shares)
    cases = []
    for place in (int(observed.argmin()), int(observed.argmax())):
        extended = [np.vstack([block, block[[place] * pairs]]) for block in blocks]
        per_seed = tuple(float(value) for value in seed_means(extended, shares))
        tails = registered_tails(hypothesis, interval(extended), per_seed)
        p = p_of_claim(tails, hypothesis.direction, hypothesis.bound)
        cases.append(WorstCase(pairs, seeds[place], float(observed[place]), p))
    return max(cases, key=lambda one: one.p)
