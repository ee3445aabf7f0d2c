"""Digests of files and folders speak of content, and stay within the folder."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
import rfc8785

from prereg.digests import digest_file, digest_folder
from prereg.problems import Refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "model"
    (root / "sub").mkdir(parents=True)
    (root / "b.txt").write_bytes(b"two")
    (root / "sub" / "a.bin").write_bytes(b"\0one")
    return root


def test_a_file_has_the_digest_of_its_bytes(folder: Path) -> None:
    assert digest_file(folder / "b.txt") == hashlib.sha256(b"two").hexdigest()


def test_a_folder_has_the_digest_of_its_names_and_contents(folder: Path) -> None:
    expected = {
        "b.txt": hashlib.sha256(b"two").hexdigest(),
        "sub/a.bin": hashlib.sha256(b"\0one").hexdigest(),
    }
    found = digest_folder(folder)
    assert found.files == expected
    assert found.sha256 == hashlib.sha256(rfc8785.dumps(expected)).hexdigest()


def test_place_and_time_do_not_count_but_names_and_contents_do(folder: Path) -> None:
    before = digest_folder(folder)
    os.utime(folder / "b.txt", (1, 1))
    (folder / "empty").mkdir()
    moved = folder.rename(folder.with_name("elsewhere"))
    assert digest_folder(moved) == before
    (moved / "b.txt").rename(moved / "c.txt")
    renamed = digest_folder(moved)
    assert renamed.sha256 != before.sha256
    (moved / "c.txt").write_bytes(b"twO")
    assert digest_folder(moved).sha256 not in (before.sha256, renamed.sha256)


def test_files_can_be_chosen(folder: Path) -> None:
    assert list(digest_folder(folder, lambda path: path.suffix == ".bin").files) == ["sub/a.bin"]


def test_a_link_counts_as_what_it_leads_to_and_may_not_leave(folder: Path) -> None:
    (folder.parent / "outside").write_bytes(b"two")
    (folder / "inside").symlink_to("b.txt")
    files = digest_folder(folder).files
    assert files["inside"] == files["b.txt"]
    (folder / "out").symlink_to("../outside")
    with pytest.raises(Refused, match="leads out of the folder"):
        digest_folder(folder)
    assert digest_folder(folder, links_may_leave=True).files["out"] == files["b.txt"]


def test_what_has_no_content_is_refused(folder: Path) -> None:
    with pytest.raises(Refused, match="No such file"):
        digest_file(folder / "none")
    with pytest.raises(Refused, match="cannot be read"):
        digest_folder(folder / "none")
    (folder / "circle").symlink_to(".")
    with pytest.raises(Refused, match="link to a folder"):
        digest_folder(folder)
    (folder / "circle").unlink()
    os.mkfifo(folder / "pipe")
    with pytest.raises(Refused, match="not a regular file"):
        digest_folder(folder)
    (folder / "pipe").unlink()
    (folder / "gone").symlink_to("nothing")
    with pytest.raises(Refused, match="No such file"):
        digest_folder(folder)


def test_a_name_that_is_not_text_is_refused(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.txt")).write_bytes(b"")
    with pytest.raises(Refused, match="not UTF-8"):
        digest_folder(folder)
