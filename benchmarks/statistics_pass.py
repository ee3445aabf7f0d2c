"""What entropy and margin cost beside the log-probability at a large vocabulary, in time and in memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.measuring import (
    Document,
    Timing,
    child_environment,
    held,
    interleaved,
    one_thread,
    ratios,
    run_alone,
)
from trainers.statistics import token_statistics

VOCABULARY, HIDDEN = 151_936, 896
TOKENS = 256
ROUNDS = 3
TARGET = 1.10

MEMORY_TOKENS = (1024, 4096, 16_384)
MEMORY_HIDDEN = 64
"""A narrow output layer: logits are what could grow with tokens, and their size does not depend on it."""
PLAIN_COPIES = 3
"""Tensors of tokens x vocabulary that the plain way holds at its peak: logits, log_softmax, its gradient."""
PLAIN_LIMIT_GIB = 9.0
"""Above this the plain way is not run; it would swap or be killed on a small machine."""
FLAT = 1.25
"""Allowed growth of peak memory, and of seconds a token, from the fewest tokens to sixteen times as many."""


class LogprobOnly(torch.autograd.Function):
    """The peer: the same chunks and the same recomputing backward pass, but nothing besides the log-prob."""

    @staticmethod
    def forward(
        ctx: Any, hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor, chunk: int
    ) -> torch.Tensor:
        """Log-prob of each target, (tokens,)."""
        normaliser = torch.empty(len(hidden))
        result = torch.empty(len(hidden))
        for start in range(0, len(hidden), chunk):
            part = slice(start, start + chunk)
            logits = torch.nn.functional.linear(hidden[part], weight)
            chosen = logits.gather(1, targets[part, None]).squeeze(1)
            largest = logits.amax(dim=1, keepdim=True)
            total = logits.sub_(largest).exp_().sum(dim=1)
            normaliser[part] = largest.squeeze(1) + total.log()
            result[part] = chosen - normaliser[part]
        ctx.save_for_backward(hidden, weight, targets, normaliser)
        ctx.chunk = chunk
        return result

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """As in `trainers.statistics`."""
        hidden, weight, targets, normaliser = ctx.saved_tensors
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        for start in range(0, len(hidden), ctx.chunk):
            part = slice(start, start + ctx.chunk)
            logits = torch.nn.functional.linear(hidden[part], weight)
            slope = logits.sub_(normaliser[part, None]).exp_().mul_(-grad[part, None])
            slope.scatter_add_(1, targets[part, None], grad[part, None])
            grad_hidden[part] = slope @ weight
            grad_weight += slope.t() @ hidden[part]
        return grad_hidden, grad_weight, None, None


def measure() -> Document:
    """Time at hidden 896, interleaved; memory in fresh processes."""
    one_thread()
    timings = _timings()
    found = {
        part: {
            **{name: timing.summary() for name, timing in values.items()},
            "cpu_ratio": ratios(values["all three"].cpu, values["log-prob"].cpu),
        }
        for part, values in timings.items()
    }
    memory = {name: [_memory(name, tokens) for tokens in MEMORY_TOKENS] for name in ("all three", "plain")}
    ours = [row["peak_gib"] for row in memory["all three"]]
    seconds = [row["cpu_seconds"] / row["tokens"] for row in memory["all three"]]
    return {
        "what": f"vocabulary {VOCABULARY}, hidden {HIDDEN}, {TOKENS} tokens, float32, one thread",
        **found,
        "memory": {
            "what": f"peak above the inputs, forward and backward, hidden {MEMORY_HIDDEN}, chunks of 1024",
            **memory,
        },
        "table": [
            {
                "tokens, hidden 64": own["tokens"],
                "peak, GiB": own["peak_gib"],
                "peak of log_softmax, GiB": plain["peak_gib"],
                "forward and backward, CPU s": own["cpu_seconds"],
                "log_softmax, CPU s": plain["cpu_seconds"],
            }
            for own, plain in zip(memory["all three"], memory["plain"], strict=True)
        ],
        "held": [
            *(
                held(f"log-prob, entropy and margin over log-prob alone, {part}",
                     values["cpu_ratio"]["median"], at_most=TARGET)
                for part, values in found.items()
            ),
            held(f"peak memory at {MEMORY_TOKENS[-1]} tokens over that at {MEMORY_TOKENS[0]}",
                 ours[-1] / ours[0], at_most=FLAT),
            held(f"seconds a token at {MEMORY_TOKENS[-1]} tokens over those at {MEMORY_TOKENS[0]}",
                 seconds[-1] / seconds[0], at_most=FLAT),
        ],
    }  # fmt: skip


def _timings() -> dict[str, dict[str, Timing]]:
    inputs = make_inputs(TOKENS, HIDDEN)

    def variants(backward: bool) -> dict[str, Callable[[], None]]:
        return {
            name: partial(one_pass, name, *inputs, backward=backward) for name in ("log-prob", "all three")
        }

    return {
        "forward": interleaved(variants(False), ROUNDS),
        "forward and backward": interleaved(variants(True), max(2, ROUNDS // 2)),
    }


def make_inputs(tokens: int, hidden: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Hidden states, output weights and targets; logits have a spread like a model's."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(tokens, hidden, generator=generator).requires_grad_()
    weight = (torch.randn(VOCABULARY, hidden, generator=generator) * (2.0 / hidden**0.5)).requires_grad_()
    return states, weight, torch.randint(VOCABULARY, (tokens,), generator=generator)


def one_pass(
    name: str, hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor, *, backward: bool
) -> None:
    """One pass by the named way."""
    if name == "log-prob":
        logprob = LogprobOnly.apply(hidden, weight, targets, 1024)  # type: ignore[no-untyped-call]
    elif name == "all three":
        logprob = token_statistics(hidden, weight, None, targets).logprob
    else:
        law = torch.log_softmax(torch.nn.functional.linear(hidden, weight), dim=1)
        logprob = law.gather(1, targets[:, None]).squeeze(1)
    if backward:
        hidden.grad = weight.grad = None
        logprob.sum().backward()


def _memory(name: str, tokens: int) -> Document:
    """Peak of a fresh process above what its inputs hold, GiB, and its CPU seconds."""
    expected = PLAIN_COPIES * tokens * VOCABULARY * 4 / 2**30
    if name == "plain" and expected > PLAIN_LIMIT_GIB:
        return {
            "tokens": tokens,
            "peak_gib": None,
            "cpu_seconds": None,
            "why": f"not run: would need some {expected:.0f} GiB",
        }
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.statistics_pass", "--memory-of", name, str(tokens)],
        env=child_environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {"tokens": tokens, **json.loads(child.stdout)}


def _print_peak(name: str, tokens: int) -> None:
    one_thread()
    inputs = make_inputs(tokens, MEMORY_HIDDEN)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # start the high-water mark anew
    before, started = _high_water(), time.process_time()
    one_pass(name, *inputs, backward=True)
    seconds = time.process_time() - started
    print(json.dumps({"peak_gib": (_high_water() - before) / 2**20, "cpu_seconds": seconds}))


def _high_water() -> int:
    """Most memory held since the mark was reset, KiB. (`ru_maxrss` would include the parent's.)"""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise OSError("this system does not report a high-water mark")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory-of"]:
        _print_peak(sys.argv[2], int(sys.argv[3]))
    else:
        run_alone(measure)
