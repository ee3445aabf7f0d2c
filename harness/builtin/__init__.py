"""The model that the project ships, and the script that makes it."""

from pathlib import Path

ARITHMETIC_110K = Path(__file__).parent / "arithmetic_110k"
"""Folder of the built-in model, in Hugging Face layout."""
