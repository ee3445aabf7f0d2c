"""A finished run in one file a table: the same content, the weights that matter, and no way back into it."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest

from harness.ledger.compaction import compact
from harness.ledger.reader import content_digest, read_run
from harness.ledger.schema import TABLES
from harness.ledger.writer import LedgerWriter
from prereg.problems import Refused
from tests.harness.ledger import runs
from tests.harness.ledger.runs import RUN, whole


def test_the_content_is_the_same(tmp_path: Path) -> None:
    runs.write_run(tmp_path, steps=5)
    before = whole(read_run(tmp_path))
    tables = {name: before.table(name) for name in TABLES}
    digest = content_digest(before)
    after = compact(tmp_path)
    assert after.compacted
    assert (after.commit, after.step, after.head, after.totals) == (
        before.commit, before.step, before.head, before.totals,
    )  # fmt: skip
    assert {name: after.table(name) for name in TABLES} == tables
    assert content_digest(after) == digest
    assert not (tmp_path / "commits").exists()
    assert not (tmp_path / "heartbeat.json").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tables"]


def test_weights_are_kept_and_the_optimizer_need_not_be(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    for step in (1, 2, 3):
        runs.append_step(writer, step)
        writer.commit(step, runs.checkpoint_of(step), keep=["model.safetensors"] if step == 1 else [])
    run = compact(tmp_path, final=["model.safetensors"])
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if "checkpoints/" in str(p)) == [
        "tables/checkpoints/000001", "tables/checkpoints/000001/model.safetensors",
        "tables/checkpoints/000003", "tables/checkpoints/000003/model.safetensors",
    ]  # fmt: skip
    assert [(k.commit, k.path.read_bytes()) for k in run.kept] == [(1, b"weights 1")]
    assert (run.checkpoint / "model.safetensors").read_bytes() == b"weights 3"


def test_a_run_that_diverged_is_compacted_like_any_other(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    runs.append_update(writer, 1, 0, 0.0, loss=math.nan)
    writer.commit(1, {})
    assert math.isnan(compact(tmp_path).table("updates")["loss"][0].as_py())


def test_twice_is_once(tmp_path: Path) -> None:
    runs.write_run(tmp_path, steps=2)
    first = compact(tmp_path)
    assert compact(tmp_path) == first
    assert read_run(tmp_path) == first


def test_a_damaged_ledger_is_not_compacted(tmp_path: Path) -> None:
    runs.write_run(tmp_path, steps=2, every=1)
    (tmp_path / "commits/000001/costs.parquet").write_bytes(b"")
    with pytest.raises(Refused, match=r"costs\.parquet"):
        compact(tmp_path)
    assert (tmp_path / "commits/000002").exists()
    assert not (tmp_path / "tables").exists()


def test_without_a_commit_there_is_nothing_to_compact(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="nothing was committed yet"):
        compact(tmp_path)


def test_a_finished_run_takes_no_more(tmp_path: Path) -> None:
    runs.write_run(tmp_path, steps=2)
    compact(tmp_path)
    with pytest.raises(Refused, match="is finished"):
        LedgerWriter(tmp_path, RUN)


def test_tables_win_over_commits_that_were_not_yet_removed(tmp_path: Path) -> None:
    runs.write_run(tmp_path / "a", steps=3, every=1)
    shutil.copytree(tmp_path / "a/commits", tmp_path / "commits")
    run = compact(tmp_path / "a")
    shutil.copytree(tmp_path / "commits/000002", tmp_path / "a/commits/000002")
    assert read_run(tmp_path / "a") == run
    assert compact(tmp_path / "a") == run
    assert not (tmp_path / "a/commits").exists()
