"""The policy: a causal language model, the part of it that is trained, and one pass that reads it."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from prereg.trainer import Adapter, LoraAdapter
from trainers.flops import ModelShape
from trainers.segments import Segments
from trainers.statistics import TokenStatistics, token_statistics
from trainers.whole_weights import DamagedWeights, faults_of_loading, not_finite

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class UnsupportedModel(ValueError):
    """The model's output layer does more than a linear map, so its log-probs cannot be read in chunks."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Sequences of one micro-batch, right-padded: with causal attention padding behind changes nothing."""

    input_ids: torch.Tensor
    """int64 of shape (rows, longest)."""
    rows: torch.Tensor
    """Row of the position that predicts each completion token, int64 of shape (tokens,)."""
    columns: torch.Tensor
    """Column of that position."""
    targets: torch.Tensor
    """The completion tokens, int64 of shape (tokens,)."""
    segments: Segments

    @classmethod
    def of(
        cls,
        prompts: Sequence[Sequence[int]],
        completions: Sequence[npt.NDArray[np.int32]],
        device: torch.device,
    ) -> Batch:
        """Lay out prompts and their completions, all as token ids."""
        width = max(len(p) + len(c) for p, c in zip(prompts, completions, strict=True))
        ids = np.zeros((len(prompts), width), dtype=np.int64)
        for row, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
            ids[row, : len(prompt)] = prompt
            ids[row, len(prompt) : len(prompt) + len(completion)] = completion
        segments = Segments.of([len(c) for c in completions], device)
        starts = torch.tensor([len(p) - 1 for p in prompts], device=device)
        return cls(
            input_ids=torch.from_numpy(ids).to(device),
            rows=segments.index,
            columns=starts[segments.index] + segments.position,
            targets=torch.from_numpy(np.concatenate(completions).astype(np.int64)).to(device),
            segments=segments,
        )


