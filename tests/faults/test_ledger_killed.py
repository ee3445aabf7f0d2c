"""A run that is killed at any moment keeps every commit that was acknowledged, and nothing by halves."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.ledger.reader import RunLedger, content_digest, read_run
from tests.faults.ledger_child import write, write_and_die
from tests.harness.ledger import runs
from tests.harness.ledger.runs import whole

STEPS = 3
"""The third commit is the first that takes an old checkpoint away."""


def _check(folder: Path, acknowledged: int) -> RunLedger | None:
    """Whatever stands there is whole, is a prefix of the run, and holds what was acknowledged."""
    run = read_run(folder)
    step = run.step if run else 0
    assert step >= acknowledged
    if run:
        assert run.table("updates")["step"].to_pylist() == list(range(1, step + 1))
        assert run.totals.tokens["rollout"] == runs.writer_tokens(step)
        assert (run.checkpoint / "model.safetensors").read_bytes() == b"weights %d" % step
        assert (run.checkpoint / "state/optimizer.bin").read_bytes() == b"moments %d" % step
    return run


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder on a file system in memory, where there is one: a killed process needs no slow disk."""
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shm if os.access(shm, os.W_OK) else None) as name:
        yield Path(name)


def test_killed_before_every_single_change_to_the_disk(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(memory / "uninterrupted", STEPS, lambda _: None)
    expected = content_digest(whole(read_run(memory / "uninterrupted")))
    template = memory / "two-commits"
    runs.write_run(template, steps=2, evaluate=False)
    # The server that forks the children looks for what it preloads here.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    # A child would otherwise import the main module, which is pytest, again and again.
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.faults.ledger_child"])
    calls = 0
    while True:
        calls += 1
        folder, log = memory / f"run{calls}", memory / f"log{calls}"
        shutil.copytree(template, folder)
        log.touch()
        child = context.Process(target=write_and_die, args=(folder, STEPS, log, calls))
        child.start()
        child.join()
        said = [int(line) for line in log.read_text().split()]
        run = whole(_check(folder, min(max(said, default=2), STEPS)))
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
        write(folder, STEPS, lambda _: None)
        finished = whole(read_run(folder))
        assert finished.compacted
        assert content_digest(finished) == expected
        # The template's end, and this death if a commit came after it, are the two resumptions.
        assert finished.resumes in ((1, 2) if run.step < STEPS else (1,))
        assert not list(folder.rglob("*.tmp-*"))
        shutil.rmtree(folder)
    assert calls > 60
    assert said == [STEPS, STEPS + 1]


def test_killed_twenty_times_at_random_moments(tmp_path: Path) -> None:
    generator = random.Random(1)
    command = [sys.executable, "-m", "tests.faults.ledger_child", str(tmp_path / "run"), "100000"]
    acknowledged = 0
    for _ in range(20):
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        ) as child:
            assert child.stdout is not None
            said = [int(child.stdout.readline())]
            time.sleep(generator.uniform(0, 0.06))
            child.kill()
            said += [int(line) for line in child.stdout if line.endswith("\n")]
        assert said == list(range(acknowledged + 1, acknowledged + 1 + len(said)))
        acknowledged = max(said)
        run = whole(_check(tmp_path / "run", acknowledged))
        acknowledged = run.step
    resumed = whole(read_run(tmp_path / "run"))
    assert resumed.resumes == 19
    assert os.listdir(tmp_path) == ["run"]
