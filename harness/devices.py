"""GPUs by name, with their makers' figures: dense bfloat16 arithmetic, memory and its bandwidth."""

from __future__ import annotations

from dataclasses import dataclass

from prereg.explain import did_you_mean
from prereg.problems import Problem, Refused


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU. Units: floating-point operations a second, bytes, bytes a second."""

    name: str
    flops: float
    memory: float
    bandwidth: float


DEVICES = {
    device.name: device
    for device in (
        Device("rtx4090", 165e12, 24e9, 1.008e12),
        Device("l4", 121e12, 24e9, 0.3e12),
        Device("a100-40gb", 312e12, 40e9, 1.555e12),
        Device("a100-80gb", 312e12, 80e9, 2.039e12),
        Device("h100-80gb", 989e12, 80e9, 3.35e12),
        Device("h200", 989e12, 141e9, 4.8e12),
    )
}
"""Dense figures without sparsity, from the makers' data sheets."""


def device_named(name: str) -> Device:
    """The device of that name. Raises Refused with the nearest name."""
    if name not in DEVICES:
        raise Refused(Problem(f"no device named {name!r} is known", hint=did_you_mean(name, DEVICES)))
    return DEVICES[name]
