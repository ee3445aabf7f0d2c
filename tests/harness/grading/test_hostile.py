"""Hostile completions: no hang, no crash, no leak, none scored correct; and workers that die or eat
memory."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from harness.grading.build import make_grader
from harness.grading.math import MathGrader
from harness.grading.pool import Pool
from prereg.sources import MathGrader as MathSpec
from tests.harness.grading.hostile import GOLDS, completion
from tests.harness.grading.workers import workers

ROOT = Path(__file__).parents[3]
SECONDS, MEMORY_MB = 2.0, 512


def graded(count: int, seed: int) -> Counter[str]:
    """Grade so many hostile completions, each followed by an honest one, and look at the workers' memory."""
    rng = random.Random(seed)
    texts = [completion(rng) for _ in range(count)]
    states: Counter[str] = Counter()
    with make_grader(MathSpec(kind="math", timeout_seconds=SECONDS, memory_mb=MEMORY_MB)) as grader:
        for start in range(0, count, 50):
            batch = texts[start : start + 50]
            golds = [rng.choice(GOLDS) for _ in batch]
            found = grader(
                [*golds, "2(x+1)"], [*batch, rf"\boxed{{2x+{start}-{start}+2}}"], [True] * (len(batch) + 1)
            )
            assert found[-1].state == "correct"
            wrong = [
                (g, t[:300]) for g, t, one in zip(golds, batch, found, strict=False) if one.state == "correct"
            ]
            assert wrong == []
            assert all(len(one.answer or "") <= 1001 for one in found)
            (*[(one.answer or "").encode() for one in found],)
            states.update(one.state for one in found[:-1])
            held = [child.memory_info().rss / 2**20 for child in workers()]
            assert all(rss < MEMORY_MB for rss in held)
    assert not Path("/tmp/harness-was-here").exists()
    return states


def test_hundreds_of_hostile_completions() -> None:
    states = graded(300, seed=1)
    assert sum(states.values()) == 300
    assert states["unparseable"] > 30
    assert states["limit"] > 30
    # Nothing may be left to the algebra's luck: a grader's error is for what was foreseen by nobody.
    assert states["grader_error"] <= 6


@pytest.mark.slow
def test_ten_thousand_hostile_completions() -> None:
    states = graded(10_000, seed=2)
    assert sum(states.values()) == 10_000
    assert states["grader_error"] <= 200


def test_a_worker_that_eats_memory_costs_one_answer(tmp_path: Path) -> None:
    # The worker as it is, but that one answer makes it ask for 16 GiB.
    (tmp_path / "worker.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from harness.grading import math_worker\nhonest = math_worker.compare\n"
        "def compare(gold, answer, kind):\n"
        "    return str(len(bytearray(2**34))) if answer == 'eat' else honest(gold, answer, kind)\n"
        "math_worker.compare = compare\nmath_worker.main()\n"
    )
    pool = Pool(1, seconds=60.0, memory_mb=MEMORY_MB, script=tmp_path / "worker.py")
    eater = {"gold": "5", "answer": "eat", "kind": "auto"}
    honest = {"gold": r"\sqrt{8}", "answer": r"2\sqrt{2}", "kind": "auto"}
    assert pool.run([honest, eater, honest]) == ["correct", "limit", "correct"]
    assert pool.killed == 1
    pool.close()


def test_a_worker_beside_a_parent_that_holds_much_memory_stays() -> None:
    held = bytearray(b"x") * (400 * 2**20)
    with make_grader(MathSpec(kind="math", timeout_seconds=20.0, memory_mb=MEMORY_MB)) as grader:
        before = {child.pid for child in workers()}
        assert grader(["3x"], [r"\boxed{x+2x}"], [True])[0].state == "correct"
        assert before & {child.pid for child in workers()}
    assert len(held) == 400 * 2**20


def test_workers_that_are_killed_from_outside_cost_their_answers_only() -> None:
    with make_grader(MathSpec(kind="math", timeout_seconds=20.0)) as grader:
        assert isinstance(grader, MathGrader)
        stop = threading.Event()

        def kill_now_and_then() -> None:
            # Fewer times than a pool tries to start a worker: some are killed before they come to life.
            for _ in range(3):
                if stop.wait(1.5):
                    return
                for child in workers():
                    child.kill()
                    struck.append(child)

        struck: list[psutil.Process] = []
        killer = threading.Thread(target=kill_now_and_then)
        killer.start()
        golds = [f"{n}x+{n}" for n in range(2, 120)]
        begun = time.monotonic()
        states = Counter(
            g.state for g in grader(golds, [rf"\boxed{{{n}(x+1)}}" for n in range(2, 120)], [True] * 118)
        )
        while grader.killed == 0 and time.monotonic() - begun < 30:
            grader(["7x"], [rf"\boxed{{{time.monotonic_ns()}x}}"], [True])
        stop.set()
        killer.join()
        # One that is still dying would take the next answer with it.
        psutil.wait_procs(struck, timeout=20)
        assert set(states) <= {"correct", "limit"}
        assert states["limit"] <= grader.killed
        assert grader.killed > 0
        assert grader(["3x"], [r"\boxed{x+2x}"], [True])[0].state == "correct"


def test_a_worker_that_talks_nonsense_is_replaced(tmp_path: Path) -> None:
    script = (
        "import json, sys\nprint(json.dumps({'ready': True}), flush=True)\nfor line in sys.stdin:\n"
        "    request = json.loads(line)\n    print(request['gold'], flush=True)\n"
    )
    (tmp_path / "worker.py").write_text(script)
    pool = Pool(1, seconds=1.0, memory_mb=100, script=tmp_path / "worker.py")
    nonsense = ["not json", "[1]", '"correct"', "[" * 5000, '{"id": 7, "state": "correct"}']
    assert pool.run([{"gold": text} for text in nonsense]) == ["limit"] * 5
    pool.close()


def test_a_worker_that_holds_much_leaves_and_loses_no_answer(tmp_path: Path) -> None:
    script = (
        "import json, sys\nprint(json.dumps({'ready': True}), flush=True)\nline = sys.stdin.readline()\n"
        "request = json.loads(line)\n"
        "print(json.dumps({'id': request['id'], 'state': request['gold'], 'last': True}), flush=True)\n"
    )
    (tmp_path / "worker.py").write_text(script)
    pool = Pool(2, seconds=5.0, memory_mb=100, script=tmp_path / "worker.py")
    acts = [str(n) for n in range(12)]
    assert pool.run([{"gold": act} for act in acts]) == acts
    assert pool.killed == 0
    pool.close()
