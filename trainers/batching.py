"""Cutting an update's completions into micro-batches in which little is padding."""

from __future__ import annotations

from collections.abc import Sequence

PADDING_LIMIT = 0.15
"""Share of a micro-batch that may be padding before a new one is begun."""

WORTH_SPLITTING = 4096
"""Padded tokens below which a second pass costs more than the padding it would save."""


def micro_batches(lengths: Sequence[int], token_limit: int) -> list[list[int]]:
    """Indices of sequences, grouped so that rows x longest row stays within `token_limit`.

    `lengths` are whole lengths (prompt and completion) in tokens. Sequences are taken from the longest to
    the shortest; a sequence longer than the limit gets a micro-batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    batches: list[list[int]] = []
    current: list[int] = []
    used = 0
    for i in order:
        if current:
            padded = (len(current) + 1) * lengths[current[0]]
            wasteful = padded > WORTH_SPLITTING and 1 - (used + lengths[i]) / padded > PADDING_LIMIT
            if padded > token_limit or wasteful:
                batches.append(current)
                current, used = [], 0
        current.append(i)
        used += lengths[i]
    if current:
        batches.append(current)
    return batches
