"""Where a study's files lie, and which study a folder means."""

from __future__ import annotations

from pathlib import Path

import pytest

from prereg.layout import StudyLayout, find_study
from prereg.problems import Refused


def test_everything_lies_beside_the_study() -> None:
    layout = StudyLayout.of("some/where.v2/my.study.yaml")
    names = {
        path.name for path in (layout.lock, layout.events, layout.runs, layout.exploratory, layout.report)
    }
    assert names == {
        "my.study.lock.json",
        "my.study.events.jsonl",
        "my.study.runs",
        "my.study.exploratory",
        "my.study.report",
    }
    assert layout.lock.parent == layout.study.parent == Path("some/where.v2")


@pytest.mark.parametrize("name", ["study.json", "study", ".yaml", "study.lock.json"])
def test_a_study_is_a_yaml_file(name: str) -> None:
    with pytest.raises(Refused, match=r"\.yaml"):
        StudyLayout.of(name)


def test_the_only_study_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("")
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "folder.yaml").mkdir()
    assert find_study(tmp_path) == tmp_path / "a.yaml"


def test_of_several_the_only_locked_one_is_found(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yml", "b.lock.json"):
        (tmp_path / name).write_text("")
    assert find_study(tmp_path) == tmp_path / "b.yml"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), "no study file here"),
        (("a.yaml", "b.yaml"), "2 study files and no lock here: a.yaml, b.yaml"),
        (
            ("a.yaml", "b.yaml", "c.yaml", "a.lock.json", "b.lock.json"),
            "2 locked studies here: a.yaml, b.yaml",
        ),
    ],
)
def test_none_or_several_are_refused_by_name(tmp_path: Path, names: tuple[str, ...], words: str) -> None:
    for name in names:
        (tmp_path / name).write_text("")
    with pytest.raises(Refused, match=words):
        find_study(tmp_path)


def test_a_folder_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        find_study(tmp_path / "none")
