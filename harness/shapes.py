"""The shape of a causal language model, from its config or from what a study states, for plans."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.models import model_folder
from prereg.problems import Refused
from prereg.source import LoadedStudy
from prereg.sources import PlannedShape

LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""The linear layers of a Llama-like block, by the names that LoRA targets use."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A dense Llama-like model: grouped-query attention and a gated feed-forward block."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied: bool
    """Whether the output layer is the embedding."""

    def layer_sizes(self) -> dict[str, tuple[int, int]]:
        """Inputs and outputs of each linear layer of a block, by name."""
        query, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        sizes = ((self.hidden, query), (self.hidden, kv), (self.hidden, kv), (query, self.hidden))
        feed = ((self.hidden, self.intermediate), (self.hidden, self.intermediate))
        return dict(zip(LINEAR, (*sizes, *feed, (self.intermediate, self.hidden)), strict=True))

    @property
    def linear_weights(self) -> int:
        """Weights of all blocks' linear layers."""
        return self.layers * sum(inputs * outputs for inputs, outputs in self.layer_sizes().values())

    @property
    def output_weights(self) -> int:
        """Weights of the output layer."""
        return self.vocabulary * self.hidden

    @property
    def weights(self) -> int:
        """All matrices; norms and biases are left out."""
        return self.linear_weights + self.output_weights * (1 if self.tied else 2)

    @property
    def cache_values_a_token(self) -> int:
        """Keys and values that a token leaves in the cache."""
        return 2 * self.layers * self.kv_heads * self.head_dim

    def adapter_weights(self, rank: int, targets: Sequence[str]) -> int:
        """Weights of LoRA adapters on the named layers."""
        sizes = self.layer_sizes()
        return self.layers * sum(rank * sum(sizes[name]) for name in targets if name in sizes)


def shape_of_config(config: Mapping[str, Any]) -> Shape:
    """From the fields of a Hugging Face config. Raises KeyError if it is not of a Llama-like model."""
    heads = int(config["num_attention_heads"])
    hidden = int(config["hidden_size"])
    return Shape(
        layers=int(config["num_hidden_layers"]),
        hidden=hidden,
        heads=heads,
        kv_heads=int(config.get("num_key_value_heads") or heads),
        head_dim=int(config.get("head_dim") or hidden // heads),
        intermediate=int(config["intermediate_size"]),
        vocabulary=int(config["vocab_size"]),
        tied=bool(config.get("tie_word_embeddings", False)),
    )


def shape_of_folder(folder: Path) -> Shape:
    """The same, of a model folder. Raises KeyError, OSError or ValueError if there is no such config."""
    return shape_of_config(json.loads((folder / "config.json").read_text(encoding="utf-8")))


def shape_of_model(loaded: LoadedStudy, name: str) -> Shape:
    """The shape of a study's model: of its files where they are at hand, else what the study states.

    Raises Refused, with the place, if neither is to be had.
    """
    model = loaded.study.models[name]
    try:
        return shape_of_folder(model_folder(model, loaded.folder))
    except (Refused, KeyError, OSError, ValueError) as error:
        if model.planned_shape is not None:
            return shape_of_plan(model.planned_shape)
        raise Refused(
            loaded.problem(
                f"the shape of the model cannot be read: {error}", "models", name, at_key=True,
                hint="add `planned_shape` to the model, for plans",
            )
        ) from error  # fmt: skip


def shape_of_plan(stated: PlannedShape) -> Shape:
    """What a study states of a model that is not at hand."""
    return Shape(**stated.model_dump())
