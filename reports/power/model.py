"""The generative model behind a hypothesis's `power` assumptions, and draws from it.

For the runs of seed s on problem i of benchmark b, in percentage points:

    the treatment's accuracy less the control's = effect + u_s + t_i,   u_s ~ N(0, sd_of_seeds^2)

t_i has mean 0 and sd `problem_sd` over problems. With a base accuracy m, each run's samples of a problem are
drawn as Binomial(n, p): p is m for the control, and for the treatment a Beta law over problems of mean m +
effect and that sd, moved by u_s in proportion to p (1 - p), so that it stays within 0 and 1 without a bias.

The declared sd is that of the observed paired difference, sampling noise included, as a pilot would show it:
the seeds' own part is what sampling does not explain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from prereg.hypotheses import Hypothesis, PowerAssumption

Floats = NDArray[np.float64]

_SEEDS, _PROBLEMS, _FAILURES = 0, 1, 2
"""Streams of random numbers of one simulation."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A benchmark as a simulation needs it."""

    problems: int
    samples: int
    share: float
    """Weight; the shares of a hypothesis's benchmarks sum to 1."""


@dataclass(frozen=True, slots=True)
class Draw:
    """One simulated comparison on `seeds` seeds, of which any first ones are a comparison as well."""

    blocks: tuple[Floats, ...]
    """Paired differences by benchmark, shape (seeds, problems), percentage points."""
    failed: NDArray[np.bool_]
    """Shape (seeds, 2): runs that never finished."""


@dataclass(frozen=True, slots=True)
class Model:
    """The declared model of one hypothesis, ready to draw from."""

    assumption: PowerAssumption
    benches: tuple[Bench, ...]
    sampled_problems: bool
    """Whether each simulation has problems of its own, or all have the same."""
    over_problems: bool
    """Whether the registered error needs the single problems."""
    key: int
    sampling_sd: float
    """What the sampled answers alone add to the sd of the paired difference; 0 without a base accuracy."""
    suite: tuple[Floats, ...]
    """The treatment's accuracy on fixed problems, by benchmark; empty where problems are sampled."""

    @classmethod
    def of(cls, study_id: str, hypothesis: Hypothesis, benches: Sequence[Bench]) -> Model:
        """The model of a hypothesis that declares its power assumptions.

        Raises ValueError if its numbers cannot be accuracies.
        """
        given = hypothesis.power
        assert given is not None
        digest = hashlib.sha256("\0".join(("power", study_id, hypothesis.id)).encode()).digest()
        sampled = hypothesis.population.problems == "sampled"
        suite: tuple[Floats, ...] = ()
        if given.base_accuracy is not None and not sampled:
            suite = tuple(_quantiles(given, bench.problems) for bench in benches)
        elif given.base_accuracy is not None:
            _beta(given)
        return cls(
            given,
            tuple(benches),
            sampled,
            hypothesis.over_problems,
            int.from_bytes(digest[:16], "big"),
            _sampling_sd(given, benches),
            suite,
        )

    @property
    def seed_sd(self) -> float:
        """The seeds' own part of the declared sd; 0 where sampling explains all of it and more."""
        return float(max(self.assumption.sd**2 - self.sampling_sd**2, 0.0) ** 0.5)

    @property
    def numbers_drawn(self) -> int:
        """Random numbers that one seed of one simulation takes."""
        if self.assumption.base_accuracy is None:
            return 1
        return 2 * sum(bench.problems for bench in self.benches)

    def draw(self, simulation: int, seeds: int) -> Draw:
        """The simulation with this number: the same whatever else is drawn, in any order or process."""
        failures = self._generator(simulation, _FAILURES).random((seeds, 2))
        deviations = self.seed_sd * self._generator(simulation, _SEEDS).standard_normal(seeds)
        draw = self._gaussian if self.assumption.base_accuracy is None else self._sampled
        return Draw(draw(simulation, deviations), failures < self.assumption.failure_rate)

    def _gaussian(self, simulation: int, deviations: Floats) -> tuple[Floats, ...]:
        given = self.assumption
        per_seed = (given.effect + deviations)[:, None]
        if not self.over_problems and not self.sampled_problems:
            return tuple(per_seed for _ in self.benches)  # the error over seeds does not see single problems
        generator = self._generator(simulation if self.sampled_problems else 0, _PROBLEMS)
        blocks = []
        for bench in self.benches:
            own = given.problem_sd * generator.standard_normal(bench.problems)
            if not self.sampled_problems:
                own -= own.mean()
            blocks.append(per_seed + own)
        return tuple(blocks)

    def _sampled(self, simulation: int, deviations: Floats) -> tuple[Floats, ...]:
        given, base = self.assumption, self.assumption.base_accuracy
        assert base is not None
        suite = self.suite or self._new_problems(simulation)
        treated = [np.empty((len(deviations), bench.problems)) for bench in self.benches]
        control = [np.empty_like(block) for block in treated]
        for seed, deviation in enumerate(deviations):
            generator = self._generator(simulation, 3 + seed)
            for b, (bench, p) in enumerate(zip(self.benches, suite, strict=True)):
                room = p * (1 - p)
                moved = np.clip(p + deviation / 100 * room / room.mean(), 0.0, 1.0)
                chance = moved if given.problem_sd > 0 else moved[0]
                treated[b][seed] = generator.binomial(bench.samples, chance, bench.problems)
                control[b][seed] = generator.binomial(bench.samples, base, bench.problems)
        return tuple(
            100 * (one / bench.samples - other / bench.samples)
            for one, other, bench in zip(treated, control, self.benches, strict=True)
        )

    def _new_problems(self, simulation: int) -> tuple[Floats, ...]:
        given, generator = self.assumption, self._generator(simulation, _PROBLEMS)
        if given.problem_sd == 0:
            return tuple(np.full(bench.problems, _treated_mean(given)) for bench in self.benches)
        a, b = _beta(given)
        return tuple(generator.beta(a, b, bench.problems) for bench in self.benches)

    def _generator(self, simulation: int, stream: int) -> np.random.Generator:
        """A generator of this simulation and stream alone; the counter's first word counts within it."""
        return np.random.Generator(np.random.Philox(key=self.key, counter=[0, 0, stream, simulation]))


