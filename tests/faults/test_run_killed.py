"""SIGKILL at random moments of a real run; what comes out equals the run that was never interrupted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.cell_process import run_cell
from harness.cells import cells_of
from harness.folders import RunFolder
from harness.ledger.digest import LEFT_OUT_PHASES
from harness.ledger.reader import RunLedger, content_digest, read_run
from tests.harness.arms import CHARGED, METHODS
from tests.harness.studies import loaded, tiny, write_study

BUDGET = {"updates": 30, "generated_tokens": 9000, "device_seconds": 0.25, "clock": "counted"}
TWICE = {"grid": {"axis": "updates", "every": 4}, "pass_k": [1, 2, 4], "reevaluate": True}
"""The second evaluation is interrupted like the first."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunLedger:
    folder = tmp_path_factory.mktemp("whole")
    study = loaded(folder, budget=BUDGET, evaluation=TWICE)
    cell = cells_of(study.study)[0]
    target = RunFolder(folder / cell.run_id)
    assert run_cell(study.study, folder, cell, target, {"lock": None}, orphaned=lambda: False)
    ledger = read_run(target.path)
    assert ledger is not None
    return ledger


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_killed_a_dozen_times_equals_the_uninterrupted_one(
    whole: RunLedger, tmp_path: Path, seed: int
) -> None:
    write_study(tmp_path, budget=BUDGET, evaluation=TWICE)
    command = [sys.executable, "-m", "tests.faults.run_child", str(tmp_path), "12", str(seed)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=240, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["killed"] == 12
    assert len(set(outcome["commits_seen"])) >= 4, "the kills did not spread over the run"
    ledgers = [read_run(Path(folder)) for folder in outcome["finished"]]
    for resumed in ledgers:
        assert resumed is not None
        _assert_equal(resumed, whole)
        assert len(whole.table("reevaluations"))
        assert resumed.table("reevaluations").equals(whole.table("reevaluations"))
        assert len(resumed.table("lost")) == resumed.resumes
    assert sum(len(ledger.table("lost")) for ledger in ledgers if ledger) >= 3


@pytest.mark.parametrize("reward", ["mc_advantage", pytest.param("prime", marks=pytest.mark.slow)])
def test_dense_rewards_and_what_selection_and_reward_have_learned_survive_kills(
    tmp_path: Path, reward: str
) -> None:
    trainer = METHODS[reward] | METHODS["prior"]
    changes: dict[str, Any] = {
        "arms": {"both": {"role": "treatment", "trainer": trainer}}, "hypotheses": [], "kind": "pilot",
        "budget": {"updates": 6, "clock": "counted"}, "evaluation": {"pass_k": [1]},
    }  # fmt: skip
    study = loaded(tmp_path / "whole", **changes)
    cell = cells_of(study.study)[0]
    target = RunFolder(tmp_path / "whole" / cell.run_id)
    assert run_cell(study.study, study.folder, cell, target, {"lock": None}, orphaned=lambda: False)
    whole = read_run(target.path)
    assert whole is not None
    purposes = set(whole.table("sequences")["purpose"].to_pylist())
    assert purposes == {"rollout", "screening"} | CHARGED.get(reward, set())
    write_study(tmp_path, **changes)
    command = [sys.executable, "-m", "tests.faults.run_child", str(tmp_path), "3", "3"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=240, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["killed"] == 3
    for folder in outcome["finished"]:
        resumed = read_run(Path(folder))
        assert resumed is not None
        _assert_equal(resumed, whole)
        assert resumed.table("selections").equals(whole.table("selections"))


def _assert_equal(resumed: RunLedger, whole: RunLedger) -> None:
    """The content, and every table and second that the kills could have touched."""
    assert content_digest(resumed) == content_digest(whole)
    for table in ("updates", "readings", "evaluations"):
        assert resumed.table(table).equals(whole.table(table)), table
    seconds = [
        [(c["step"], c["phase"], c["device_seconds"]) for c in ledger.table("costs").to_pylist()
         if c["phase"] not in LEFT_OUT_PHASES]
        for ledger in (resumed, whole)
    ]  # fmt: skip
    assert seconds[0] == seconds[1]


def test_a_damaged_checkpoint_stops_the_run_and_is_named(tmp_path: Path) -> None:
    study = loaded(tmp_path, budget=tiny()["budget"] | {"updates": 12})
    cell = cells_of(study.study)[0]
    folder = RunFolder(tmp_path / cell.run_id)
    stop_soon = iter([False] * 6 + [True] * 100)
    assert not run_cell(study.study, tmp_path, cell, folder, {"lock": None}, orphaned=lambda: next(stop_soon))
    newest = sorted((folder.path / "commits").iterdir())[-1]
    weights = newest / "checkpoint" / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    weights.write_bytes(bytes(content))
    with pytest.raises(Exception, match=r"weights\.safetensors"):
        run_cell(study.study, tmp_path, cell, folder, {"lock": None}, orphaned=lambda: False)
    shutil.rmtree(newest)


def test_a_clean_stop_commits_and_loses_nothing(tmp_path: Path, whole: RunLedger) -> None:
    study = loaded(tmp_path, budget=BUDGET, evaluation=TWICE)
    cell = cells_of(study.study)[0]
    folder = RunFolder(tmp_path / cell.run_id)
    asked = iter([False] * 4 + [True] + [False] * 10_000)
    assert not run_cell(study.study, tmp_path, cell, folder, {"lock": None}, orphaned=lambda: next(asked))
    assert run_cell(study.study, tmp_path, cell, folder, {"lock": None}, orphaned=lambda: False)
    ledger = read_run(folder.path)
    assert ledger is not None
    assert content_digest(ledger) == content_digest(whole)
    assert all(row["steps"] == 0 for row in ledger.table("lost").to_pylist())
