"""What a person gets wrong: a message with a place, exit code 3, and never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli import Called, harness
from tests.harness.studies import benchmark, hypothesis, tiny, write_study


def refused(called: Called, *words: str, code: int = 3) -> None:
    assert called.code == code, (called.code, called.err)
    assert "Traceback" not in called.err
    for word in words:
        assert word in called.err, called.err


def lock(folder: Path) -> Called:
    return harness("prereg", "lock", "study.yaml", folder=folder)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "study.yaml"),
        (b"\x00\x01\x02PAR1", "binary"),
        (b"\xff\xfea\x00", "UTF-16"),
        (b"- 1\n- 2\n", "study.yaml:1"),
    ],
)
def test_files_that_are_no_study(tmp_path: Path, content: bytes, word: str) -> None:
    (tmp_path / "study.yaml").write_bytes(content)
    refused(lock(tmp_path), word)


def test_no_study_at_all(tmp_path: Path) -> None:
    refused(lock(tmp_path), "study.yaml", "no such file")
    refused(harness("run", folder=tmp_path), "no study file here", "prereg init")


def text_task(path: str, kind: str = "jsonl", **columns: str) -> dict[str, Any]:
    return benchmark("easy") | {"source": {"kind": kind, "path": path, **columns}}


def with_benchmark(task: dict[str, Any]) -> dict[str, Any]:
    return {"data": tiny()["data"] | {"benchmarks": {"mine": task}}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"budget": {"updates": -5}}, ["budget.updates", "study.yaml:"]),
        ({"budget": {"device_seconds": float("nan"), "updates": 4}}, ["budget.device_seconds"]),
        ({"id": "a/b"}, ["study.yaml:", "id", "a/b"]),
        ({"hypotheses": [hypothesis(treatment="mcpp")]}, ["mcpp", "mcpo", "study.yaml:"]),
        ({"trainer": {"prompts_per_updat": 4}}, ["prompts_per_updat", "prompts_per_update"]),
        (with_benchmark(text_task("missing.jsonl")), ["missing.jsonl"]),
        (with_benchmark(text_task("../outside.jsonl")), ["outside.jsonl", "folder"]),
        (with_benchmark(text_task("rows.jsonl", problem="qestion")), ["qestion", "question"]),
        (with_benchmark(text_task("broken.jsonl")), ["broken.jsonl:2"]),
        (with_benchmark(text_task("empty.jsonl")), ["empty.jsonl"]),
        (with_benchmark(text_task("rows.jsonl", "parquet", problem="question")), ["rows.jsonl", "Parquet"]),
        ({"models": {"small": {"source": {"kind": "local", "path": "nowhere"}}}}, ["nowhere"]),
    ],
    ids=lambda value: None if isinstance(value, dict) else value[0],
)  # fmt: skip
def test_studies_that_cannot_be_locked(tmp_path: Path, changes: dict[str, Any], words: list[str]) -> None:
    write_study(tmp_path, **changes)
    (tmp_path / "rows.jsonl").write_text(
        '{"question": "1+1=", "answer": "2"}\n{"question": "1+2=", "answer": "3"}\n'
    )
    (tmp_path / "broken.jsonl").write_text('{"problem": "1+1=", "answer": "2"}\n{"problem": "1+2=",\n')
    (tmp_path / "empty.jsonl").write_text("")
    refused(lock(tmp_path), *words)
    assert not (tmp_path / "study.lock.json").exists()


def test_refusals_as_json(tmp_path: Path) -> None:
    write_study(tmp_path, budget={"updates": -5})
    called = harness("prereg", "lock", "--json", folder=tmp_path)
    assert called.code == 3
    problem = json.loads(called.out)["refused"][0]
    assert problem["field"] == "budget.updates"
    assert problem["line"] > 1


def test_training_prompts_that_stand_in_a_benchmark(tmp_path: Path) -> None:
    same = {"source": {"kind": "builtin", "split": "train", "size": 20}}
    write_study(tmp_path, **with_benchmark(benchmark("easy") | same))
    refused(lock(tmp_path), "stand among the training prompts", "20 of 20")


def test_a_filter_that_matches_nothing(tmp_path: Path) -> None:
    write_study(tmp_path)
    assert lock(tmp_path).code == 0
    refused(harness("run", "--only", "arm=ppo", folder=tmp_path), "ppo", "mcpo")
    refused(harness("run", "--slots", "0", folder=tmp_path), "--slots")


def test_an_unlocked_study_is_not_run_or_reported(tmp_path: Path) -> None:
    write_study(tmp_path)
    refused(harness("run", folder=tmp_path), "not locked", "prereg lock")
    refused(harness("report", folder=tmp_path), "not locked")


def test_an_unknown_command_or_option_is_a_usage_error(tmp_path: Path) -> None:
    for arguments in (("runn",), ("run", "--fast"), ("run", "--slots", "many")):
        called = harness(*arguments, folder=tmp_path)
        assert called.code == 2, (arguments, called.code, called.err)
        assert "Traceback" not in called.err


@pytest.mark.skipif(
    os.geteuid() == 0 and not os.path.exists("/proc/self/ns/user"), reason="root may write anywhere"
)
def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    write_study(tmp_path)
    assert lock(tmp_path).code == 0
    (tmp_path / "study.runs").write_text("a file where the folder should be")
    refused(harness("run", folder=tmp_path), "study.runs")


def _mounted(folder: Path, kilobytes: int) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A folder on a disk of its own that is nearly full; skipped where mounting is not permitted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not _mounted(folder, 700):
        pytest.skip("mounting a small tmpfs is not permitted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=False)


def test_a_full_disk_is_named_and_the_run_goes_on_when_there_is_room(small_disk: Path) -> None:
    write_study(small_disk, seeds=[1, 2])
    assert lock(small_disk).code == 0
    called = harness("run", "--only", "arm=grpo,seed=1", folder=small_disk)
    assert called.code == 5, called.err
    assert "no space left" in called.err
    assert "Traceback" not in called.err
    subprocess.run(["mount", "-o", "remount,size=40m", str(small_disk)], check=True)
    again = harness("run", "--only", "arm=grpo,seed=1", folder=small_disk)
    assert again.code == 0, again.err
