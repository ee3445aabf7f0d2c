"""Our half of the comparison with TRL: `python our_side.py FOLDER`, then a number of updates a line."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.builtin import NullMeter, policy_of
from harness.builtin import ARITHMETIC_110K
from harness.models import load_tokenizer
from harness.tasks.arithmetic import generate
from prereg.trainer import Optimizer, Trainer
from trainers.engines.transformers import TransformersEngine
from trainers.loop import Learner
from trainers.types import Grade, Prompt

PROMPTS, SAMPLES, TOKENS = 8, 8, 32
POOL = 512
VOCABULARY = 17
NEVER = 17
"""The end token's id: the first that the model cannot produce."""
SPEC = Trainer(
    prompts_per_update=PROMPTS, samples_per_prompt=SAMPLES, max_new_tokens=TOKENS, temperature=1.0,
    optimizer=Optimizer(learning_rate=1e-6),
)  # fmt: skip


class PartsMeter(NullMeter):
    """CPU seconds by phase."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = defaultdict(float)

    @contextmanager
    def phase(self, name: str, purpose: str | None = None) -> Iterator[None]:
        """Timed."""
        before = time.process_time()
        yield
        self.parts[name] += time.process_time() - before


def save_start(folder: Path, hidden: int, layers: int, heads: int) -> None:
    """A Llama with random weights, the built-in tokenizer and prompts, for both sides."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = load_tokenizer(ARITHMETIC_110K)
    tokenizer.add_special_tokens({"eos_token": "<never>"})
    if tokenizer.eos_token_id != NEVER:
        raise RuntimeError(
            f"the end token got the id {tokenizer.eos_token_id}, within the model's vocabulary"
        )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY, hidden_size=hidden, intermediate_size=3 * hidden, num_hidden_layers=layers,
            num_attention_heads=heads, num_key_value_heads=heads, head_dim=32, max_position_embeddings=128,
            tie_word_embeddings=True, pad_token_id=0, eos_token_id=NEVER, bos_token_id=None,
        )
    ).save_pretrained(folder)  # fmt: skip
    problems = [item.problem for item in generate("train", POOL, 0)]
    (folder / "prompts.json").write_text(json.dumps(problems), encoding="utf-8")


def reward_of(text: str) -> float:
    """0 or 1 by a hash of the text, so that groups are informative and no answer has to be right."""
    return float(hashlib.blake2b(text.encode(), digest_size=1).digest()[0] & 1)


def graded(golds: list[str], texts: list[str], finished: list[bool]) -> list[Grade]:
    """Grades whose outcome reward is `reward_of`."""
    return [Grade("correct" if reward_of(text) else "incorrect", None) for text in texts]


def serve(folder: Path) -> None:
    """Make as many updates as each line of the input says, and print what they took."""
    from benchmarks.measuring import one_thread

    one_thread()
    tokenizer = load_tokenizer(folder)
    problems = json.loads((folder / "prompts.json").read_text(encoding="utf-8"))
    prompts = [Prompt(text, tuple(tokenizer.encode(text)), "") for text in problems]
    policy, meter = policy_of(SPEC, folder), PartsMeter()
    learner = Learner(SPEC, policy, TransformersEngine(policy, tokenizer), prompts, graded, meter, seed=1)
    step = 0
    for line in sys.stdin:
        meter.parts.clear()
        cpu, wall, tokens = time.process_time(), time.perf_counter(), 0
        for _ in range(int(line)):
            step += 1
            tokens += sum(len(c.token_ids) for c in learner.update(step, 1e-6).completions)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        answer = {"cpu": cpu, "wall": wall, "tokens": tokens, "parts": dict(meter.parts)}
        print("MEASURED " + json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
