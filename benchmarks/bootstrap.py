"""The crossed bootstrap of a curve, against a plain NumPy loop over replicates in the same run.

5 seeds x 1,500 problems x 20 checkpoints, 9,999 replicates. The loop draws seeds and problems and takes the
mean of what it drew, replicate by replicate; it makes a tenth of them, and its time is multiplied by ten.
`scipy.stats.bootstrap` resamples along one axis and has no crossed form: it is timed on the problems alone,
a batch of 20 replicates at a time, and also makes a tenth.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measuring import Document, held, interleaved, ratios, run_alone
from reports.bootstrap import REPLICATES, bootstrap

SEEDS, PROBLEMS, CHECKPOINTS = 5, 1_500, 20
SHARE = 10
"""The slower sides make one replicate in so many."""
ROUNDS = 5


def measure() -> Document:
    """The document of this benchmark."""
    random = np.random.default_rng(0)
    block = 100 * random.integers(-32, 33, (SEEDS, PROBLEMS, CHECKPOINTS)) / 32
    timings = interleaved(
        {
            "ours": lambda: bootstrap({"b": block}, {"b": 1.0}, "benchmark", "curve"),
            "loop": lambda: _loop(block),
            "scipy": lambda: _scipy(block),
        },
        ROUNDS,
    )
    ours = timings["ours"].cpu
    loop = ratios([SHARE * seconds for seconds in timings["loop"].cpu], ours)
    scipy = ratios([SHARE * seconds for seconds in timings["scipy"].cpu], ours)
    seconds = timings["ours"].summary()
    return {
        "what": f"{REPLICATES:,} replicates of {SEEDS} seeds x {PROBLEMS:,} problems x {CHECKPOINTS} points",
        "ours": seconds,
        "loop_over_ours": loop,
        "scipy_problems_only_over_ours": scipy,
        "held": [
            held("9,999 replicates of a curve, CPU s", seconds["cpu_seconds"]["median"], at_most=5),
            held("a NumPy loop over the crossed bootstrap, times its CPU s", loop["median"], at_least=5),
        ],
    }


def _loop(block: Any) -> None:
    random = np.random.default_rng(1)
    for _ in range(REPLICATES // SHARE):
        seeds = random.integers(0, SEEDS, SEEDS)
        problems = random.integers(0, PROBLEMS, PROBLEMS)
        block[seeds][:, problems].mean(axis=(0, 1))


def _scipy(block: Any) -> None:
    from scipy.stats import bootstrap as one_way

    over_seeds = block.mean(axis=0).T
    one_way(
        (over_seeds,), np.mean, axis=1, n_resamples=REPLICATES // SHARE, method="percentile", batch=20,
        rng=np.random.default_rng(1),
    )  # fmt: skip


if __name__ == "__main__":
    run_alone(measure)
