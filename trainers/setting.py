"""What a method may use of its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prereg.trainer import Trainer
from trainers.engines import Engine
from trainers.flops import ModelShape
from trainers.metering import Meter
from trainers.policy import Policy
from trainers.types import Grader, Prompt


@dataclass(slots=True)
class Setting:
    """The run's settings, its policy, and what samples, grades and measures."""

    spec: Trainer
    policy: Policy
    engine: Engine
    prompts: Sequence[Prompt]
    """The training prompts."""
    grader: Grader
    meter: Meter
    seed: int
    shape: ModelShape
    charged: int = 0
    """Generated tokens that were charged so far, for whatever purpose."""
