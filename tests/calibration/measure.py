"""One population's studies through the report's estimators, tests and verdicts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prereg.hypotheses import Hypothesis
from prereg.stopping import GroupSequential, Look
from prereg.study import Study
from reports.comparisons import Comparison, interval_of, shown_level
from reports.decisions import sensitivity
from reports.intervals import seed_means
from reports.looks import judge_looks
from reports.power.simulate import LOCKED
from reports.power.summary import Figure, share
from reports.verdicts import SHOWN, judge
from tests.calibration.population import SHARES, Floats, Population
from tests.harness.studies import hypothesis, tiny

ALPHA, MARGIN, STRONG = 0.05, 10.0, 2.0
"""Level of every test; margin, in points; a true effect that a test should mostly show, in sds over seeds."""

REPLICATES = 999

FIXED: dict[str, dict[str, Any]] = {
    "paired_t": {"direction": "two_sided", "test": {"kind": "paired_t"},
                 "sensitivity": [{"kind": "wild_bootstrap", "replicates": REPLICATES}]},
    "sign_flip": {"direction": "greater", "test": {"kind": "sign_flip"}},
    "tost": {"direction": "equivalent", "test": {"kind": "tost"}, "margin": MARGIN},
    "non_inferiority": {"direction": "non_inferior", "test": {"kind": "non_inferiority"}, "margin": MARGIN},
}  # fmt: skip
"""Hypotheses about fixed problems, by their test."""
SAMPLED: dict[str, dict[str, Any]] = {
    "crossed_satterthwaite": {"direction": "two_sided", "test": {"kind": "crossed_satterthwaite"}},
    "tost_crossed": {"direction": "equivalent", "test": {"kind": "tost"}, "margin": MARGIN},
}
"""Hypotheses about new problems."""
LOOKS = ((3, 0.2), (5, 0.8))
"""Planned looks: seeds, and the share of alpha."""
BOUNDARY = {"tost": MARGIN, "tost_crossed": MARGIN, "non_inferiority": -MARGIN}
"""True effect at which a test errs most often; 0 elsewhere."""
WITHIN = {"tost": 0.0, "tost_crossed": 0.0, "non_inferiority": 0.0}
"""True effect of the studies that are not null; `STRONG` elsewhere."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How one test fares in one population."""

    test: str
    population: Population
    error_rate: Figure
    """Share of studies at the boundary of the null in which the claim is shown."""
    level: float
    """Nominal, of the printed interval."""
    coverage: Figure
    shown: Figure
    """Share of studies that are not null in which the claim is shown."""


def calibrate(population: Population, studies: int) -> list[Calibration]:
    """Every test that fits the population, on the same draws."""
    chosen = SAMPLED if population.sampled else FIXED
    study = _study(chosen, population)
    first, second = range(studies), range(studies, 2 * studies)
    null = {name: _many(study, name, population, first, BOUNDARY.get(name, 0.0)) for name in chosen}
    strong = STRONG * population.sd
    other = {name: _many(study, name, population, second, WITHIN.get(name, strong)) for name in chosen}
    found = [
        Calibration(
            name, population, share(null[name].shown), null[name].level,
            share(np.concatenate([null[name].covered, other[name].covered])), share(other[name].shown),
        )
        for name in chosen
    ]  # fmt: skip
    if not population.sampled:
        t = null["paired_t"]
        wild = (share(one.beside <= ALPHA) for one in (t, other["paired_t"]))
        nothing = Figure(float("nan"), float("nan"))
        error_rate, shown = wild
        found.append(Calibration("wild_bootstrap", population, error_rate, float("nan"), nothing, shown))
    return found


def calibrate_looks(population: Population, studies: int) -> Calibration:
    """The two-sided paired t at `LOOKS`, its interval being the one at the look that is shown."""
    chosen = FIXED["paired_t"] | {"sensitivity": []}
    looks = tuple(Look(seeds=seeds, share=part) for seeds, part in LOOKS)
    stopping = GroupSequential(kind="group_sequential", looks=looks)
    study = _study({"looks": chosen}, population).model_copy(update={"stopping": stopping})
    (only,) = study.hypotheses
    shown: dict[float, list[bool]] = {0.0: [], STRONG * population.sd: []}
    covered = []
    for place, (effect, found) in enumerate(shown.items()):
        for number in range(place * studies, (place + 1) * studies):
            blocks = population.draw(number, effect)
            looked = [
                {only.id: _compared(only, [block[: look.seeds] for block in blocks], look.share)}
                for look in study.looks
            ]
            judged = judge_looks(study, LOCKED, (), looked)
            interval = judged.comparisons[only.id].effect
            assert interval is not None
            found.append(judged.verdicts[0].outcome in SHOWN)
            covered.append(interval.low <= effect <= interval.high)
    errs, shows = (share(np.array(found)) for found in shown.values())
    return Calibration("looks", population, errs, shown_level(only), share(np.array(covered)), shows)


@dataclass(frozen=True, slots=True)
class _Many:
    shown: Any
    covered: Any
    beside: Any
    level: float


def _study(chosen: dict[str, dict[str, Any]], population: Population) -> Study:
    problems = {"problems": "sampled" if population.sampled else "fixed"}
    hypotheses = [
        hypothesis(id=name, alpha=ALPHA, population=problems, **changes) for name, changes in chosen.items()
    ]
    seeds = list(range(1, population.seeds + 1))
    return Study.model_validate_json(json.dumps(tiny(hypotheses=hypotheses, seeds=seeds)))


def _many(study: Study, name: str, population: Population, numbers: range, effect: float) -> _Many:
    only = next(h for h in study.hypotheses if h.id == name)
    alone = study.model_copy(update={"hypotheses": (only,)})
    shown, covered, beside, level = [], [], [], 0.0
    for number in numbers:
        comparison = _compared(only, population.draw(number, effect))
        (verdict,) = judge(alone, LOCKED, (), {name: comparison})
        interval = comparison.effect
        assert interval is not None
        shown.append(verdict.outcome in SHOWN)
        covered.append(interval.low <= effect <= interval.high)
        beside.extend(one.p for one in sensitivity(alone, only, comparison))
        level = interval.level
    return _Many(np.array(shown), np.array(covered), np.array(beside), level)


def _compared(hypothesis: Hypothesis, blocks: Sequence[Floats], spent: float = 1.0) -> Comparison:
    """As the report compares, with the part of alpha that is spent on it."""
    over = hypothesis.over_problems
    effect = interval_of(hypothesis, blocks, SHARES, over_problems=over, share=spent)
    per_seed = tuple(seed_means(blocks, SHARES).tolist())
    return Comparison(hypothesis.id, (), effect=effect, seeds=tuple(range(len(per_seed))), per_seed=per_seed)
