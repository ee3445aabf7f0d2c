"""The crossed interval against mixed models of R, as their documentation prints them.

For a balanced crossed design the variance of the mean by mean squares is that of REML.
"""

from __future__ import annotations

import numpy as np
import pytest

from reports.intervals import crossed, crossed_variance

PENICILLIN = """
27 23 26 23 23 21  27 23 26 23 23 21  25 21 25 24 24 20  26 23 25 23 23 20  25 22 26 22 23 20
24 22 25 23 22 19  24 20 23 21 22 19  26 22 26 24 24 21  24 21 24 22 22 20  24 21 24 23 22 19
26 23 26 24 24 21  25 22 26 24 24 20  26 24 26 24 25 22  26 23 26 23 23 20  26 23 25 24 24 22
25 22 25 23 23 20  25 21 24 23 23 20  25 22 24 23 23 19  24 21 23 21 21 19  26 23 26 24 24 21
25 21 24 22 22 18  25 22 25 22 22 20  24 21 24 22 24 19  24 21 24 22 21 18
"""
"""Diameters of lme4's `Penicillin` (Davies and Goldsmith 1972): 24 plates with six samples each."""

YIELDS = [[89, 88, 97, 94], [84, 77, 92, 79], [81, 87, 87, 85], [87, 92, 89, 84], [79, 81, 80, 88]]
"""faraway's `penicillin` (Box, Hunter and Hunter 1978): five blends by four treatments."""


def test_seeds_and_problems_as_crossed_random_effects_of_lme4() -> None:
    """lmer(diameter ~ 1 + (1 | plate) + (1 | sample), Penicillin).

    As many a page prints it: variances .7169 of plates, 3.7309 of samples, .3024 of the residual; the mean
    22.9722 with standard error .8086. MixedModels.jl's manual, by maximum likelihood, has the same residual,
    .30243. The samples stand for seeds and the plates for problems.
    """
    block = np.array(PENICILLIN.split(), dtype=np.float64).reshape(24, 6).T
    found = crossed_variance([block], [1.0])
    assert 6 * (found.seeds - found.cells) == pytest.approx(3.7309, abs=5e-5)
    assert 24 * (found.problems - found.cells) == pytest.approx(0.7169, abs=5e-5)
    assert 144 * found.cells == pytest.approx(0.3024, abs=5e-5)
    interval = crossed([block], [1.0])
    assert interval.estimate == pytest.approx(22.9722, abs=5e-5)
    assert interval.se == pytest.approx(0.8086, abs=5e-5)
    # Each plausible wrong error: independent cells, the two variances added as they are, one level alone.
    wrong = (
        block.std(ddof=1) / 12,
        (found.seeds + found.problems) ** 0.5,
        found.seeds**0.5,
        found.problems**0.5,
        (block.mean(axis=1).var() / 6 + found.problems - found.cells) ** 0.5,
    )
    assert min(abs(one - 0.8086) for one in wrong) > 1e-3


def test_the_components_are_the_mean_squares_of_an_analysis_of_variance() -> None:
    """summary(aov(yield ~ treat + Error(blend), penicillin)): 264 on 4, 70 on 3, 226 on 12 df.

    From Faraway's page on randomised block designs with lme4, "Inference for Linear Mixed Models".
    """
    found = crossed_variance([np.array(YIELDS, dtype=np.float64)], [1.0])
    assert 20 * found.seeds == pytest.approx(264 / 4)
    assert 20 * found.problems == pytest.approx(70 / 3)
    assert 20 * found.cells == pytest.approx(226 / 12)
