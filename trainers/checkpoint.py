"""A run's state on disk: trained weights and optimizer as safetensors, the rest as JSON. Never a pickle."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

WEIGHTS = "weights.safetensors"
OPTIMIZER = "optimizer.safetensors"
REWARD = "reward.safetensors"
"""What the reward has learned; only of a method that learns."""
STATE = "state.json"


Tensors = dict[str, torch.Tensor]


class DamagedCheckpoint(ValueError):
    """A checkpoint lacks a part or does not fit the policy. It is never silently replaced by the start."""


def save_weights(weights: Tensors, path: Path) -> None:
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
    folder: Path,
    weights: Tensors,
    optimizer: torch.optim.Optimizer,
    state: dict[str, Any],
    reward: Tensors | None = None,
) -> None:
    """Write everything that a resumed run needs into an empty folder."""
    save_weights(weights, folder / WEIGHTS)
    save_weights(optimizer_tensors(optimizer), folder / OPTIMIZER)
    if reward:
        save_weights(reward, folder / REWARD)
    (folder / STATE).write_text(json.dumps(state, indent=1, sort_keys=True), encoding="utf-8")


def load_checkpoint(
    folder: Path, trainable: dict[str, torch.nn.Parameter], optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """Load what `save_checkpoint` wrote into the parameters and the optimizer; returns the state.

    Raises DamagedCheckpoint where a file is missing or its names or shapes are not the policy's.
    """
    try:
        state: dict[str, Any] = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DamagedCheckpoint(f"the checkpoint {folder} cannot be read: {error}") from error
    weights, tensors = _load(folder / WEIGHTS), _load(folder / OPTIMIZER)
    try:
        copy_into(trainable, weights)
    except KeyError as error:
        raise DamagedCheckpoint(f"the checkpoint {folder} does not fit the policy: {error}") from error
    load_optimizer(optimizer, tensors)
    return state


def load_reward(folder: Path) -> Tensors:
    """What the reward had learned; empty if the checkpoint holds nothing of the kind."""
    return _load(folder / REWARD) if (folder / REWARD).exists() else {}


def copy_into(parameters: Mapping[str, torch.nn.Parameter], values: Tensors) -> None:
    """Copy values into parameters by name. Raises KeyError where names or shapes are not the same."""
    if values.keys() != parameters.keys():
        raise KeyError(f"other weights, e.g. {sorted(values.keys() ^ parameters.keys())[:3]}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.shape != values[name].shape:
                raise KeyError(f"{name} in another shape")
            parameter.copy_(values[name])


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> Tensors:
    """An optimizer's state as tensors named `<parameter>.<slot>`."""
    return {
        f"{index}.{slot}": value if isinstance(value, torch.Tensor) else torch.tensor(value)
        for index, slots in optimizer.state_dict()["state"].items()
        for slot, value in slots.items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors) -> None:
    """The inverse of `optimizer_tensors`."""
    slots: dict[int, Tensors] = {}
    for key, tensor in tensors.items():
        index, slot = key.split(".", 1)
        slots.setdefault(int(index), {})[slot] = tensor
    saved = optimizer.state_dict()
    saved["state"] = slots
    optimizer.load_state_dict(saved)


def _load(path: Path) -> Tensors:
    try:
        return load_file(path)
    except Exception as error:  # safetensors raises several types of its own
        raise DamagedCheckpoint(f"the checkpoint's {path} cannot be read: {error}") from error
