"""The text under each field of the study model, read from its source.

pydantic can do this when a class is made (`use_attribute_docstrings`), which costs every command a tenth of
its start; here it is done when someone asks.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import textwrap

from pydantic import BaseModel


@functools.cache
def field_docs(section: type[BaseModel]) -> dict[str, str]:
    """What a section's fields mean, by name; fields without a text are left out."""
    docs: dict[str, str] = {}
    for base in section.__bases__:
        if issubclass(base, BaseModel) and base is not BaseModel:
            docs |= field_docs(base)
    return docs | _own_docs(section)


def _own_docs(section: type[BaseModel]) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(section)))
    except (OSError, TypeError):
        return {}  # installed without its source
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    docs = {}
    for field, text in itertools.pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            docs[field.target.id] = inspect.cleandoc(text.value.value)
    return docs
