"""What can be seen of a model's files at the lock, without loading it: better there than in every run.

Whole weights, a tokenizer, layers by the names that LoRA is to adapt, and room for the longest prompts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from prereg.problems import Problem
from prereg.source import LoadedStudy
from prereg.trainer import LoraAdapter

TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "spiece.model")

LONG_PROMPT_HINT = (
    "lower max_new_tokens, or leave long problems out with `max_characters` at their source (files, Hub and "
    "named sets)"
)

LONGEST = 8
"""Prompts, the longest by characters, whose tokens are counted."""


def model_problems(
    loaded: LoadedStudy, name: str, folder: Path, prompts: Sequence[tuple[str, int]]
) -> Iterator[Problem]:
    """Why the model in `folder` cannot serve the study; `prompts` pairs problems with caps of new tokens."""
    place = ("models", name)
    if not any((folder / file).is_file() for file in TOKENIZER_FILES):
        yield loaded.problem(f"the model folder {folder.name} has no tokenizer", *place, at_key=True)
    weights: set[str] = set()
    for file in sorted(folder.glob("*.safetensors")):
        try:
            weights |= _names(file)
        except Exception as error:  # noqa: BLE001 - safetensors raises types of its own
            message = f"the weights {file.name} are not whole: {error}"
            yield loaded.problem(message, *place, at_key=True)
            return
    yield from _needs_code(loaded, name, folder)
    yield from _missing_targets(loaded, weights)
    yield from _too_long(loaded, name, folder, prompts)


def _names(file: Path) -> set[str]:
    """Names of the tensors of a safetensors file; its header and its size are checked by the library."""
    from safetensors import safe_open

    with safe_open(file, framework="numpy") as stored:
        return set(stored.keys())


def _needs_code(loaded: LoadedStudy, name: str, folder: Path) -> Iterator[Problem]:
    """A model whose class comes with it as Python code, where the study does not allow that."""
    config = _config(folder)
    if loaded.study.models[name].remote_code or "auto_map" not in config:
        return
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    if config.get("model_type") not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        yield loaded.problem(
            f"the model {name} is defined by Python code that comes with it, and running it is not allowed",
            "models",
            name,
            at_key=True,
            hint="read the code, then set `remote_code: true` for this model; the lock then covers the code",
        )


def _missing_targets(loaded: LoadedStudy, weights: set[str]) -> Iterator[Problem]:
    """LoRA targets that no weight's layer is named after, at the arm that states them."""
    study = loaded.study
    known = {key.removesuffix(".weight").rsplit(".", 1)[-1] for key in weights if key.endswith(".weight")}
    seen: set[tuple[str, ...]] = set()
    for arm in study.arms:
        adapter = study.trainer_of(arm).adapter
        if not isinstance(adapter, LoraAdapter) or adapter.targets in seen:
            continue
        seen.add(adapter.targets)
        if missing := [target for target in adapter.targets if target not in known]:
            own = "adapter" in study.arms[arm].trainer
            path = ("arms", arm, "trainer", "adapter") if own else ("trainer", "adapter")
            layers = ", ".join(sorted(n for n in known if n.endswith("_proj")))
            message = f"no layer of the model is named {', '.join(missing)}"
            yield loaded.problem(message, *path, hint=f"its linear layers are named {layers}")


def _too_long(
    loaded: LoadedStudy, name: str, folder: Path, prompts: Sequence[tuple[str, int]]
) -> Iterator[Problem]:
    """A prompt that with its cap of new tokens would run past the positions that the model knows."""
    model = loaded.study.models[name]
    positions = positions_of(folder)
    if positions is None or model.chat_template or not (folder / "tokenizer.json").is_file():
        return
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    for problem, cap in sorted(prompts, key=lambda p: -len(p[0]))[:LONGEST]:
        text = model.prompt_template.replace("{problem}", problem)
        tokens = len(tokenizer.encode(text).ids)
        if tokens + cap > positions:
            yield too_long(loaded, name, text, tokens, cap, positions)
            return


def too_long(loaded: LoadedStudy, name: str, text: str, tokens: int, cap: int, positions: int) -> Problem:
    """The refusal of a prompt of `tokens` tokens that leaves no room for `cap` new ones."""
    message = (
        f"the prompt {text[:40]!r} has {tokens} tokens, which with max_new_tokens {cap} is more than the "
        f"{positions} positions of the model {name}"
    )
    return loaded.problem(message, "models", name, at_key=True, hint=LONG_PROMPT_HINT)


def positions_of(folder: Path) -> int | None:
    """Positions that the model's config knows; None where it names no such number."""
    found = _config(folder).get("max_position_embeddings")
    return found if isinstance(found, int) else None


def _config(folder: Path) -> dict[str, Any]:
    """The model's config; empty where it cannot be read, which the loader says better."""
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
