"""What a commit holds, and what the writer will not write."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from harness.ledger.columns import LedgerInvariantError, Ragged, TableBuffer
from harness.ledger.reader import last_commit, read_run
from harness.ledger.schema import PURPOSES, TABLES
from harness.ledger.writer import LedgerWriter
from prereg.problems import Refused
from tests.harness.ledger import runs
from tests.harness.ledger.runs import RUN, whole


def test_rows_come_back_as_they_were_appended(tmp_path: Path) -> None:
    runs.write_run(tmp_path, steps=5, every=2)
    run = whole(read_run(tmp_path))
    assert (run.run_id, run.commit, run.step, run.compacted) == (RUN, 3, 5, False)
    sequences = run.table("sequences")
    assert len(sequences) == 5 * 8
    assert sequences["step"].to_pylist() == [s for s in range(1, 6) for _ in range(8)]
    assert sequences["answer"].to_pylist()[:2] == ["7", None]
    assert sequences["run_id"].unique().to_pylist() == [RUN]
    expected = [n for s in range(1, 6) for n in np.random.default_rng(s).integers(5, 13, 8).tolist()]
    assert sequences["generated_tokens"].to_pylist() == expected
    assert [len(t) for t in run.table("tokens")["token_id"].to_pylist()] == expected
    assert run.table("lost").num_rows == 0
    assert run.totals.tokens == dict.fromkeys(PURPOSES, 0) | {"rollout": sum(expected), "evaluation": 12}


def test_a_commit_holds_a_file_for_tables_with_rows_only(tmp_path: Path) -> None:
    first, *_ = runs.write_run(tmp_path, steps=1)
    names = {p.name for p in first.folder.iterdir()}
    assert names == {
        "sequences.parquet", "tokens.parquet", "costs.parquet", "updates.parquet", "samples.parquet",
        "evaluations.parquet", "texts.parquet", "manifest.json", "checkpoint",
    }  # fmt: skip
    manifest = json.loads((first.folder / "manifest.json").read_text())
    assert manifest["files"]["sequences.parquet"]["rows"] == 8
    assert manifest["files"].keys() == {n for n in names if n.endswith(".parquet")}
    assert manifest["checkpoint"].keys() == {"model.safetensors", "state/optimizer.bin"}


def test_encodings(tmp_path: Path) -> None:
    first, *_ = runs.write_run(tmp_path, steps=1)
    group = pq.ParquetFile(first.folder / "tokens.parquet").metadata.row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert "BYTE_STREAM_SPLIT" in columns["logprob.list.element"].encodings
    assert "RLE_DICTIONARY" in columns["step"].encodings
    assert {c.compression for c in columns.values()} == {"ZSTD"}


def test_only_the_newest_two_commits_keep_their_checkpoint_and_what_is_kept_stays(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    for step in (1, 2, 3, 4):
        runs.append_step(writer, step)
        writer.commit(step, runs.checkpoint_of(step), keep=["model.safetensors"] if step == 1 else [])
    at = {
        n: sorted(p.name for p in (tmp_path / f"commits/{n:06d}").rglob("*") if p.is_file())
        for n in (1, 2, 3, 4)
    }
    assert "optimizer.bin" not in at[1]
    assert "model.safetensors" in at[1]
    assert not (tmp_path / "commits/000002/checkpoint").exists()
    assert {"optimizer.bin", "model.safetensors"} <= {*at[3]} & {*at[4]}
    run = whole(read_run(tmp_path))
    assert [(k.commit, k.path.read_bytes()) for k in run.kept] == [(1, b"weights 1")]
    assert (run.checkpoint / "state/optimizer.bin").read_bytes() == b"moments 4"


def test_a_checkpoint_may_be_written_by_a_callable_or_copied_from_a_file(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path / "run", RUN)
    writer.commit(0, lambda folder: (folder / "a.bin").write_bytes(b"1") and None)
    (tmp_path / "b").write_bytes(b"2")
    writer.commit(0, {"b.bin": tmp_path / "b"})
    assert (whole(read_run(tmp_path / "run")).checkpoint / "b.bin").read_bytes() == b"2"


def test_rounding() -> None:
    buffer = TableBuffer("tokens", RUN)
    values = [-1.00001, -(2**-17), 0.3, 1.0]
    buffer.append({
        "step": 1, "group_id": [0], "sample": [0], "token_id": [[1, 2, 3, 4]],
        **{name: [values] for name in ("logprob", "entropy", "margin", "credit")},
    })  # fmt: skip
    table = buffer.to_arrow()
    # -1.00001 * 65536 = -65536.66 becomes -65537; half a unit becomes the even 0; 0.3 * 65536 = 19660.8.
    assert table["logprob"].to_pylist() == [[-65537 / 65536, 0.0, 19661 / 65536, 1.0]]
    # 0.3 * 1024 = 307.2.
    assert table["margin"].to_pylist() == [[-1.0, 0.0, 307 / 1024, 1.0]]


def test_values_that_numpy_would_silently_change_are_errors() -> None:
    for step in (np.array([2**31]), [2**31], [1.5], np.array([1.5])):
        buffer = TableBuffer("lost", RUN)
        buffer.append({
            "after_commit": step, "steps": 1, "generated_tokens": 1, "device_seconds": 0.0,
            "wall_seconds": 0.0,
        })  # fmt: skip
        with pytest.raises(LedgerInvariantError, match=r"lost\.after_commit"):
            buffer.to_arrow()


def test_an_array_that_the_caller_reuses_is_not_shared() -> None:
    buffer = TableBuffer("texts", RUN)
    keys, text = [b"12345678"], ["as appended"]
    buffer.append({"text_digest": keys, "text": text})
    text[0] = "changed"
    assert buffer.to_arrow()["text"].to_pylist() == ["as appended"]
    tokens = TableBuffer("tokens", RUN)
    values = np.ones(2, np.float32)
    tokens.append({
        "step": 1, "group_id": 0, "sample": 0, "token_id": Ragged(np.arange(2), np.array([2])),
        **{name: Ragged(values, np.array([2])) for name in ("logprob", "entropy", "margin", "credit")},
    })  # fmt: skip
    values[:] = 7
    assert tokens.to_arrow()["credit"].to_pylist() == [[1.0, 1.0]]


def test_lists_and_ragged_columns_are_the_same() -> None:
    def table(make: object) -> object:
        buffer = TableBuffer("tokens", RUN)
        lists = [[1, 2], [], [3]]
        column = lists if make is list else Ragged(np.array([1, 2, 3]), np.array([2, 0, 1]))
        names = ("token_id", "logprob", "entropy", "margin", "credit")
        buffer.append({"step": 1, "group_id": 0, "sample": [0, 1, 2], **dict.fromkeys(names, column)})
        return buffer.to_arrow()

    assert table(list) == table(Ragged)


def test_a_wrong_column_is_named_with_the_nearest(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    with pytest.raises(
        LedgerInvariantError, match=r"no column 'txt' \(did you mean 'text'\?\); missing text$"
    ):
        writer.append("texts", {"text_digest": [b"12345678"], "txt": ["x"]})
    with pytest.raises(LedgerInvariantError, match="different lengths"):
        writer.append("texts", {"text_digest": [b"12345678"], "text": ["x", "y"]})
    with pytest.raises(LedgerInvariantError, match="no table 'sequence'"):
        writer.append("sequence", {})


def test_values_outside_the_schema(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    runs.append_costs(writer, 1, 0)
    row = {"step": 1, "device_kind": "cpu", "devices": 1, "device_seconds": 0.5, "energy_joules": None,
           "purpose": None, "wall_seconds": 1.0, "generated_tokens": 0, "prompt_tokens": 0,
           "flops": 0.0}  # fmt: skip
    writer.append("costs", [row | {"phase": "thinking"}])
    with pytest.raises(LedgerInvariantError, match=r"costs.phase: \['thinking'\] is none of"):
        writer.commit(1, {})
    fresh = LedgerWriter(tmp_path / "other", RUN)
    fresh.append("costs", [row | {"phase": "idle", "flops": None}])
    with pytest.raises(LedgerInvariantError, match=r"costs.flops: a value is missing"):
        fresh.commit(1, {})
    assert last_commit(tmp_path / "other") == 0


def test_texts_are_stored_once_even_after_a_restart(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    keys = writer.add_texts(["a", "b", "a"])
    assert keys[0] == keys[2] != keys[1]
    writer.commit(0, {})
    again = LedgerWriter(tmp_path, RUN)
    assert again.add_texts(["b", "c"])[0] == keys[1]
    again.commit(0, {})
    assert whole(read_run(tmp_path)).table("texts")["text"].to_pylist() == ["a", "b", "c"]


def test_hostile_text_is_stored(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    writer.add_texts(["</script>\x00'; DROP TABLE", "lone \ud800 surrogate", ""])
    writer.commit(0, {})
    found = whole(read_run(tmp_path)).table("texts")["text"].to_pylist()
    assert found == ["</script>\x00'; DROP TABLE", "lone ? surrogate", ""]


def test_every_table_can_be_empty(tmp_path: Path) -> None:
    LedgerWriter(tmp_path, RUN).commit(0, {})
    run = whole(read_run(tmp_path))
    for name, columns in TABLES.items():
        assert run.table(name).column_names == [c.name for c in columns]


def test_a_ledger_of_another_run_is_refused(tmp_path: Path) -> None:
    runs.write_run(tmp_path, steps=1)
    with pytest.raises(Refused, match=r"the ledger of run grpo\.base\.s1, not of mcpo\.base\.s1"):
        LedgerWriter(tmp_path, "mcpo.base.s1")


def test_two_writers_cannot_both_write_a_commit(tmp_path: Path) -> None:
    one, two = LedgerWriter(tmp_path, RUN), LedgerWriter(tmp_path, RUN)
    runs.append_step(one, 1)
    one.commit(1, {})
    runs.append_step(two, 1)
    with pytest.raises(Refused, match="another process"):
        two.commit(1, {})
    assert whole(read_run(tmp_path)).table("sequences").num_rows == 8


def test_nan_is_a_value_and_not_a_missing_one() -> None:
    buffer = TableBuffer("lost", RUN)
    buffer.append({
        "after_commit": 1, "steps": 1, "generated_tokens": 1, "device_seconds": np.array([np.nan]),
        "wall_seconds": 1,
    })  # fmt: skip
    assert math.isnan(buffer.to_arrow()["device_seconds"][0].as_py())
