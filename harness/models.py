"""Models and tokenizers: from a study's `models` section to a folder, and from a problem to its prompt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.builtin import ARITHMETIC_110K
from harness.hubaccess import hub_reachable, is_network_failure
from harness.tasks.problems import TaskItem
from prereg.problems import Problem, Refused, Unreachable
from prereg.sources import BuiltinModel, LocalModel, Model
from trainers.types import Prompt

WANTED_FILES = ("*.safetensors", "*.json", "*.model", "*.txt", "*.jinja")
"""Files of a model repository that are ever read: never pickles, and code only where a study allows it."""


def wanted_files(model: Model) -> tuple[str, ...]:
    """Patterns of the files that a study's model uses, and that its digest covers."""
    return (*WANTED_FILES, "*.py") if model.remote_code else WANTED_FILES


def model_folder(model: Model, study_folder: Path) -> Path:
    """The folder with the model's files; a Hub model is downloaded into the Hub's cache at its revision.

    Raises Refused if it is not there, or not in Hugging Face layout with safetensors weights.
    """
    source = model.source
    if isinstance(source, BuiltinModel):
        return ARITHMETIC_110K
    if isinstance(source, LocalModel):
        folder = study_folder / source.path
        _check_layout(folder)
        return folder
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    patterns = list(wanted_files(model))
    try:
        return Path(
            snapshot_download(
                source.id, revision=source.revision, allow_patterns=patterns,
                local_files_only=not hub_reachable(),
            )
        )  # fmt: skip
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        away = isinstance(error, LocalEntryNotFoundError) or is_network_failure(error)
        raise (Unreachable if away else Refused)(
            Problem(
                f"the model {source.id} at {source.revision[:12]} cannot be had: {error}",
                hint="check id, revision and network, or download it and name its folder (kind: local)",
            )
        ) from error


def _check_layout(folder: Path) -> None:
    if not folder.is_dir():
        raise Refused(Problem(f"there is no model folder at {folder}"))
    if not (folder / "config.json").is_file() or not any(folder.glob("*.safetensors")):
        raise Refused(
            Problem(
                f"{folder} is not a model: it needs a config.json and weights as *.safetensors",
                hint="pickled weights (pytorch_model.bin) are never read; convert them with save_pretrained",
            )
        )


def load_tokenizer(folder: Path, *, remote_code: bool = False) -> Any:
    """The tokenizer of a model folder. Raises Refused if it cannot be had, or needs code not allowed."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(folder), trust_remote_code=remote_code)
    except Exception as error:  # the tokenizers library raises the bare class
        if not remote_code and "trust_remote_code" in str(error):
            message = (
                "the tokenizer is defined by Python code that comes with it, and running it is not allowed"
            )
            hint = "read the code, then set `remote_code: true` for this model; the lock then covers the code"
        else:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            message = f"the tokenizer cannot be loaded: {first}"
            hint = "fetch or copy its files again, or save it with save_pretrained"
        raise Refused(Problem(message, file=str(folder), hint=hint)) from error


def prompt_ids(problem: str, model: Model, tokenizer: Any) -> tuple[int, ...]:
    """A problem in the model's template, tokenised. Raises Refused if the chat template cannot be applied."""
    text = model.prompt_template.replace("{problem}", problem)
    if model.chat_template:
        if not tokenizer.chat_template:
            hint = (
                "leave `chat_template` out and write the prompt in `prompt_template`, or take the tokenizer \
that has one"
            )
            raise Refused(Problem("`chat_template: true`, but the tokenizer has no chat template", hint=hint))
        message = [{"role": "user", "content": text}]
        try:
            text = tokenizer.apply_chat_template(message, add_generation_prompt=True, tokenize=False)
        except Exception as error:  # a template is a program of the model's, and raises what it likes
            what = f"the tokenizer's chat template cannot be applied: {error}"
            raise Refused(Problem(what, hint="write the prompt in `prompt_template`")) from error
    return tuple(tokenizer.encode(text, add_special_tokens=not model.chat_template))


def make_prompts(items: Sequence[TaskItem], model: Model, tokenizer: Any) -> list[Prompt]:
    """Problems in the model's template, tokenised. Raises Refused for a prompt of no tokens."""
    prompts = []
    for item in items:
        ids = prompt_ids(item.problem, model, tokenizer)
        if not ids:
            raise Refused(Problem(f"the problem {item.id!r} becomes a prompt of no tokens"))
        prompts.append(Prompt(item.id, ids, item.answer))
    return prompts
