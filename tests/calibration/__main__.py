"""Writes `docs/calibration.md`: `python -m tests.calibration docs/calibration.md`."""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

from tests.calibration.measure import Calibration, calibrate, calibrate_looks
from tests.calibration.page import page
from tests.calibration.population import Population

SEEDS = (3, 5, 10)
WITH_LOOKS = Population(5, "normal", False, sampled=False)
"""The one population that is looked at before all of its seeds are there."""


def populations() -> list[Population]:
    """Every population of the page."""
    return [
        Population(seeds, law, heterogeneous, sampled)
        for sampled, law, heterogeneous, seeds in product(
            (False, True), ("normal", "skewed"), (False, True), SEEDS
        )
    ]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument(
        "--studies", type=int, default=4_000, help="studies a population, null and not null each"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.processes) as pool:
        found: list[Calibration] = [
            one
            for rows in pool.map(partial(calibrate, studies=arguments.studies), populations())
            for one in rows
        ]
    found.append(calibrate_looks(WITH_LOOKS, arguments.studies))
    arguments.page.write_text(page(found, arguments.studies), encoding="utf-8")


if __name__ == "__main__":
    main()
