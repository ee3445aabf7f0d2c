"""The accuracy of every simulated policy on every problem, and what follows from it exactly.

On a scale of log-odds, a problem's accuracy under the policy of run r after u updates is

    start + difficulty + (1 - exp(-rate u)) (gain + of the seed + of the run + of the arm on the problem)

`start` is set so that the mean over a benchmark's problems is the declared accuracy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from harness.cells import Cell
from harness.simulation.truth import Lengths, Truth

Floats = NDArray[np.float64]

_HALVINGS = 60
_NODES = 21


@dataclass(frozen=True, slots=True)
class World:
    """A truth together with its draws of problems."""

    truth: Truth
    study: str
    """Id of the study, part of every key."""
    log_odds: Mapping[str, Floats]
    """Of the start policy by benchmark, shape (problems,)."""
    own: Mapping[tuple[str, str], Floats]
    """What each arm learns besides on each problem of a benchmark, shape (problems,)."""

    @classmethod
    def of(cls, truth: Truth, study: str, sizes: Mapping[str, int]) -> World:
        """`sizes` are the problems of each benchmark."""
        log_odds: dict[str, Floats] = {}
        own: dict[tuple[str, str], Floats] = {}
        for name, size in sizes.items():
            declared = truth.benchmarks[name]
            difficulty = declared.spread * generator(truth, study, "difficulty", name).standard_normal(size)
            log_odds[name] = difficulty + _level(difficulty, declared.start)
            for arm in truth.arms:
                drawn = generator(truth, study, "problems", arm, name).standard_normal(size)
                own[arm, name] = truth.variance.problems * drawn
        return cls(truth, study, log_odds, own)

    def deviation(self, cell: Cell) -> float:
        """What a run learns besides its arm's gain, in log-odds."""
        variance = self.truth.variance
        of_seed = self.random("seed", str(cell.seed)).standard_normal()
        of_run = self.random("run", cell.run_id).standard_normal()
        return float(variance.seeds * of_seed + variance.runs * of_run)

    def chances(self, arm: str, benchmark: str, step: float, deviation: float) -> Floats:
        """The chance of a right answer to each problem, shape (problems,)."""
        declared = self.truth.arms[arm]
        gain = declared.gains.get(benchmark, declared.gain)
        learned = gain + deviation + self.own[arm, benchmark]
        return np.asarray(expit(self.log_odds[benchmark] + learning(declared.rate, step) * learned))

    def accuracy(self, arm: str, step: float, weights: Mapping[str, float], caps: Mapping[str, int]) -> float:
        """The true accuracy in percent of new runs on these problems: what the reports estimate.

        Averaged over runs by Gauss-Hermite quadrature; an answer cut at the cap is wrong.
        """
        nodes, masses = np.polynomial.hermite_e.hermegauss(_NODES)
        variance = self.truth.variance
        sd = (variance.seeds**2 + variance.runs**2) ** 0.5
        declared = self.truth.arms[arm]
        total = 0.0
        for name, weight in weights.items():
            means = [float(self.chances(arm, name, step, sd * node).mean()) for node in nodes]
            finished = 1 - cut_share(declared.lengths, learning(declared.rate, step), caps[name])
            total += weight * finished * float(np.dot(masses, means) / masses.sum())
        return 100 * total

    def random(self, *key: str) -> np.random.Generator:
        """The generator of a key; see `generator`."""
        return generator(self.truth, self.study, *key)


def generator(truth: Truth, study: str, *key: str) -> np.random.Generator:
    """Random numbers that truth, study and key alone decide, whatever else is drawn."""
    digest = hashlib.sha256("\0".join(("simulate", str(truth.seed), study, *key)).encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "big")))


def learning(rate: float, step: float) -> float:
    """The share of its gain that an arm has after so many updates."""
    return 1.0 - exp(-rate * step)


def mean_length(lengths: Lengths, learned: float) -> float:
    """Mean tokens of a completion that nothing cuts."""
    return lengths.start + learned * (lengths.end - lengths.start)


def draw_lengths(
    random: np.random.Generator, lengths: Lengths, learned: float | Floats, cap: int, shape: Sequence[int]
) -> NDArray[np.int32]:
    """Lengths of completions in tokens, from 1 to `cap`; one of `cap` was cut there."""
    location = np.log(lengths.start + np.asarray(learned) * (lengths.end - lengths.start))
    drawn = random.standard_normal(shape, dtype=np.float32) * np.float32(lengths.spread)
    drawn += np.asarray(location - lengths.spread**2 / 2, dtype=np.float32)
    return np.asarray(np.clip(np.rint(np.exp(drawn)), 1, cap), dtype=np.int32)


def cut_share(lengths: Lengths, learned: float, cap: int) -> float:
    """The share of completions that the cap cuts."""
    location = np.log(mean_length(lengths, learned)) - lengths.spread**2 / 2
    if lengths.spread == 0:
        return float(np.exp(location) >= cap - 0.5)
    return float(1 - ndtr((np.log(cap - 0.5) - location) / lengths.spread))


def _level(difficulty: Floats, accuracy: float) -> float:
    """The shift at which the mean accuracy is the declared one, by halving."""
    low, high = -50.0, 50.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if float(expit(difficulty + middle).mean()) < accuracy:
            low = middle
        else:
            high = middle
    return (low + high) / 2
