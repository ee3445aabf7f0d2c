"""Sampling with the trainer's own model: one weight set, no sync, exact log-probabilities.

Prompts that occur several times are prefilled once; the key-value cache is preallocated; finished rows are
dropped as soon as a quarter of the batch is idle. Noise is counter-based, so a sequence is the same whatever
stands beside it in the batch (up to the rounding of matrix products of another shape).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import DynamicCache, DynamicLayer

from trainers.engines import Sampling
from trainers.engines.lean import LeanDecoder
from trainers.noise import gumbel
from trainers.policy import Policy
from trainers.types import Completion, Request

NOISE_ELEMENTS = 1 << 20
"""Gumbel draws made in one go: many positions at once for a small vocabulary, one for a large."""


class TransformersEngine:
    """An engine over a `Policy` in this process."""

    def __init__(self, policy: Policy, tokenizer: Any, stop: Sequence[str] = ()) -> None:
        self._policy = policy
        self._reader = _Reader(policy.model)
        self._reader.lean = _lean_decoder(policy)
        self._tokenizer = tokenizer
        self._stop = tuple(stop)
        self._end_ids = end_token_ids(policy.model, tokenizer)

    def sync(self) -> None:
        """Nothing to do: the engine reads the policy's own weights."""

    def rest(self) -> None:
        """Nothing to do: the cache is gone already."""

    def restart(self) -> None:
        """Nothing to do: this engine lives and dies with the trainer."""

    def processes(self) -> list[int]:
        """None."""
        return []

    def close(self) -> None:
        """Nothing to do."""

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """One completion a request, in order. Batches are formed by prompt length, so padding is rare."""
        order = sorted(range(len(requests)), key=lambda i: (len(requests[i].token_ids), i))
        results: dict[int, Completion] = {}
        for start in range(0, len(order), sampling.max_batch):
            chosen = order[start : start + sampling.max_batch]
            for i, completion in zip(
                chosen, self._decode([requests[i] for i in chosen], sampling), strict=True
            ):
                results[i] = completion
        return [results[i] for i in range(len(requests))]

    def texts(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """The text of token ids, without special tokens."""
        texts: list[str] = self._tokenizer.batch_decode(
            [list(ids) for ids in sequences], skip_special_tokens=True
        )
        return texts

    @torch.inference_mode()
    def _decode(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        device = self._policy.device
        caps = [min(r.max_new_tokens or sampling.max_new_tokens, sampling.max_new_tokens) for r in requests]
        room = max(caps)
        state = _prefill(self._reader, requests, room, device)
        keys = torch.tensor([r.key for r in requests], dtype=torch.int64, device=device)
        limits = torch.tensor(caps, device=device) if min(caps) < room else None
        alive = torch.arange(len(requests), device=device)
        tokens = torch.zeros(len(requests), room, dtype=torch.int64, device=device)
        logprobs = torch.zeros(len(requests), room, dtype=torch.float32, device=device)
        lengths = torch.full((len(requests),), room, device=device)
        done = torch.zeros(len(requests), dtype=torch.bool, device=device)
        ends = torch.tensor(self._end_ids, device=device)
        noise, first = torch.empty(0), 0
        for position in range(room):
            law = next_token_law(state.logits, sampling)
            if position >= first + noise.shape[1] if noise.ndim == 3 else True:
                block = max(1, min(room - position, NOISE_ELEMENTS // max(1, law.numel())))
                noise, first = gumbel(keys, range(position, position + block), law.shape[1]), position
            chosen = (law + noise[:, position - first]).argmax(dim=1)
            tokens[alive, position] = chosen
            logprobs[alive, position] = law.gather(1, chosen[:, None]).squeeze(1)
            ended = (chosen[:, None] == ends).any(dim=1) & ~done
            if self._stop:
                ended |= self._stopped(tokens[alive, : position + 1]) & ~done
            if limits is not None:
                ended |= (limits <= position + 1) & ~done
            lengths[alive[ended]] = position + 1
            done |= ended
            idle = int(done.sum())
            if idle == len(done) or position + 1 == room:
                break
            if idle * 4 >= len(done):
                keep = torch.nonzero(~done).squeeze(1)
                alive, keys, noise, chosen = alive[keep], keys[keep], noise[keep], chosen[keep]
                done, limits = done[keep], limits[keep] if limits is not None else None
                state.keep(keep)
            state.step(self._reader, chosen)
        return self._completions(tokens, logprobs, lengths, caps)

    def _stopped(self, tokens: torch.Tensor) -> torch.Tensor:
        """Whether each row's text so far holds a stop string, bool (rows,)."""
        tail = tokens[:, -(max(len(s) for s in self._stop) + 8) :].tolist()
        texts = self._tokenizer.batch_decode(tail, skip_special_tokens=True)
        hits = [any(s in text for s in self._stop) for text in texts]
        return torch.tensor(hits, device=tokens.device)

    def _completions(
        self, tokens: torch.Tensor, logprobs: torch.Tensor, lengths: torch.Tensor, caps: Sequence[int]
    ) -> list[Completion]:
        sizes = lengths.tolist()
        ids = [row[:n] for row, n in zip(tokens.cpu().numpy().astype(np.int32), sizes, strict=True)]
        chances = [row[:n] for row, n in zip(logprobs.cpu().numpy(), sizes, strict=True)]
        texts = self.texts([row.tolist() for row in ids])
        finished = [
            bool(n < cap or int(row[-1]) in self._end_ids or any(s in text for s in self._stop))
            for n, cap, row, text in zip(sizes, caps, ids, texts, strict=True)
        ]
        return [
            Completion(row, chance, text, "stop" if ok else "length")
            for row, chance, text, ok in zip(ids, chances, texts, finished, strict=True)
        ]


def next_token_law(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Log-probabilities (rows, vocabulary), float32, at the sampling temperature and nucleus."""
    law = torch.log_softmax(logits.float() / sampling.temperature, dim=1)
    if sampling.top_p >= 1.0:
        return law
    ranked, order = law.sort(dim=1, descending=True)
    before = ranked.exp().cumsum(dim=1) - ranked.exp()
    outside = torch.zeros_like(law, dtype=torch.bool).scatter(1, order, before >= sampling.top_p)
    return torch.log_softmax(law.masked_fill(outside, -torch.inf), dim=1)


def end_token_ids(model: Any, tokenizer: Any) -> list[int]:
    """Token ids that end a completion: the generation config's and the tokenizer's."""
    declared = model.generation_config.eos_token_id
    ids = set(declared if isinstance(declared, list) else [declared]) | {tokenizer.eos_token_id}
    return sorted(i for i in ids if i is not None)


class _Reader:
    """A model's body and output layer, called directly: a decoding step of a small model is mostly calls."""

    def __init__(self, model: Any) -> None:
        self.config = model.config
        self.dtype = model.dtype
        self._body = model.get_decoder()
        self._head = model.get_output_embeddings()
        self.lean: LeanDecoder | None = None
        """Takes the decoding steps of a small model, where it gives the same logits."""

    def next_logits(self, **inputs: Any) -> torch.Tensor:
        """Logits (rows, vocabulary) that follow the last token of each row."""
        hidden: torch.Tensor = self._body(**inputs, use_cache=True).last_hidden_state
        logits: torch.Tensor = self._head(hidden[:, -1])
        return logits


class _DecodingState:
    """The cache, the mask and the last logits of the rows that still decode."""

    def __init__(
        self, cache: Any, mask: torch.Tensor | None, positions: torch.Tensor, logits: torch.Tensor
    ) -> None:
        self.cache = cache
        self.mask = mask
        """What attention adds to the scores of cached positions: 0, or -inf at padding; of the model's dtype
        and shape (rows, 1, 1, capacity). None if no prompt is padded."""
        self.positions = positions
        """Position of the next token in each row, int64 (rows, 1)."""
        self.logits = logits

    def keep(self, rows: torch.Tensor) -> None:
        """Drop all rows but these."""
        self.cache.reorder_cache(rows)
        self.positions = self.positions[rows]
        if self.mask is not None:
            self.mask = self.mask[rows]

    def step(self, reader: _Reader, tokens: torch.Tensor) -> None:
        """Feed one token a row and leave the logits of the next."""
        mask = None
        if self.mask is not None:
            mask = self.mask[..., : self.cache.get_seq_length() + 1]
        if reader.lean is not None:
            self.logits = reader.lean.next_logits(tokens, self.positions[:, 0], mask, self.cache)
            self.positions = self.positions + 1
            return
        self.logits = reader.next_logits(
            input_ids=tokens[:, None],
            attention_mask=mask,
            position_ids=self.positions,
            past_key_values=self.cache,
        )
        self.positions = self.positions + 1


def _prefill(reader: _Reader, requests: Sequence[Request], room: int, device: torch.device) -> _DecodingState:
    """Run each distinct prompt once, left-padded, and spread its cache over the rows that share it."""
    distinct = list(dict.fromkeys(r.token_ids for r in requests))
    row_of = {prompt: row for row, prompt in enumerate(distinct)}
    spread = torch.tensor([row_of[r.token_ids] for r in requests], device=device)
    width = max(len(p) for p in distinct)
    ids = torch.zeros(len(distinct), width, dtype=torch.int64)
    real = torch.zeros(len(distinct), width + room, dtype=torch.bool)
    for row, prompt in enumerate(distinct):
        ids[row, width - len(prompt) :] = torch.tensor(prompt)
        real[row, width - len(prompt) :] = True
    ids, real = ids.to(device), real.to(device)
    padded = not bool(real.all())
    positions = (real[:, :width].long().cumsum(dim=1) - 1).clamp(min=0)
    cache = DynamicCache(config=reader.config)
    preallocated = all(type(layer) is DynamicLayer for layer in cache.layers)
    if preallocated:
        spare = _Spare()
        cache.layers = [_PreallocatedLayer(room, spare) for _ in cache.layers]
    logits = reader.next_logits(
        input_ids=ids, attention_mask=real[:, :width] if padded else None, position_ids=positions,
        past_key_values=cache,
    )  # fmt: skip
    if reader.lean is not None:
        reader.lean.gather(width + room)
    cache.reorder_cache(spread)  # type: ignore[arg-type]  # int64, as it must be
    return _DecodingState(
        cache,
        _additive(real[spread], width, reader.dtype) if padded else None,
        positions[:, -1:][spread] + 1,
        logits[spread],
    )


def _lean_decoder(policy: Policy) -> LeanDecoder | None:
    """The lean decoder, where the model is small, of its shape, and the same on a probe of two steps."""
    reader = _Reader(policy.model)
    try:
        reader.lean = LeanDecoder(policy.model)
        with torch.inference_mode():
            probe = [Request((1, 2, 3), 0), Request((3, 2), 0)]  # of two lengths, so that one is padded
            plain = _Reader(policy.model)
            states = [_prefill(r, probe, 2, policy.device) for r in (plain, reader)]
            for tokens in ([4, 5], [5, 1]):
                for state, chosen in zip(states, (plain, reader), strict=True):
                    state.step(chosen, torch.tensor(tokens, device=policy.device))
                if not torch.allclose(states[0].logits, states[1].logits, rtol=1e-4, atol=1e-4):
                    return None
    except (AttributeError, ValueError, RuntimeError):
        return None
    return reader.lean


def _additive(real: torch.Tensor, width: int, dtype: torch.dtype) -> torch.Tensor:
    """The mask of `_DecodingState` from `real`: which positions hold a token, bool (rows, capacity)."""
    mask = torch.zeros(real.shape, dtype=dtype, device=real.device)
    mask[:, :width].masked_fill_(~real[:, :width], -torch.inf)
    return mask[:, None, None, :]


class _Spare:
    """The buffer last copied from, for the next copy: fresh memory costs more than the copy itself."""

    def __init__(self) -> None:
        self._buffer: torch.Tensor | None = None

    def take(self, like: torch.Tensor, rows: int) -> torch.Tensor:
        """An uninitialised buffer of so many rows, of the shape of `like` otherwise."""
        spare, self._buffer = self._buffer, None
        if spare is not None and len(spare) >= rows and spare.shape[1:] == like.shape[1:]:
            return spare[:rows]
        return like.new_empty(rows, *like.shape[1:])

    def give(self, buffer: torch.Tensor) -> None:
        """Nothing reads this buffer any more."""
        self._buffer = buffer


class _PreallocatedLayer(DynamicLayer):
    """A cache layer with room for the whole completion, so that a step copies one token and not all.

    `keys` and `values` are views of the filled part of two buffers.
    """

    def __init__(self, room: int, spare: _Spare) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._room = room
        self._spare = spare
        self._length = 0
        self._buffers: list[torch.Tensor] = []

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append (rows, heads, new, dim) and return everything so far."""
        end = self._length + key_states.shape[2]
        if not self._buffers:
            self.lazy_initialization(key_states, value_states)
            self._buffers = [self._allocate(state, end) for state in (key_states, value_states)]
        for buffer, state in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:, :, self._length : end] = state
        self._length = end
        self._show()
        assert self.keys is not None
        assert self.values is not None
        return self.keys, self.values

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Keep these rows, in this order, repeated where named twice."""
        self._buffers = [self._select(buffer, beam_idx) for buffer in self._buffers]
        self._show()

    def get_seq_length(self) -> int:
        """Tokens cached so far."""
        return self._length

    def _show(self) -> None:
        self.keys, self.values = (buffer[:, :, : self._length] for buffer in self._buffers)

    def _allocate(self, like: torch.Tensor, filled: int) -> torch.Tensor:
        rows, heads, _, width = like.shape
        return like.new_empty(rows, heads, filled + self._room, width)

    def _select(self, buffer: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        chosen = self._spare.take(buffer, len(rows))
        filled = slice(None), slice(None), slice(0, self._length)
        torch.index_select(buffer[filled], 0, rows, out=chosen[filled])
        self._spare.give(buffer)
        return chosen
