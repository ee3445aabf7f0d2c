"""TRL's half of the comparison, run by its own environment; imports nothing of this project.

Everything that TRL can leave out is left out: no logging, no saving, no progress bar, no gradient
checkpointing, float32 on the CPU as on our side, the fused optimizer, no KL and so no reference model.
"""

import hashlib
import json
import sys
import time
from collections import defaultdict
from pathlib import Path

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

PROMPTS, SAMPLES, TOKENS = 8, 8, 32


class Turns(TrainerCallback):
    """Waits for a number before an update, and says what the updates took when they are done."""

    def __init__(self, parts):
        self.parts = parts
        self.left = 0
        self.count = 0

    def on_step_begin(self, args, state, control, **kwargs):
        """Report the updates made, if any, then wait."""
        if self.left == 0:
            self.wait()

    def on_step_end(self, args, state, control, **kwargs):
        """An update is over."""
        self.left -= 1

    def wait(self):
        """The next number; the process ends with its input."""
        if self.count:
            answer = {
                "cpu": time.process_time() - self.cpu, "wall": time.perf_counter() - self.wall,
                "tokens": self.parts.pop("tokens"), "parts": dict(self.parts),
            }  # fmt: skip
            print("MEASURED " + json.dumps(answer), flush=True)
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        self.left = self.count = int(line)
        self.parts.clear()
        self.cpu, self.wall = time.process_time(), time.perf_counter()


def timed(function, name, parts):
    """The function, its CPU seconds added to a part."""

    def wrapped(*args, **kwargs):
        before = time.process_time()
        result = function(*args, **kwargs)
        parts[name] += time.process_time() - before
        return result

    return wrapped


def serve(folder):
    """Train for ever, as the input allows."""
    torch.set_num_threads(1)
    parts = defaultdict(float)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")
    prompts = json.loads((folder / "prompts.json").read_text(encoding="utf-8"))

    def reward(completions, completion_ids, **kwargs):
        parts["tokens"] += sum(len(ids) for ids in completion_ids)
        return [float(hashlib.blake2b(text.encode(), digest_size=1).digest()[0] & 1) for text in completions]

    config = GRPOConfig(
        output_dir=str(folder / "trl"), per_device_train_batch_size=PROMPTS * SAMPLES,
        gradient_accumulation_steps=1, steps_per_generation=1, num_iterations=1, num_generations=SAMPLES,
        max_completion_length=TOKENS, temperature=1.0, top_p=1.0, top_k=0, beta=0.0, loss_type="bnpo",
        scale_rewards="group", learning_rate=1e-6, lr_scheduler_type="constant", max_grad_norm=1.0,
        optim="adamw_torch_fused", max_steps=100_000, use_cpu=True, bf16=False, fp16=False,
        gradient_checkpointing=False, torch_compile=False, use_liger_kernel=False, use_vllm=False,
        logging_strategy="no", save_strategy="no", eval_strategy="no", report_to="none", disable_tqdm=True,
        log_completions=False, shuffle_dataset=False, dataloader_num_workers=0, seed=1,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=model, reward_funcs=reward, args=config, train_dataset=Dataset.from_dict({"prompt": prompts}),
        processing_class=tokenizer, callbacks=[Turns(parts)],
    )  # fmt: skip
    trainer.model.generate = timed(trainer.model.generate, "generate", parts)
    trainer.accelerator.backward = timed(trainer.accelerator.backward, "backward", parts)
    trainer.compute_loss = timed(trainer.compute_loss, "forward", parts)
    trainer.train()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