def _treated_mean(given: PowerAssumption) -> float:
    assert given.base_accuracy is not None
    mean = given.base_accuracy + given.effect / 100
    if not 0 < mean < 1:
        raise ValueError(
            f"a base accuracy of {given.base_accuracy:g} and an effect of {given.effect:g} points give an "
            f"accuracy of {mean:g}"
        )
    return mean


def _beta(given: PowerAssumption) -> tuple[float, float]:
    """The parameters of the Beta law over problems of the treatment's accuracy."""
    mean, variance = _treated_mean(given), (given.problem_sd / 100) ** 2
    if variance >= mean * (1 - mean):
        raise ValueError(
            f"accuracies of mean {mean:g} differ by an sd of at most {100 * (mean * (1 - mean)) ** 0.5:.3g} "
            f"points over problems, not by {given.problem_sd:g}"
        )
    total = mean * (1 - mean) / variance - 1 if variance > 0 else float("inf")
    return mean * total, (1 - mean) * total


def _quantiles(given: PowerAssumption, problems: int) -> Floats:
    """Accuracies on fixed problems: evenly spaced quantiles of the Beta law, of exactly the declared mean."""
    mean = _treated_mean(given)
    if given.problem_sd == 0:
        return np.full(problems, mean)
    values = np.asarray(betaincinv(*_beta(given), (np.arange(problems) + 0.5) / problems), dtype=np.float64)
    room = values * (1 - values)
    return np.asarray(np.clip(values + (mean - values.mean()) * room / room.mean(), 0.0, 1.0))


def _sampling_sd(given: PowerAssumption, benches: Sequence[Bench]) -> float:
    """sd of the paired difference from sampled answers alone, percentage points."""
    if given.base_accuracy is None:
        return 0.0
    mean, base = _treated_mean(given), given.base_accuracy
    each = mean * (1 - mean) - (given.problem_sd / 100) ** 2 + base * (1 - base)
    return float(100 * sum(b.share**2 * each / (b.problems * b.samples) for b in benches) ** 0.5)
