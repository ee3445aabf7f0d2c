"""Make the start weights of the built-in model: `python -m harness.builtin.make_model FOLDER`.

A Llama of about 110 thousand parameters is pretrained on worked arithmetic chains and stopped by a step
count, well before it has learned the task: an under-trained start leaves reinforcement learning something
honest to gain. On one thread of one kind of machine the result is the same to the bit.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from harness.tasks.arithmetic import OPERATIONS, TRAINING_FOLDS, draw_problem, fold, worked_answer

STEPS = 550
BATCH = 64
LEARNING_RATE = 4e-3
SEED = 20_261_130
SPECIAL = ("<pad>", "<eos>")
CHARACTERS = "0123456789+-=,#"


def build_tokenizer() -> PreTrainedTokenizerFast:
    """One token a character."""
    vocabulary = {token: index for index, token in enumerate((*SPECIAL, *CHARACTERS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", clean_up_tokenization_spaces=False
    )


def build_model(vocabulary: int) -> LlamaForCausalLM:
    """Hidden 64, two layers, two heads of dimension 32: the smallest that vLLM's CPU attention accepts."""
    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=64, intermediate_size=192, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, head_dim=32, max_position_embeddings=128,
        tie_word_embeddings=True, pad_token_id=0, eos_token_id=1, bos_token_id=None,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def batch_of(rng: random.Random, tokenizer: PreTrainedTokenizerFast) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and labels, each (BATCH, length); only the worked answer is learned."""
    rows: list[tuple[str, list[int]]] = []
    while len(rows) < BATCH:
        problem = draw_problem(rng, rng.choice(OPERATIONS["train"]))
        if fold(problem, 0) < TRAINING_FOLDS:
            rows.append((problem, [*tokenizer.encode(problem + worked_answer(problem)), 1]))
    width = max(len(ids) for _, ids in rows)
    inputs = torch.zeros(BATCH, width, dtype=torch.long)
    labels = torch.full((BATCH, width), -100)
    for row, (problem, ids) in enumerate(rows):
        inputs[row, : len(ids)] = torch.tensor(ids)
        labels[row, len(problem) : len(ids)] = torch.tensor(ids[len(problem) :])
    return inputs, labels


def pretrain(steps: int = STEPS) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """The model after `steps` AdamW steps, and its tokenizer."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    rng = random.Random(SEED)  # noqa: S311 - a training set, not a secret
    tokenizer = build_tokenizer()
    model = build_model(len(tokenizer))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)
    warmup = 50
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * min(1.0, (step + 1) / warmup)
        inputs, labels = batch_of(rng, tokenizer)
        loss = model(input_ids=inputs, labels=labels).loss
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step + 1}: loss {loss.item():.4f}", file=sys.stderr)
    return model, tokenizer


def main(folder: str) -> None:
    """Pretrain and save into `folder`."""
    model, tokenizer = pretrain()
    target = Path(folder)
    model.save_pretrained(target, safe_serialization=True)
    tokenizer.save_pretrained(target)


if __name__ == "__main__":
    main(sys.argv[1])
