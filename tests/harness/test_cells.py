"""Cells and the filters that choose among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cells import Cell, cells_of, selected
from prereg.problems import Refused
from tests.harness.studies import loaded


def test_every_arm_of_a_seed_comes_before_the_next_seed(tmp_path: Path) -> None:
    cells = cells_of(loaded(tmp_path).study)
    assert [c.run_id for c in cells] == ["grpo.small.s1", "mcpo.small.s1", "grpo.small.s2", "mcpo.small.s2"]


def test_filters_of_different_keys_narrow_and_of_one_key_widen(tmp_path: Path) -> None:
    cells = cells_of(loaded(tmp_path).study)
    assert selected(cells, ["arm=mcpo,seed=2"]) == [Cell("mcpo", "small", 2)]
    assert selected(cells, ["seed=1", "seed=2", "arm=grpo"]) == [
        Cell("grpo", "small", 1),
        Cell("grpo", "small", 2),
    ]
    assert selected(cells, []) == cells


@pytest.mark.parametrize("text", ["arm", "arms=mcpo", "seed=", "arm=ppo", "", "seed=01"])
def test_a_filter_that_means_nothing_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refused):
        selected(cells_of(loaded(tmp_path).study), [text])
