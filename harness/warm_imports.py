"""Imported by the server that forks cells: what a cell would otherwise import itself, some of it late."""

import pandas  # the first Arrow array made from NumPy looks for it
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationMixin
from transformers.models.llama import modeling_llama

__all__ = ["AutoModelForCausalLM", "AutoTokenizer", "GenerationMixin", "modeling_llama", "pandas"]
