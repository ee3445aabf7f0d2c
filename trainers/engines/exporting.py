"""A policy's weights in the folder layouts that other engines read: a Hugging Face model, a PEFT adapter."""

from __future__ import annotations

import copy
import json
from pathlib import Path

from safetensors.torch import save_file

from trainers.policy import Policy


def save_full(policy: Policy, folder: Path) -> None:
    """The whole model as safetensors with its config, an output layer that is tied to the embedding untied.

    vLLM on a CPU packs the output layer when it loads it, and a reload of the embedding does not reach a
    packed copy: a tied model would go on sampling from its first output layer.
    """
    model = policy.model
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    config = copy.deepcopy(model.config)
    if config.tie_word_embeddings:
        weights["lm_head.weight"] = model.get_output_embeddings().weight.detach().cpu().clone()
        config.tie_word_embeddings = False
    folder.mkdir(parents=True)
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    config.save_pretrained(str(folder))


def save_adapter(policy: Policy, folder: Path) -> None:
    """The trained adapter in PEFT's layout: `adapter_config.json` and `adapter_model.safetensors`.

    Raises ValueError if the policy has none.
    """
    if not hasattr(policy.model, "peft_config"):
        raise ValueError("the policy has no adapter")
    config = policy.model.peft_config["default"].to_dict()
    config["target_modules"] = sorted(config["target_modules"])
    config["peft_type"], config["task_type"] = "LORA", "CAUSAL_LM"
    folder.mkdir(parents=True)
    weights = {
        "base_model.model." + name.replace(".default.", "."): parameter.detach().cpu().contiguous()
        for name, parameter in policy.trainable.items()
    }
    save_file(weights, str(folder / "adapter_model.safetensors"))
    (folder / "adapter_config.json").write_text(
        json.dumps(config, default=str, sort_keys=True), encoding="utf-8"
    )
