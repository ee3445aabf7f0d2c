"""The engine of a study file's `engine` section."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prereg.trainer import Engine as EngineSpec
from prereg.trainer import VllmEngine as VllmSpec
from trainers.engines import Engine
from trainers.policy import Policy


def build_engine(
    spec: EngineSpec, policy: Policy, tokenizer: Any, source: Path, *, stop: Sequence[str], max_length: int,
    dtype: str, remote_code: bool = False,
) -> Engine:  # fmt: skip
    """An engine for `policy`, which was loaded from the folder `source`.

    `max_length` is the longest sequence, prompt included, that will ever be asked for. Raises ImportError if
    the engine's library is not installed.
    """
    if isinstance(spec, VllmSpec):
        from trainers.engines.vllm import VllmEngine

        return VllmEngine(
            spec,
            policy,
            tokenizer,
            source,
            stop=stop,
            max_length=max_length,
            dtype=dtype,
            remote_code=remote_code,
        )
    from trainers.engines.transformers import TransformersEngine

    return TransformersEngine(policy, tokenizer, stop)
