"""Workers that hang, die or talk nonsense, played by a small script."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from harness.grading.pool import Pool, WorkerError
from tests.harness.grading.workers import workers

SCRIPT = """
import json, os, sys, time
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    act = request["gold"]
    if act == "hang":
        time.sleep(60)
    if act == "die":
        os.kill(os.getpid(), 9)
    print(json.dumps({"id": request["id"], "state": act}), flush=True)
    if act == "limit":
        time.sleep(60)
"""


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    (tmp_path / "worker.py").write_text(SCRIPT)
    made = Pool(2, seconds=0.5, memory_mb=100, script=tmp_path / "worker.py")
    yield made
    made.close()


def asked(*acts: str) -> list[dict[str, str]]:
    return [{"gold": act} for act in acts]


def test_replies_come_back_in_order(pool: Pool) -> None:
    acts = [str(i) for i in range(200)]
    assert pool.run(asked(*acts)) == acts
    assert pool.run([]) == []
    assert pool.killed == 0


@pytest.mark.parametrize("fault", ["hang", "die", "limit"])
def test_a_fault_costs_its_own_answer_only(pool: Pool, fault: str) -> None:
    acts = ["a", fault, "b", "c", fault, "d", "e"]
    begun = time.monotonic()
    assert pool.run(asked(*acts)) == ["a", "limit", "b", "c", "limit", "d", "e"]
    assert time.monotonic() - begun < 5
    assert pool.killed == 2
    assert pool.run(asked("after")) == ["after"]


def test_a_worker_that_died_between_two_calls_costs_nothing(pool: Pool) -> None:
    assert pool.run(asked("a", "b")) == ["a", "b"]
    children = workers()
    for child in children:
        child.kill()
    psutil.wait_procs(children, timeout=5)
    assert pool.run(asked("c", "d")) == ["c", "d"]


def test_it_works_off_the_main_thread(pool: Pool) -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.extend(pool.run(asked("a", "hang", "b"))))
    thread.start()
    thread.join(10)
    assert found == ["a", "limit", "b"]


def test_a_worker_that_does_not_start_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text("raise SystemExit(7)")
    pool = Pool(1, seconds=0.5, memory_mb=100, script=tmp_path / "worker.py")
    with pytest.raises(WorkerError, match="exit status 7"):
        pool.run(asked("a"))
    pool.close()


def test_workers_that_are_killed_while_they_start_cost_no_answer(tmp_path: Path) -> None:
    # The first seven die before they come to life; more than that may be the installation.
    count = tmp_path / "count"
    (tmp_path / "worker.py").write_text(
        "import os, sys\n"
        f"with open({str(count)!r}, 'a') as file:\n    file.write('x')\n"
        f"if os.path.getsize({str(count)!r}) <= 7:\n    os.kill(os.getpid(), 9)\n" + SCRIPT
    )
    pool = Pool(1, seconds=5, memory_mb=100, script=tmp_path / "worker.py")
    assert pool.run(asked("a", "b")) == ["a", "b"]
    assert pool.killed == 7
    pool.close()


def test_closing_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text(SCRIPT)
    before = set(workers())
    pool = Pool(2, seconds=5, memory_mb=100, script=tmp_path / "worker.py")
    pool.run(asked("a", "b"))
    assert set(workers()) - before
    pool.close()
    assert not set(workers()) - before
