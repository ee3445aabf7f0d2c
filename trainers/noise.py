"""Counter-based randomness: each draw is a function of what it is for, and of nothing that happened before.

A sequence's key is a hash of (seed, purpose, step, prompt, sample); its noise at a position is a hash of
(key, position, token). So arms with equal seeds share their noise, an evaluation cannot disturb training,
and a resumed run needs no generator state. Adding Gumbel noise to log-probabilities and taking the largest
is exact sampling (Gumbel, 1954; Maddison et al., 2014).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

_MASK = 0xFFFFFFFF


def sequence_key(*parts: str | int) -> int:
    """A 63-bit key from what a sequence is for, e.g. (seed, "rollout", step, prompt id, sample)."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def permutation(size: int, *parts: str | int) -> npt.NDArray[np.int64]:
    """A permutation of range(size) that depends on `parts` alone."""
    return np.random.Generator(np.random.Philox(key=sequence_key(*parts))).permutation(size)


def gumbel(keys: torch.Tensor, positions: Sequence[int], vocabulary: int) -> torch.Tensor:
    """Standard Gumbel noise, float32 of shape (len(keys), len(positions), vocabulary).

    `keys` is int64 of shape (rows,). A row's noise does not depend on the other rows or on the block of
    positions that is asked for together.
    """
    device = keys.device
    where = torch.tensor(positions, dtype=torch.int64, device=device)
    state = _mix((keys & _MASK)[:, None] ^ _mix(where + 0x2545F491)[None, :])
    state = _mix(state ^ (keys >> 32)[:, None])
    tokens = _mix(torch.arange(vocabulary, dtype=torch.int64, device=device) + 0x632BE5AB)
    bits = _mix(state[:, :, None] ^ tokens)
    uniform = (bits.to(torch.float64) + 0.5) * 2.0**-32 if device.type == "cpu" else _float32(bits)
    # -log1p(-u) is an exponential variate, precise where it is small: the tail that decides a sample.
    return uniform.neg_().log1p_().neg_().log_().neg_().to(torch.float32)


def uniform(keys: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Uniform draws in (0, 1), float64, for pairs of keys and positions of equal shape."""
    state = _mix((keys & _MASK) ^ _mix(positions + 0x1B873593))
    return (_mix(state ^ (keys >> 32)).to(torch.float64) + 0.5) * 2.0**-32


def _float32(bits: torch.Tensor) -> torch.Tensor:
    return ((bits.to(torch.float32) + 0.5) * 2.0**-32).clamp_(max=1 - 2.0**-24)


def _mix(x: torch.Tensor) -> torch.Tensor:
    """A bijective 32-bit finaliser with low bias (Wellons' lowbias32), on int64 to have unsigned products."""
    x = x & _MASK
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _MASK
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _MASK
    return x ^ (x >> 16)
