"""Both engines on one model and one batch, in vLLM's environment; prints MEASURED and JSON."""

from __future__ import annotations

import json
import time
from typing import Any

import psutil
import torch
from transformers import AutoTokenizer

from harness.builtin import ARITHMETIC_110K
from harness.tasks.arithmetic import generate
from prereg.trainer import FullAdapter, VllmEngine
from trainers.engines import Engine, Sampling
from trainers.engines.build import build_engine
from trainers.engines.transformers import TransformersEngine
from trainers.policy import Policy
from trainers.types import Request

REQUESTS, ROUNDS, LONGEST = 256, 7, 96


def main() -> None:
    """Time `ROUNDS` batches of each in turn, by the wall and by the CPU time of all their processes."""
    torch.set_num_threads(1)
    policy = Policy.load(
        ARITHMETIC_110K, dtype="float32", adapter=FullAdapter(), device=torch.device("cpu"), seed=0
    )
    tokenizer = AutoTokenizer.from_pretrained(ARITHMETIC_110K)
    vllm = build_engine(
        VllmEngine(kind="vllm"), policy, tokenizer, ARITHMETIC_110K, stop=(), max_length=LONGEST,
        dtype="float32",
    )  # fmt: skip
    engines: dict[str, Engine] = {"transformers": TransformersEngine(policy, tokenizer), "vllm": vllm}
    problems = [item.problem for item in generate("train", REQUESTS, 0)]
    asked = [Request(tuple(tokenizer.encode(text)), key) for key, text in enumerate(problems)]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in engines}
    for turn in range(-2, ROUNDS):
        for name in list(engines)[:: 1 if turn % 2 else -1]:
            row = one_batch(engines[name], asked)
            if turn >= 0:
                found[name].append(row)
    vllm.close()
    print("MEASURED " + json.dumps(found))


def one_batch(engine: Engine, asked: list[Request]) -> dict[str, Any]:
    """Tokens, wall seconds and CPU seconds of one batch."""
    cpu, wall = cpu_seconds(engine), time.perf_counter()
    completions = engine.generate(asked, Sampling(48))
    return {
        "tokens": sum(len(c.token_ids) for c in completions),
        "wall": time.perf_counter() - wall,
        "cpu": cpu_seconds(engine) - cpu,
    }


def cpu_seconds(engine: Engine) -> float:
    """Of this process and of the engine's own."""
    times = [psutil.Process(pid).cpu_times() for pid in engine.processes()]
    return time.process_time() + sum(t.user + t.system for t in times)


if __name__ == "__main__":
    main()
