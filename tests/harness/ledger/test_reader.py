"""Damage is found and named, half-written things are not read, and the digest is about content alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from harness.ledger.compaction import compact
from harness.ledger.duck import connect
from harness.ledger.reader import content_digest, last_commit, read_run, runs_in
from harness.ledger.schema import LEDGER_VERSION, TABLES
from harness.ledger.writer import LedgerWriter
from prereg.problems import Refused
from tests.harness.ledger import runs
from tests.harness.ledger.runs import RUN, whole


def test_nothing_yet(tmp_path: Path) -> None:
    assert read_run(tmp_path) is None
    assert read_run(tmp_path / "absent") is None
    assert last_commit(tmp_path) == 0


def test_what_is_half_written_is_not_read(tmp_path: Path) -> None:
    runs.write_run(tmp_path, steps=2)
    shutil.copytree(tmp_path / "commits/000002", tmp_path / "commits/000003.tmp-1-abc")
    (tmp_path / "commits/000003.tmp-1-abc/manifest.json").write_text("{")
    (tmp_path / "tables.tmp-1-abc").mkdir()
    assert whole(read_run(tmp_path)).commit == last_commit(tmp_path) == 2
    LedgerWriter(tmp_path, RUN)
    assert sorted(p.name for p in (tmp_path / "commits").iterdir()) == ["000001", "000002"]
    assert not (tmp_path / "tables.tmp-1-abc").exists()


def _every_file(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "heartbeat.json")


@pytest.mark.parametrize("compacted", [False, True])
def test_every_file_that_is_truncated_altered_or_missing_is_named(tmp_path: Path, compacted: bool) -> None:
    original = tmp_path / "original"
    runs.write_run(original, steps=3, every=1)
    if compacted:
        compact(original)
    names = [p.relative_to(original) for p in _every_file(original)]
    assert len(names) >= 9
    for name in names:
        for harm in ("truncate", "flip", "remove"):
            copy = tmp_path / "copy"
            shutil.copytree(original, copy)
            path = copy / name
            data = bytearray(path.read_bytes())
            if harm == "remove":
                path.unlink()
            elif harm == "truncate":
                path.write_bytes(data[: len(data) // 2])
            else:
                data[len(data) // 2] ^= 1
                path.write_bytes(data)
            with pytest.raises(Refused) as caught:
                read_run(copy)
            assert caught.value.problems[0].file == str(path)
            shutil.rmtree(copy)


def test_a_manifest_with_one_other_number_is_noticed(tmp_path: Path) -> None:
    runs.write_run(tmp_path, steps=2, every=1)
    path = tmp_path / "commits/000002/manifest.json"
    path.write_text(path.read_text().replace('"evaluation": 12', '"evaluation": 13'))
    with pytest.raises(Refused, match=r"manifest\.json: its SHA-256 differs"):
        read_run(tmp_path)


def test_a_missing_commit_is_named(tmp_path: Path) -> None:
    runs.write_run(tmp_path, steps=3, every=1)
    shutil.rmtree(tmp_path / "commits/000002")
    with pytest.raises(Refused, match="000002: commit 2 is missing, though 3 is there"):
        read_run(tmp_path)


def test_a_commit_of_another_run_does_not_fit_into_the_chain(tmp_path: Path) -> None:
    runs.write_run(tmp_path / "a", steps=2, every=1)
    runs.write_run(tmp_path / "b", steps=2, every=1, seconds=0.25)
    shutil.rmtree(tmp_path / "a/commits/000002")
    shutil.copytree(tmp_path / "b/commits/000002", tmp_path / "a/commits/000002")
    with pytest.raises(Refused, match="does not continue the commit before it"):
        read_run(tmp_path / "a")


@pytest.mark.parametrize(
    ("version", "advice"),
    [(99, "newer version of the harness"), (1, "the version of the harness that wrote it")],
)
def test_a_ledger_of_another_version_is_refused_by_name(tmp_path: Path, version: int, advice: str) -> None:
    runs.write_run(tmp_path, steps=1)
    path = tmp_path / "commits/000001/manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"ledger_version": version}))
    with pytest.raises(
        Refused, match=rf"(?s)a ledger of version {version};.* version {LEDGER_VERSION}.*{advice}"
    ):
        read_run(tmp_path)


def test_the_digest_does_not_depend_on_how_rows_were_split_nor_on_time(tmp_path: Path) -> None:
    digests = set()
    for name, every, seconds in (("a", 1, 0.5), ("b", 2, 0.5), ("c", 5, 0.25)):
        runs.write_run(tmp_path / name, steps=5, every=every, seconds=seconds)
        digests.add(content_digest(whole(read_run(tmp_path / name))))
    # One more checkpoint, an idle wait, and a restart are not content either.
    writer = LedgerWriter(tmp_path / "a", RUN)
    same = {"step": 6, "purpose": None, "device_kind": "cpu", "devices": 1, "device_seconds": 0.1,
            "flops": 0.0,
            "wall_seconds": 0.1, "generated_tokens": 0, "prompt_tokens": 0,
            "energy_joules": None}  # fmt: skip
    writer.append("costs", [same | {"phase": "checkpoint"}, same | {"phase": "idle"}])
    writer.commit(5, {})
    run = whole(read_run(tmp_path / "a"))
    assert run.resumes == 1
    digests.add(content_digest(run))
    assert len(digests) == 1


def test_the_digest_depends_on_every_column_that_is_content(tmp_path: Path) -> None:
    runs.write_run(tmp_path / "a", steps=5)
    runs.write_run(tmp_path / "b", steps=4)
    first, second = (content_digest(whole(read_run(tmp_path / n))) for n in "ab")
    assert first != second
    writer = LedgerWriter(tmp_path / "b", RUN)
    runs.append_evaluation(writer, 4)
    writer.commit(4, {})
    assert content_digest(whole(read_run(tmp_path / "b"))) not in (first, second)


def test_a_null_is_not_an_empty_text_in_the_digest(tmp_path: Path) -> None:
    found = set()
    for name, answers in (("a", [None, "x"]), ("b", ["", "x"]), ("c", ["x", ""])):
        writer = LedgerWriter(tmp_path / name, RUN)
        writer.append("samples", {
            "step": 0, "benchmark": "easy", "problem_id": "e", "sample": [0, 1], "correct": True,
            "grader_state": "correct", "finish_reason": "stop", "generated_tokens": 0, "answer": answers,
            "text_digest": b"12345678",
        })  # fmt: skip
        writer.append("evaluations", {
            "step": 0, "benchmark": "easy", "problems": 1, "samples": 2, "generated_tokens": 0,
            "truncated": 0, "occasion": "grid",
            "cost_updates": 0, "cost_generated_tokens": 0, "cost_device_seconds": 0.0,
            "cost_train_flops": 0.0,
            "policy_digest": "0",
        })  # fmt: skip
        writer.commit(0, {})
        found.add(content_digest(whole(read_run(tmp_path / name))))
    assert len(found) == 3


def test_duckdb_sees_running_and_finished_runs_alike(tmp_path: Path) -> None:
    odd = tmp_path / "it's [odd]? a*b"
    for name in ("one", "two"):
        runs.write_run(odd / name, steps=4, every=3)
    compact(odd / "two")
    db = connect(runs_in([odd / "one", odd / "two", odd / "absent"]))
    count = db.execute(
        "SELECT count(*), sum(generated_tokens), count(DISTINCT run_id) FROM sequences"
    ).fetchone()
    assert count == (64, 2 * runs.writer_tokens(4), 1)
    joined = "SELECT count(*) FROM sequences JOIN texts USING (text_digest)"
    assert db.execute(joined).fetchone() == (64,)
    longest = "SELECT max(len(token_id)), min(len(credit)) FROM tokens"
    assert db.execute(longest).fetchone() == (12, 5)


def test_duckdb_types_of_empty_tables_are_those_of_full_ones(tmp_path: Path) -> None:
    runs.write_run(tmp_path, steps=1)
    full, empty = connect(runs_in([tmp_path])), connect([])
    for table in TABLES:
        described = [
            [(name, kind) for name, kind, *_ in db.execute(f"DESCRIBE {table}").fetchall()]
            for db in (full, empty)
        ]
        assert described[0] == described[1]
        assert empty.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
