"""The same ledger gives the same report byte for byte, whatever the threads, the files and the rows."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.ledger.encoding import parquet_bytes
from harness.ledger.manifest import NAME as MANIFEST
from harness.ledger.manifest import FileFact, load
from harness.ledger.schema import arrow_schema
from prereg.events import append_event
from tests.e2e.cli import ENVIRONMENT
from tests.harness.simulation.truths import arm, study, write
from tests.harness.studies import hypothesis
from tests.inprocess import called

EPOCH = {"SOURCE_DATE_EPOCH": "1790000000"}
ROOT = Path(__file__).parents[2]
SECTIONS = (
    "The difference along the budget",
    "Predicted by the gradient test, and realised",
    "Differs from the lock",
    "reason given: a better sentence",
)


def claim(name: str, test: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return hypothesis(id=name, test=test, acknowledge_underpowered=True, **changes)


def plan() -> dict[str, Any]:
    """A study that asks for every analysis there is."""
    return study(
        seeds=[1, 2, 3, 4, 5],
        arms={
            "grpo": {"role": "control"},
            "mcpo": {"role": "treatment", "trainer": {"credit": {"kind": "margin"}}},
            "fast": {"role": "treatment", "trainer": {"optimizer": {"learning_rate": 2e-3}}},
        },
        hypotheses=[
            claim("h1", {"kind": "paired_t"}, family="all",
                  sensitivity=[{"kind": "wild_bootstrap"}, {"kind": "sign_flip"}]),
            claim("h2", {"kind": "crossed_satterthwaite"}, matched_on="updates", family="all",
                  population={"problems": "sampled"}),
            claim("h3", {"kind": "tost"}, treatment="fast", direction="equivalent", margin=4.0),
            claim("h4", {"kind": "sign_flip"}, metric={"kind": "pass", "k": 4}, benchmarks=["hard"]),
        ],
        families={"all": {"method": "holm"}},
        strata={"by": "cross_fit", "cut_points": [0.25, 0.6]},
        controls={
            "length": {"measure": "length", "relative_to": "grpo", "at_most": 1.01, "arms": ["mcpo"]},
            "cut": {"measure": "truncation", "at_most": 0.5},
        },
    )  # fmt: skip


def prediction() -> dict[str, Any]:
    """A stored gradient test, its numbers of no meaning."""
    row = {
        "gain": 0.1, "cosine": 1 / 3, "versus_uniform": {"estimate": 0.2, "low": 0.1, "high": 0.3},
        "permuted_less_uniform": {"mean": 0.0, "low": -0.1, "high": 0.1}, "within": 0.6, "between": 0.4,
        "gain_per_1000_tokens": 0.7, "gain_per_device_second": 2 / 7,
    }  # fmt: skip
    one = {
        "arm": "grpo", "model": "small", "seed": 1, "checkpoint": "start", "made_at": "2026-01-01",
        "runs_begun": 0, "prompts": 8, "noise_floor": 0.01, "candidates": {"grpo": row, "mcpo": row},
        "left_out": {"fast": "its signal is that of grpo"},
    }  # fmt: skip
    return {"tests": [one]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A locked study, its runs made up in the place of real ones, and amended afterwards."""
    folder = tmp_path_factory.mktemp("bytes")
    document = plan()
    study_path, truth_path = write(
        folder, document, arms={"grpo": arm(), "mcpo": arm(gain=1.6), "fast": arm(gain=1.1)}
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SOURCE_DATE_EPOCH", EPOCH["SOURCE_DATE_EPOCH"])
        done("prereg", "lock", str(study_path))
        done("simulate", str(study_path), "--truth", str(truth_path), "--out", str(folder / "study.runs"))
        log_ends(folder)
        document["hypotheses"][0]["statement"] = "MCPO beats GRPO, said otherwise."
        study_path.write_text(json.dumps(document, indent=1), encoding="utf-8")
        done("prereg", "amend", str(study_path), "--reason", "a better sentence")
    (folder / "study.gradient.json").write_text(json.dumps(prediction()), encoding="utf-8")
    return folder


def done(*command: str) -> None:
    code, _, err = called(*command)
    assert code == 0, err


def log_ends(folder: Path) -> None:
    """Write the ends of the runs into the event log, as `harness run` does."""
    for marker in sorted(folder.glob("study.runs/*/complete.json")):
        ended = json.loads(marker.read_text(encoding="utf-8"))
        data = {"run": ended["run"], "content_digest": ended["content_digest"]}
        moment = datetime(2026, 1, 3, tzinfo=UTC)
        append_event(folder / "study.events.jsonl", "run_finished", f"{ended['run']} finished", moment, data)


def report(folder: Path, threads: int, order: str) -> dict[str, str]:
    """The SHA-256 of every file of the report."""
    many = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, str(ROOT / "tests/e2e/report_child.py"), str(threads), order], cwd=folder,
        capture_output=True, text=True, env=os.environ | ENVIRONMENT | EPOCH | many,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    place = folder / "study.report"
    return {
        str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


def shuffle_rows(folder: Path) -> None:
    """Put the rows of every table of every run in another order, with manifests that fit."""
    random = np.random.default_rng(0)
    for manifest_path in sorted(folder.glob(f"study.runs/*/tables/{MANIFEST}")):
        manifest, _ = load(manifest_path)
        files = dict(manifest.files)
        for name, fact in files.items():
            path = manifest_path.parent / name
            table_name = name.removesuffix(".parquet")
            table = pq.read_table(path, schema=arrow_schema(table_name))
            data = parquet_bytes(table_name, table.take(pa.array(random.permutation(len(table)))))
            path.write_bytes(memoryview(data))
            files[name] = FileFact(hashlib.sha256(data).hexdigest(), data.size, fact.rows)
        manifest_path.write_bytes(dataclasses.replace(manifest, files=files).to_bytes())


def test_threads_and_order_change_no_byte(made: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(made, tmp_path / name)
    shuffle_rows(tmp_path / "two")
    one = report(tmp_path / "one", 1, "as written")
    two = report(tmp_path / "two", 2, "reversed")
    assert len(one) > 20
    assert {name for name in one.keys() | two.keys() if one.get(name) != two.get(name)} == set()
    page = (tmp_path / "one/study.report/report.html").read_text(encoding="utf-8")
    for words in SECTIONS:
        assert words in page, words
    for table in ("along", "along_quantities", "controls", "strata", "length_regression", "gradient"):
        assert any(name.startswith(f"tables/{table}") for name in one), table