class Policy:
    """A model with its trained weights.

    `model` is a transformers causal LM, its adapters (if any) injected in place, so that the engine that
    samples in this process and the loss read the very same weights.
    """

    def __init__(self, model: Any, device: torch.device, logits_chunk: int) -> None:
        self.model = model
        self.device = device
        self.logits_chunk = logits_chunk
        self._head = model.get_output_embeddings()
        self._body = model.get_decoder()
        self.trainable: dict[str, torch.nn.Parameter] = {
            name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad
        }
        self._check_output_layer()

    @classmethod
    def load(
        cls,
        source: str | Path,
        *,
        dtype: str,
        adapter: Adapter,
        device: torch.device,
        seed: int,
        logits_chunk: int = 1024,
        gradient_checkpointing: bool = False,
        revision: str | None = None,
        remote_code: bool = False,
    ) -> Policy:
        """Load a model from a folder or the Hub (safetensors only) and add the adapter.

        Code that comes with a model is run only with `remote_code`.

        Adapter weights are drawn under `seed`, so that equal seeds give equal policies at step 0. Raises
        DamagedWeights if the checkpoint lacks a weight, or has one in another shape or with NaN in it.
        """
        from transformers import AutoModelForCausalLM

        # Its stub knows only the model without the information.
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            str(source), revision=revision, dtype=DTYPES[dtype], use_safetensors=True,
            trust_remote_code=remote_code, attn_implementation="sdpa", output_loading_info=True,
            ignore_mismatched_sizes=True,  # so that they are named, here
        )  # fmt: skip
        model, info = loaded
        if faults := faults_of_loading(info) or not_finite(model.named_parameters()):
            raise DamagedWeights("; ".join(faults))
        model.to(device)
        model.eval()
        if isinstance(adapter, LoraAdapter):
            model = _with_lora(model, adapter, seed)
        if gradient_checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
            model.enable_input_require_grads()
        return cls(model, device, logits_chunk)

    def statistics(self, batch: Batch, temperature: float) -> TokenStatistics:
        """Log-prob, entropy and margin of the batch's completion tokens from one forward pass."""
        # Checkpointing is active in training mode only, in which a model will not use its cache. No layer
        # here has dropout, so the mode changes nothing else.
        self.model.train(torch.is_grad_enabled() and self.model.is_gradient_checkpointing)
        hidden = self._body(input_ids=batch.input_ids, use_cache=False).last_hidden_state
        self.model.eval()
        chosen = hidden[batch.rows, batch.columns]
        return token_statistics(
            chosen, self._head.weight, self._head.bias, batch.targets,
            temperature=temperature, chunk=self.logits_chunk,
        )  # fmt: skip

    @contextlib.contextmanager
    def with_weights(self, weights: dict[str, torch.Tensor]) -> Iterator[None]:
        """The policy as it is with other trained weights, e.g. at the start: they are swapped in and back."""
        current = self.weights()
        self.set_weights(weights)
        try:
            yield
        finally:
            self.set_weights(current)

    def forget_gradients(self) -> None:
        """Drop the gradients of the trained weights."""
        for parameter in self.trainable.values():
            parameter.grad = None

    def weights(self) -> dict[str, torch.Tensor]:
        """A copy of the trained weights, by name."""
        return {name: parameter.detach().clone() for name, parameter in self.trainable.items()}

    def set_weights(self, weights: dict[str, torch.Tensor]) -> None:
        """Copy `weights` into the trained ones. Raises KeyError if the names are not the same."""
        if weights.keys() != self.trainable.keys():
            raise KeyError(f"weights differ in names: {sorted(weights.keys() ^ self.trainable.keys())[:5]}")
        with torch.no_grad():
            for name, parameter in self.trainable.items():
                parameter.copy_(weights[name])

    def digest(self, *, base: bool = False) -> str:
        """SHA-256 over the names and bytes of the trained weights, or of all the others."""
        total = hashlib.sha256()
        for name, parameter in sorted(self.model.named_parameters()):
            if parameter.requires_grad != base:
                total.update(name.encode() + b"\0")
                total.update(parameter.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return total.hexdigest()

    def shape(self) -> ModelShape:
        """What the operation count needs."""
        config = self.model.config.get_text_config()
        linear = adapter = 0
        for name, module in self.model.named_modules():
            if isinstance(module, torch.nn.Linear) and module is not self._head:
                if "lora_" in name:
                    adapter += module.weight.numel()
                else:
                    linear += module.weight.numel()
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return ModelShape(
            linear_weights=linear,
            output_weights=self._head.weight.numel(),
            adapter_weights=adapter,
            layers=config.num_hidden_layers,
            attention_width=config.num_attention_heads * head_dim,
        )

    def _check_output_layer(self) -> None:
        """Refuse a model whose logits are not its output layer's (soft caps, scales), or an adapted head."""
        if not isinstance(self._head, torch.nn.Linear):
            raise UnsupportedModel(
                "the output layer is not a plain linear layer; leave it out of the LoRA targets"
            )
        probe = torch.arange(1, 5, device=self.device)[None]
        with torch.no_grad():
            hidden = self._body(input_ids=probe, use_cache=False).last_hidden_state
            expected = self.model(input_ids=probe, use_cache=False).logits.float()
        if not torch.allclose(self._head(hidden).float(), expected, rtol=1e-3, atol=1e-3):
            raise UnsupportedModel(
                f"{type(self.model).__name__} changes its logits after the output layer, "
                "and such models are not supported"
            )


def _with_lora(model: Any, adapter: LoraAdapter, seed: int) -> Any:
    """Inject adapters in place and freeze everything else; returns the same transformers model."""
    from peft import LoraConfig, inject_adapter_in_model

    with torch.random.fork_rng(devices=[model.device] if model.device.type == "cuda" else []):
        torch.manual_seed(seed)
        config = LoraConfig(
            r=adapter.rank,
            lora_alpha=adapter.alpha,  # type: ignore[arg-type]  # declared an integer, used as any number
            lora_dropout=0.0,
            target_modules=list(adapter.targets),
        )
        model = inject_adapter_in_model(config, model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("lora_" in name)
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    model.eval()
    return model
