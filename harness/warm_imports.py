"""Imported by the server that forks cells: what loading a model would otherwise import in each of them."""

from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationMixin
from transformers.models.llama import modeling_llama

__all__ = ["AutoModelForCausalLM", "AutoTokenizer", "GenerationMixin", "modeling_llama"]
