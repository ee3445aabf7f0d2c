"""A new study: whole or not at all, and never over something that stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.starting import write_starter
from prereg.problems import Refused
from prereg.source import load_study
from prereg.starter import Variant


@pytest.mark.parametrize("example", ["files", "builtin"])
def test_a_new_study_can_be_read_where_it_was_written(tmp_path: Path, example: Variant) -> None:
    study = tmp_path / "new" / "plan.yaml"
    written = write_starter(study, example)
    assert sorted(written) == sorted(study.parent.iterdir())
    assert load_study(study).study.id == {"files": "my-study", "builtin": "arithmetic"}[example]


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
