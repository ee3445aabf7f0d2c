"""Sources on the Hub through its own client: read, owed where there is no network, filled in, and
compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness.hubserver import Files, hub
from tests.harness.studies import tiny, write_study

ROOT = Path(__file__).parents[2]
REVISION = "0123456789abcdef0123456789abcdef01234567"
NOWHERE = "http://127.0.0.1:9"
"""Port 9 discards, and nothing listens on it here."""
ROWS = [{"problem": f"{n}+{n}=", "answer": str(2 * n)} for n in range(10, 18)]


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def served(rows: list[dict[str, Any]] = ROWS) -> Files:
    return {f"datasets/someone/sums@{REVISION}/data/test.jsonl": jsonl(rows)}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    source = {"kind": "hub", "id": "someone/sums", "revision": REVISION, "file": "data/test.jsonl"}
    benchmark = {"source": source, "grader": {"kind": "exact"}, "samples": 4, "max_new_tokens": 48}
    training = {"source": {"kind": "builtin", "split": "train", "size": 64}, "grader": {"kind": "exact"}}
    return write_study(tmp_path, data={"training": training, "benchmarks": {"sums": benchmark}})


def harness(endpoint: str, cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "HF_ENDPOINT": endpoint, "HF_HOME": str(cache), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1",
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_data_set_that_can_be_had_is_locked_by_its_content(study: Path, tmp_path: Path) -> None:
    with hub(served()) as endpoint:
        done = harness(endpoint, tmp_path / "cache", "prereg", "lock", str(study))
    assert done.returncode == 0, done.stderr
    sources = json.loads(study.with_suffix(".lock.json").read_text())["sources"]
    source = sources["data.benchmarks.sums"]
    assert (source["owed"], source["items"]) == (False, 8)
    assert source["what"] == f"8 problems of someone/sums@{REVISION}: data/test.jsonl"


def test_what_cannot_be_had_is_owed_then_filled_in_and_then_compared(study: Path, tmp_path: Path) -> None:
    done = harness(NOWHERE, tmp_path / "empty", "prereg", "lock", str(study))
    assert done.returncode == 0, done.stderr
    assert "data.benchmarks.sums: its content cannot be had from here" in done.stderr
    source = json.loads(study.with_suffix(".lock.json").read_text())["sources"]["data.benchmarks.sums"]
    assert (source["owed"], source["what"]) == (True, f"someone/sums@{REVISION}: data/test.jsonl")

    # Without the data nothing contradicts the lock, and nothing runs.
    open_ends = harness(NOWHERE, tmp_path / "empty", "prereg", "verify", str(study))
    assert open_ends.returncode == 0
    assert "all as locked" not in open_ends.stdout
    # The model and the training problems come with the project.
    assert "1 of its 3 models and problem sets could not be compared" in open_ends.stdout
    refused = harness(NOWHERE, tmp_path / "empty", "run", str(study))
    assert refused.returncode == 3
    assert "data.benchmarks.sums cannot be had from here" in refused.stderr

    with hub(served()) as endpoint:
        filled = harness(endpoint, tmp_path / "cache", "prereg", "verify", str(study))
        assert filled.returncode == 0, filled.stderr
        assert "filled in by the event log" in filled.stderr
        assert "all as locked" in filled.stdout
    # The same revision with another answer: someone altered it after it was first seen.
    altered = [*ROWS[:-1], {"problem": "17+17=", "answer": "35"}]
    with hub(served(altered)) as endpoint:
        differs = harness(endpoint, tmp_path / "other", "prereg", "verify", str(study))
    assert differs.returncode == 4
    assert "sources.data.benchmarks.sums.sha256" in differs.stderr


def test_what_the_lock_would_have_refused_is_refused_when_it_is_first_seen(
    study: Path, tmp_path: Path
) -> None:
    assert harness(NOWHERE, tmp_path / "empty", "prereg", "lock", str(study)).returncode == 0
    with hub(served([{"problem": "1+1=", "answer": "two"}])) as endpoint:
        done = harness(endpoint, tmp_path / "cache", "run", str(study))
    assert done.returncode == 3
    assert "'two' is not an integer" in done.stderr
    assert "fetched" not in study.with_suffix(".events.jsonl").read_text()


def test_a_wrong_file_or_revision_is_refused_and_not_owed(study: Path, tmp_path: Path) -> None:
    files = {f"datasets/someone/sums@{REVISION}/other.jsonl": jsonl(ROWS)}
    with hub(files) as endpoint:
        done = harness(endpoint, tmp_path / "cache", "prereg", "lock", str(study))
    assert done.returncode == 3
    assert "has no file 'data/test.jsonl'" in done.stderr
    with hub({}) as endpoint:
        done = harness(endpoint, tmp_path / "cache", "prereg", "lock", str(study))
    assert done.returncode == 3
    assert "there is no data set someone/sums" in done.stderr


def test_a_model_of_the_hub_can_be_owed(tmp_path: Path) -> None:
    source = {"kind": "hub", "id": "someone/model", "revision": REVISION}
    path = write_study(tmp_path, models={"small": {"source": source}})
    done = harness(NOWHERE, tmp_path / "empty", "prereg", "lock", str(path))
    assert done.returncode == 0, done.stderr
    assert "models.small: its content cannot be had" in done.stderr
    assert f"models.small: someone/model@{REVISION} (owed)" in done.stderr


def test_a_lock_of_which_nothing_could_be_compared_is_not_called_sound(tmp_path: Path) -> None:
    hub_model = {"kind": "hub", "id": "someone/model", "revision": REVISION}
    sums = {"kind": "hub", "id": "someone/sums", "revision": REVISION, "file": "data/test.jsonl"}
    data = tiny()["data"]
    bench = data["benchmarks"]["easy"] | {"source": sums}
    owed = {"training": data["training"] | {"source": sums}, "benchmarks": {"sums": bench}}
    path = write_study(tmp_path, models={"small": {"source": hub_model}}, data=owed)
    assert harness(NOWHERE, tmp_path / "empty", "prereg", "lock", str(path)).returncode == 0
    verified = harness(NOWHERE, tmp_path / "empty", "prereg", "verify", str(path))
    assert verified.returncode == 0
    assert "none of its 3 models and problem sets could be compared" in verified.stdout
    assert "3 digests owed" in verified.stdout
