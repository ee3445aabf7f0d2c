"""A new study: whole or not at all, and never over something that stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.locking import lock_study
from harness.starting import write_starter
from prereg.problems import Refused
from prereg.source import load_study
from prereg.starter import Variant

IDS: dict[Variant, str] = {"files": "my-study", "builtin": "arithmetic", "dense-rewards": "dense-rewards"}


@pytest.mark.parametrize("example", IDS)
def test_a_new_study_can_be_read_where_it_was_written(tmp_path: Path, example: Variant) -> None:
    study = tmp_path / "new" / "plan.yaml"
    written = write_starter(study, example)
    assert sorted(written) == sorted(study.parent.iterdir())
    assert load_study(study).study.id == IDS[example]


def test_the_study_of_dense_rewards_can_be_locked(tmp_path: Path) -> None:
    """With every digest taken and its power simulated; the code of a checkout under work is acknowledged."""
    path = tmp_path / "study.yaml"
    write_starter(path, "dense-rewards")
    text = path.read_text(encoding="utf-8")
    assert "  device: cpu\n" in text
    path.write_text(text.replace("  device: cpu\n", "  device: cpu\n  acknowledge_dirty_code: true\n"))
    lock, _, _ = lock_study(path)
    assert {one.id for one in lock.study.hypotheses} == {
        "dense_per_update",
        "dense_equal_tokens",
        "doubled_rate",
    }
    seeds = {lock.study.training_seed(arm, seed) for arm in lock.study.arms for seed in lock.study.seeds}
    first = load_study(Path(__file__).parents[2] / "studies" / "arithmetic.yaml").study
    assert not seeds & {*first.seeds, *first.data_status.pilot_seeds}, "its seeds are fresh"


def test_nothing_is_written_where_one_of_the_files_exists(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("mine")
    with pytest.raises(Refused, match=r"train\.jsonl"):
        write_starter(tmp_path / "study.yaml", "files")
    assert [p.name for p in tmp_path.iterdir()] == ["train.jsonl"]
    assert (tmp_path / "train.jsonl").read_text() == "mine"


def test_a_place_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="cannot be written"):
        write_starter(tmp_path / "file" / "study.yaml", "files")
