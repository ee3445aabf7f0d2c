"""Populations of studies whose true effect is known, drawn apart from the code under test.

A study has two benchmarks, 60 and 100 problems, with 16 samples of each under either arm. The treatment adds
to every accuracy of one half: the effect, what the seed adds, and what the problem adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Law = Literal["normal", "skewed"]

PROBLEMS, SAMPLES, SHARES = (60, 100), 16, (0.5, 0.5)
SEED_SD, PROBLEM_SD = 4.0, 10.0
"""Percentage points."""


@dataclass(frozen=True, slots=True)
class Population:
    """A kind of studies. With `sampled` each study has problems of its own; otherwise all have the same."""

    seeds: int
    law: Law
    heterogeneous: bool
    sampled: bool

    def draw(self, study: int, effect: float = 0.0) -> list[Floats]:
        """Paired differences of a study by benchmark, shape (seeds, problems), percentage points."""
        key = f"{self.seeds} {self.law} {self.heterogeneous} {self.sampled}".encode()
        words = [int.from_bytes(key[:8], "big"), sum(key), study]
        random = np.random.default_rng(words)
        of_problems = random if self.sampled else np.random.default_rng(words[:2])
        deviations = SEED_SD * standardised(random, self.law, self.seeds)
        blocks = []
        for problems in PROBLEMS:
            own = PROBLEM_SD * self.heterogeneous * of_problems.standard_normal(problems)
            if not self.sampled:
                own -= own.mean()
            chances = np.clip(0.5 + (effect + deviations[:, None] + own) / 100, 0.0, 1.0)
            treated = random.binomial(SAMPLES, chances)
            control = random.binomial(SAMPLES, 0.5, treated.shape)
            blocks.append(100 * (treated - control) / SAMPLES)
        return blocks

    @property
    def sd(self) -> float:
        """Standard deviation over seeds of the paired difference, percentage points."""
        each = 0.5 * 0.5 * 2 - (PROBLEM_SD / 100 * self.heterogeneous) ** 2
        sampling = 1e4 * sum(w**2 * each / (n * SAMPLES) for w, n in zip(SHARES, PROBLEMS, strict=True))
        return float((SEED_SD**2 + sampling) ** 0.5)


def standardised(random: np.random.Generator, law: Law, count: int) -> Floats:
    """Numbers of mean 0 and sd 1: normal, or exponential, whose skewness is 2."""
    if law == "normal":
        return random.standard_normal(count)
    return random.standard_exponential(count) - 1.0
