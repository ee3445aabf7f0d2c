"""Whether a model and its tokenizer can be loaded whole, tried at the lock with shapes in place of weights.

The library itself is asked, on its device for shapes, what it would find missing: names of weights are
rewritten between versions of a model's class, and a list of our own would be wrong. Values are then read one
tensor at a time, so that a model of any size passes through a small memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open
from transformers import AutoModelForCausalLM
from transformers.utils import logging

from harness.modelcheck import LONGEST, positions_of, too_long
from harness.models import load_tokenizer, prompt_ids
from prereg.problems import Problem, Refused
from prereg.source import LoadedStudy
from trainers.policy import DTYPES
from trainers.whole_weights import faults_of_loading, not_finite

INDEX = "model.safetensors.index.json"

MODEL_REFUSED = (OSError, ValueError, KeyError, SafetensorError, StrictDataclassError)
"""What transformers, peft and safetensors raise for a model that they refuse."""

WHOLE_WEIGHTS_HINT = (
    "fetch or copy the model again, or save it whole with save_pretrained; a weight that is not there would "
    "be random, and trained"
)
FOREIGN_TOKENIZER_HINT = (
    "the tokenizer is not this model's, or the model's embedding was not resized with it: save both together"
)


def loading_problems(
    loaded: LoadedStudy, name: str, folder: Path, prompts: Sequence[tuple[str, int]]
) -> Iterator[Problem]:
    """Why the model in `folder` could not be loaded as it is, or its tokenizer not write the prompts.

    `prompts` pairs problems with caps of new tokens.

    Code that comes with a model is never run here, so a model that needs it is tried when it is loaded.
    """
    if missing := _missing_shards(folder):
        message = f"{INDEX} names weights that are not there: {', '.join(missing)}"
        yield loaded.problem(message, "models", name, at_key=True, hint=WHOLE_WEIGHTS_HINT)
        return
    remote = loaded.study.models[name].remote_code
    shapes = [] if remote else list(_weights(loaded, name, folder))
    if shapes:
        yield from shapes
        return
    if bad := not_finite(_tensors(folder)):
        message = f"the model folder {folder.name} is damaged: {bad[0]}"
        yield loaded.problem(message, "models", name, at_key=True, hint=WHOLE_WEIGHTS_HINT)
    if not remote:
        yield from _tokenizer(loaded, name, folder, prompts)


def _missing_shards(folder: Path) -> list[str]:
    """Files that the index of sharded weights names and that are not there; none without such weights."""
    if (folder / "model.safetensors").is_file() or not (folder / INDEX).is_file():
        return []
    try:
        shards = set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
        return sorted(shard for shard in shards if not (folder / shard).is_file())
    except (ValueError, KeyError, TypeError, AttributeError):
        return []  # the library says better what is wrong with the index


def _weights(loaded: LoadedStudy, name: str, folder: Path) -> Iterator[Problem]:
    """Weights that are missing or of another shape than the config says."""
    model = loaded.study.models[name]
    spoken = logging.get_verbosity()
    logging.set_verbosity_error()  # it warns of what is refused here
    logging.disable_progress_bar()
    try:
        # Its stub knows only the model without the information.
        tried: Any = AutoModelForCausalLM.from_pretrained(
            str(folder), dtype=DTYPES[model.dtype], use_safetensors=True, trust_remote_code=False,
            device_map="meta", output_loading_info=True, ignore_mismatched_sizes=True,
        )  # fmt: skip
    except MODEL_REFUSED as error:
        yield loaded.problem(f"the model cannot be loaded: {_first_line(error)}", "models", name, at_key=True)
        return
    finally:
        logging.set_verbosity(spoken)
    for fault in faults_of_loading(tried[1]):
        message = f"the model folder {folder.name} is not whole: {fault}"
        yield loaded.problem(message, "models", name, at_key=True, hint=WHOLE_WEIGHTS_HINT)


def _tensors(folder: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """All stored weights, one at a time."""
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, framework="pt") as stored:
            for key in stored.keys():  # noqa: SIM118 - it is no mapping
                yield key, stored.get_tensor(key)


def _tokenizer(
    loaded: LoadedStudy, name: str, folder: Path, prompts: Sequence[tuple[str, int]]
) -> Iterator[Problem]:
    """A tokenizer that cannot be had or cannot write a prompt, or that knows more tokens than the model."""
    model = loaded.study.models[name]
    try:
        tokenizer = load_tokenizer(folder, remote_code=False)
    except Refused as error:
        yield loaded.problem(
            error.problems[0].message, "models", name, at_key=True, hint=error.problems[0].hint
        )
        return
    positions = positions_of(folder)
    for problem, cap in sorted(prompts, key=lambda p: -len(p[0]))[:LONGEST]:
        try:
            tokens = len(prompt_ids(problem, model, tokenizer))
        except Refused as error:
            place = ("models", name, "chat_template") if model.chat_template else ("models", name)
            yield loaded.problem(error.problems[0].message, *place, at_key=True, hint=error.problems[0].hint)
            break
        if model.chat_template and positions is not None and tokens + cap > positions:
            yield too_long(loaded, name, problem, tokens, cap, positions)
            break
    yield from _foreign_tokens(loaded, name, folder, tokenizer)


def _foreign_tokens(loaded: LoadedStudy, name: str, folder: Path, tokenizer: Any) -> Iterator[Problem]:
    """Tokens that text can become, or that end an answer, beyond the model's embedding."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    rows = config.get("text_config", config).get("vocab_size")
    if not isinstance(rows, int):
        return
    special = set(tokenizer.all_special_ids) - {tokenizer.eos_token_id}
    beyond = [one for one in tokenizer.get_vocab().values() if one >= rows and one not in special]
    if beyond:
        message = (
            f"the tokenizer knows {len(beyond)} tokens that the model does not: their ids go up to "
            f"{max(beyond)}, and the model's embedding ends at {rows - 1}"
        )
        yield loaded.problem(message, "models", name, at_key=True, hint=FOREIGN_TOKENIZER_HINT)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
