"""The studies that come with the project: each can be read, planned in words, and passes every rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from prereg import checks
from prereg.show import render_plan
from prereg.source import load_study

STUDIES = sorted(
    path for path in (Path(__file__).parents[2] / "studies").glob("*.yaml") if ".truth" not in path.name
)


def test_there_are_some() -> None:
    assert {path.stem for path in STUDIES} >= {"arithmetic", "mcpo", "mcpo-qwen3-4b", "dense-rewards"}


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_each_passes_every_rule(path: Path) -> None:
    loaded = load_study(path)
    assert checks.problems(loaded) == ()
    assert loaded.study.title in render_plan(loaded.study)


def test_no_two_share_a_seed_or_an_id() -> None:
    """Their runs could otherwise be taken for each other's, or one's results inform another's plan."""
    studies = [load_study(path).study for path in STUDIES]
    assert len({study.id for study in studies}) == len(studies)
    seeds = [seed for study in studies for seed in study.seeds]
    assert len(seeds) == len(set(seeds))
