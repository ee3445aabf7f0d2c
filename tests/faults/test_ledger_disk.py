"""A disk that is full or may not be written: said plainly, and the ledger stays readable."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.ledger.compaction import compact
from harness.ledger.reader import read_run
from harness.ledger.writer import LedgerWriter
from prereg.problems import Refused
from tests.harness.ledger import runs
from tests.harness.ledger.runs import RUN, whole


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, 1 MiB large."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if mounted.returncode:
        pytest.skip(f"mounting a tmpfs is not permitted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    folder = small_disk / "run"
    writer = LedgerWriter(folder, RUN)
    runs.append_step(writer, 1)
    writer.commit(1, runs.checkpoint_of(1))
    runs.append_step(writer, 2)
    with pytest.raises(
        Refused, match=r"commit 2 cannot be written: no space left in .*/run \(\d+\.\d MiB free\)"
    ):
        writer.commit(2, {"model.safetensors": b"x" * 2**20})
    assert whole(read_run(folder)).step == 1
    assert [p.name for p in (folder / "commits").iterdir()] == ["000001"]
    # Once there is room, the very same rows are written: nothing was lost in memory.
    writer.commit(2, runs.checkpoint_of(2))
    assert whole(read_run(folder)).totals.tokens["rollout"] == runs.writer_tokens(2)


def test_a_disk_that_fills_up_commit_by_commit(small_disk: Path) -> None:
    folder = small_disk / "run"
    writer = LedgerWriter(folder, RUN)

    def write_on() -> None:
        for step in range(1, 200):
            runs.append_step(writer, step)
            writer.commit(step, {"model.safetensors": b"w" * 2**15})

    with pytest.raises(Refused, match="no space left"):
        write_on()
    last = writer.step
    assert last > 3
    assert whole(read_run(folder)).step == last
    (small_disk / "fill").write_bytes(b"x" * shutil.disk_usage(small_disk).free)
    with pytest.raises(Refused, match="the finished run cannot be compacted: no space left"):
        compact(folder)
    assert whole(read_run(folder)).step == last


def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file where the folder should be")
    with pytest.raises(Refused, match="the ledger cannot be written"):
        LedgerWriter(tmp_path / "run", RUN)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(Refused, match="Permission denied"):
        LedgerWriter(tmp_path / "run", RUN)
