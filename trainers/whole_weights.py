"""Whether a model came to memory as its checkpoint has it: no weight made up, and every weight a number.

transformers gives a weight that its checkpoint lacks, or has in another shape, random values and a warning.
Such a model would be trained as though it were the pretrained one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

NAMED = 3
"""Weights that are named one by one before the rest is counted."""


class DamagedWeights(ValueError):
    """The checkpoint does not hold every weight of the model, as a number and in the model's shape."""


def faults_of_loading(info: Mapping[str, Any]) -> list[str]:
    """What a `loading_info` of transformers says is missing or of another shape, a sentence part each.

    Weights that are tied to one that is there are not missing; tensors that the model has no place for are no
    fault, since checkpoints also hold parts that other tasks use.
    """
    found = []
    if missing := sorted(info["missing_keys"]):
        found.append(f"the weights lack {_listed(missing)}")
    for name, stored, expected in sorted(info["mismatched_keys"])[:NAMED]:
        found.append(f"{name} has the shape {tuple(stored)}, but the config makes it {tuple(expected)}")
    if len(info["mismatched_keys"]) > NAMED:
        found.append(f"{len(info['mismatched_keys'])} weights in all are of another shape")
    found.extend(str(message) for message in info.get("error_msgs") or ())
    return found


def not_finite(tensors: Iterable[tuple[str, torch.Tensor]]) -> list[str]:
    """The same for weights that hold NaN or an infinity, each read once."""
    bad = [name for name, one in tensors if one.is_floating_point() and not _is_finite(one)]
    return [f"NaN or infinite values in {_listed(bad)}"] if bad else []


def _is_finite(tensor: torch.Tensor) -> bool:
    whole = tensor.detach().float() if tensor.element_size() == 1 else tensor.detach()
    return bool(whole.isfinite().all())


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
