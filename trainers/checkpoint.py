"""A run's state on disk: trained weights and optimizer as safetensors, the rest as JSON. Never a pickle."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

WEIGHTS = "weights.safetensors"
OPTIMIZER = "optimizer.safetensors"
STATE = "state.json"


class DamagedCheckpoint(ValueError):
    """A checkpoint lacks a part or does not fit the policy. It is never silently replaced by the start."""


def save_weights(weights: dict[str, torch.Tensor], path: Path) -> None:
    """Write tensors by name. Raises OSError where the disk does not take them."""
    try:
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}, path)
    except SafetensorError as error:
        # The library hides the system's error number in its text.
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error


def save_checkpoint(
    folder: Path, weights: dict[str, torch.Tensor], optimizer: torch.optim.Optimizer, state: dict[str, Any]
) -> None:
    """Write everything that a resumed run needs into an empty folder."""
    save_weights(weights, folder / WEIGHTS)
    tensors: dict[str, torch.Tensor] = {}
    for index, slots in optimizer.state_dict()["state"].items():
        for slot, value in slots.items():
            tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value)
            tensors[f"{index}.{slot}"] = tensor
    save_weights(tensors, folder / OPTIMIZER)
    (folder / STATE).write_text(json.dumps(state, indent=1, sort_keys=True), encoding="utf-8")


def load_checkpoint(
    folder: Path, trainable: dict[str, torch.nn.Parameter], optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """Load what `save_checkpoint` wrote into the parameters and the optimizer; returns the state.

    Raises DamagedCheckpoint where a file is missing or its names or shapes are not the policy's.
    """
    try:
        weights = load_file(folder / WEIGHTS)
        tensors = load_file(folder / OPTIMIZER)
        state: dict[str, Any] = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except Exception as error:  # safetensors raises several types of its own
        raise DamagedCheckpoint(f"the checkpoint {folder} cannot be read: {error}") from error
    if weights.keys() != trainable.keys():
        raise DamagedCheckpoint(f"the checkpoint {folder} holds other weights than the policy trains")
    with torch.no_grad():
        for name, parameter in trainable.items():
            if parameter.shape != weights[name].shape:
                raise DamagedCheckpoint(f"the checkpoint {folder} holds {name} in another shape")
            parameter.copy_(weights[name])
    slots: dict[int, dict[str, torch.Tensor]] = {}
    for key, tensor in tensors.items():
        index, slot = key.split(".", 1)
        slots.setdefault(int(index), {})[slot] = tensor
    saved = optimizer.state_dict()
    saved["state"] = slots
    optimizer.load_state_dict(saved)
    return state
