"""`harness run` killed, interrupted and started twice: real processes, through the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.cli import ENVIRONMENT, harness
from tests.harness.studies import tiny, write_study

BUDGET = tiny()["budget"] | {"updates": 40}


@pytest.fixture
def started(tmp_path: Path) -> tuple[Path, subprocess.Popen[str]]:
    """A locked study whose run has committed something and is still going."""
    write_study(tmp_path, seeds=[1, 2], budget=BUDGET)
    assert harness("prereg", "lock", folder=tmp_path).code == 0
    process = start(tmp_path)
    wait_for(lambda: len(list(tmp_path.glob("study.runs/*/commits/00*"))) >= 3)
    return tmp_path, process


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "harness", "run", "--json"], cwd=folder, env=os.environ | ENVIRONMENT,
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)


def finish(folder: Path) -> None:
    called = harness("run", "--json", folder=folder)
    assert called.code == 0, called.err
    assert {run["state"] for run in called.json()["runs"]} == {"finished"}
    verified = harness("prereg", "verify", folder=folder)
    assert verified.code == 0, verified.err


def test_killed_outright_it_goes_on_from_its_commits(started: tuple[Path, subprocess.Popen[str]]) -> None:
    folder, process = started
    process.kill()
    process.communicate()
    finish(folder)
    events = [json.loads(line)["kind"] for line in (folder / "study.events.jsonl").read_text().splitlines()]
    assert "run_resumed" in events
    assert events.count("run_finished") == 4


def test_ctrl_c_commits_and_says_how_to_go_on(started: tuple[Path, subprocess.Popen[str]]) -> None:
    folder, process = started
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out)["interrupted"] is True
    assert "Traceback" not in err
    assert not list(folder.glob("study.runs/*/commits/*.tmp-*"))
    states = {run["state"] for run in harness("status", "--json", folder=folder).json()["runs"]}
    assert states <= {"stopped", "planned", "finished"}
    finish(folder)


def test_a_second_run_of_one_study_is_refused_and_changes_nothing(
    started: tuple[Path, subprocess.Popen[str]],
) -> None:
    folder, process = started
    called = harness("run", folder=folder)
    assert called.code == 3
    assert f"process {process.pid}" in called.err
    assert {run["state"] for run in harness("status", "--json", folder=folder).json()["runs"]} >= {"running"}
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130


@pytest.mark.parametrize("seconds", [0.6, 1.5])
def test_ctrl_c_while_it_starts_is_as_clean(tmp_path: Path, seconds: float) -> None:
    write_study(tmp_path, budget=BUDGET)
    assert harness("prereg", "lock", folder=tmp_path).code == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", "run"], cwd=tmp_path, env=os.environ | ENVIRONMENT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in err, err
