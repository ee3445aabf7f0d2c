"""vLLM's CPU build on the built-in model: run by `nox -s vllm`, skipped where vLLM is not installed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from transformers import AutoTokenizer

from harness.builtin import ARITHMETIC_110K
from harness.ledger.reader import RunLedger, content_digest, read_run
from prereg.trainer import Adapter, FullAdapter, LoraAdapter
from prereg.trainer import VllmEngine as VllmSpec
from tests.harness.studies import benchmark, tiny, write_study
from trainers.engines import EngineDied, Sampling
from trainers.policy import Batch, Policy
from trainers.types import Completion, Request

pytest.importorskip("vllm")

LORA = LoraAdapter(kind="lora", rank=4, alpha=8.0, targets=("q_proj", "v_proj", "up_proj"))
STUDY: dict[str, Any] = {
    "trainer": {
        "prompts_per_update": 4, "samples_per_prompt": 8, "max_new_tokens": 48,
        "optimizer": {"learning_rate": 1e-3}, "engine": {"kind": "vllm", "max_batch": 64},
    },
    "seeds": [1, 2],
    "budget": {"updates": 4, "generated_tokens": 4000},
    "data": {
        "training": {
            "source": {"kind": "builtin", "split": "train", "size": 64}, "grader": {"kind": "exact"}
        },
        "benchmarks": {"easy": benchmark("easy")},
    },
    "environment": {"commit_seconds": 0.05},
}  # fmt: skip

DENSE = {
    "dense": {
        "role": "treatment",
        "trainer": {"reward": {"kind": "mc_value_hard", "boundaries": {"kind": "uniform", "steps": 2}}},
    }
}


def policy(adapter: Adapter) -> Policy:
    return Policy.load(ARITHMETIC_110K, dtype="float32", adapter=adapter, device=torch.device("cpu"), seed=3)


def started(trained: Policy) -> Any:
    from trainers.engines.vllm import VllmEngine

    tokenizer = AutoTokenizer.from_pretrained(ARITHMETIC_110K)
    return VllmEngine(
        VllmSpec(kind="vllm"), trained, tokenizer, ARITHMETIC_110K, stop=[], max_length=80, dtype="float32"
    )


@pytest.fixture(scope="module", params=["full", "lora"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Policy, Any]]:
    trained = policy(FullAdapter() if request.param == "full" else LORA)
    engine = started(trained)
    yield trained, engine
    engine.close()


def requests(count: int = 64) -> list[Request]:
    tokenizer = AutoTokenizer.from_pretrained(ARITHMETIC_110K)
    problems = ["5+5-1=", "7+2=", "9-3+4-1="]
    return [Request(tuple(tokenizer.encode(problems[key % 3])), key) for key in range(count)]


def gaps(trained: Policy, asked: list[Request], completions: list[Completion]) -> np.ndarray:
    batch = Batch.of([r.token_ids for r in asked], [c.token_ids for c in completions], torch.device("cpu"))
    with torch.no_grad():
        logprob = trained.statistics(batch, 1.0).logprob.numpy()
    return np.abs(logprob - np.concatenate([c.logprobs for c in completions]))


def test_log_probabilities_agree_with_the_trainers_after_any_number_of_syncs(
    pair: tuple[Policy, Any],
) -> None:
    """In bulk within 1e-5; a single token of a law this sharp may be off by a few times that in float32."""
    trained, engine = pair
    base = trained.digest(base=True)
    generator = torch.Generator().manual_seed(0)
    for _ in range(3):
        found = gaps(trained, requests(), engine.generate(requests(), Sampling(48)))
        assert np.quantile(found, 0.99) < 1e-5
        assert found.max() < 1e-4
        with torch.no_grad():
            for parameter in trained.trainable.values():
                parameter.add_(0.02 * torch.randn(parameter.shape, generator=generator))
        engine.sync()
    assert trained.digest(base=True) == base


def test_a_sync_that_is_left_out_is_seen_in_the_gap(pair: tuple[Policy, Any]) -> None:
    trained, engine = pair
    with torch.no_grad():
        for parameter in trained.trainable.values():
            parameter.mul_(1.3)
    assert gaps(trained, requests(), engine.generate(requests(), Sampling(48))).max() > 1e-2
    engine.sync()
    found = gaps(trained, requests(), engine.generate(requests(), Sampling(48)))
    assert np.quantile(found, 0.99) < 1e-4


def test_a_request_gives_the_same_completion_whatever_is_asked_beside_it(pair: tuple[Policy, Any]) -> None:
    _, engine = pair
    whole = engine.generate(requests(), Sampling(48))
    few = engine.generate(requests()[:5], Sampling(48))
    assert [c.token_ids.tolist() for c in few] == [c.token_ids.tolist() for c in whole[:5]]


def test_an_engine_that_dies_says_so_and_begins_again(pair: tuple[Policy, Any]) -> None:
    trained, engine = pair
    before = engine.generate(requests(), Sampling(48))
    for pid in engine.processes():
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)
    with pytest.raises(EngineDied):
        engine.generate(requests(), Sampling(48))
    engine.sync()  # a dead engine is not noticed here: what came before a sync must not be done again
    engine.restart()
    after = engine.generate(requests(), Sampling(48))
    assert [c.token_ids.tolist() for c in after] == [c.token_ids.tolist() for c in before]
    assert np.quantile(gaps(trained, requests(), after), 0.99) < 1e-4


def command(study: Path, run: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "harness",
        "run",
        str(study),
        "--exploratory",
        "--slots",
        "1",
        "--only",
        run,
    ]


def ledger_of(study: Path, run: str) -> RunLedger:
    folder = next(study.parent.glob(f"**/{run}"))
    found = read_run(folder)
    assert found is not None
    return found


def finish(study: Path, arm: str) -> RunLedger:
    done = subprocess.run(
        command(study, f"arm={arm},seed=1"), capture_output=True, text=True, timeout=400,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return ledger_of(study, f"{arm}.small.s1")


@pytest.mark.parametrize("adapter", [{"kind": "full"}, LORA.model_dump(mode="json")])
def test_every_kind_of_arm_runs_through_the_command_line(tmp_path: Path, adapter: dict[str, Any]) -> None:
    changes = STUDY | {"trainer": STUDY["trainer"] | {"adapter": adapter}, "arms": tiny()["arms"] | DENSE}
    study = write_study(tmp_path, **changes)
    for arm in ("grpo", "mcpo", "dense"):
        updates = finish(study, arm).table("updates").to_pylist()
        assert len(updates) >= 4
        gap = [row["logprob_gap"] for row in updates if row["logprob_gap"] is not None]
        assert gap
        assert max(gap) < 1e-5
    purposes = ledger_of(study, "dense.small.s1").table("sequences")["purpose"].to_pylist()
    assert "continuation" in purposes


def test_a_killed_run_and_a_killed_engine_are_taken_up_again(tmp_path: Path) -> None:
    """SIGKILL to the run's processes, then to the engine alone: the ledger equals the uninterrupted one."""
    unclaimed = {"hypotheses": [], "kind": "pilot"}
    changes = STUDY | unclaimed | {"budget": {"updates": 40, "clock": "counted"}}
    whole = finish(write_study(tmp_path / "whole", **changes), "grpo")
    study = write_study(tmp_path / "killed", **changes)
    started = subprocess.Popen(
        command(study, "arm=grpo,seed=1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    wait_for_updates(study, 2)
    for process in [*psutil.Process(started.pid).children(recursive=True), psutil.Process(started.pid)]:
        process.kill()
    started.wait()
    again = subprocess.Popen(
        command(study, "arm=grpo,seed=1"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    wait_for_updates(study, 6)
    for process in engine_of(again.pid):
        process.kill()
    _, errors = again.communicate(timeout=400)
    assert again.returncode == 0, errors[-3000:]
    resumed = ledger_of(study, "grpo.small.s1")
    assert content_digest(resumed) == content_digest(whole)
    assert resumed.table("lost").num_rows >= 1


def wait_for_updates(study: Path, count: int) -> None:
    """Until the run has made so many updates."""
    for _ in range(2400):
        found = list(study.parent.glob("**/grpo.small.s1/progress.json"))
        if found and json.loads(found[0].read_text())["updates"] >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"the run did not come to {count} updates")


def engine_of(pid: int) -> list[psutil.Process]:
    """vLLM's processes below `harness run`."""
    children = psutil.Process(pid).children(recursive=True)
    found = [child for child in children if "VLLM" in " ".join(child.cmdline())]
    assert found, [child.cmdline() for child in children]
    return found


def test_grpo_learns_alike_through_both_engines(tmp_path: Path) -> None:
    """120 updates: the mean reward of the last thirty rises above that of the first, and by as much."""
    rewards = {}
    for kind in ("transformers", "vllm"):
        changes = STUDY | {
            "budget": {"updates": 120},
            "trainer": STUDY["trainer"]
            | {"prompts_per_update": 8, "engine": {"kind": kind}, "optimizer": {"learning_rate": 2e-4}},
            "hypotheses": [],
            "kind": "pilot",
        }
        study = write_study(tmp_path / kind, **changes)
        rows = finish(study, "grpo").table("updates").to_pylist()
        values = np.array([row["reward"] for row in rows])
        rewards[kind] = (values[:30].mean(), values[-30:].mean())
    for first, last in rewards.values():
        assert last > first + 0.02
    assert abs(rewards["vllm"][1] - rewards["transformers"][1]) < 0.1
