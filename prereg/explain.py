"""From pydantic's errors to what a person can act on: the place, what was found, what was expected."""

from __future__ import annotations

import difflib
import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from prereg.fielddocs import field_docs
from prereg.yamlscalars import describe
from prereg.yamltree import Where

PATTERNS = {
    r"^[a-z0-9][a-z0-9_-]{0,63}$": "a name: lower-case letters, digits, `_` and `-` (64 at most)",
    r"^[0-9a-f]{64}$": "a SHA-256: 64 lower-case hexadecimal digits",
    r"^[0-9a-f]{40}$": "a full commit hash: 40 lower-case hexadecimal digits (a branch or a tag can move)",
    r"^[\w.-]+/[\w.-]+$": "an id such as `owner/model`",
    r"^[A-Za-z0-9._%+@-]{1,200}$": "a name or an e-mail address, without blanks",
    r"^(ssh|ecdsa|sk)-[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,3}( [^\r\n]*)?$": (
        "the line of a `.pub` file: `ssh-ed25519 AAAA...`"
    ),
    r"^https?://[^\s/]+(/\S*)?$": "an address that begins with https:// or http://",
    r"\{problem\}": "a text that holds `{problem}`, where the problem's text goes",
}
"""What each pattern of the study model asks for, in words."""

_TYPES = {
    "string_type": "a text", "int_type": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "bool_type": "true or false", "tuple_type": "a list", "dict_type": "a section",
    "model_type": "a section (keys and values)", "model_attributes_type": "a section (keys and values)",
    "finite_number": "a finite number",
}  # fmt: skip
_ONE = {"test": "One test decides. Others may be shown beside it, under `sensitivity`."}
"""Hints where a list was written for what there is one of."""
_BOUNDS = {
    "greater_than": ("more than", "gt"), "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"), "less_than_equal": ("at most", "le"),
}  # fmt: skip


def nearest(word: str, names: Collection[str]) -> str | None:
    """The valid name nearest to what was written, if one is near enough to be meant."""
    lowered = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return lowered[close[0]] if close else None


def did_you_mean(word: str, names: Collection[str]) -> str | None:
    """A hint: the nearest valid name, or all of them where they are few and none is near."""
    if not names:
        return None
    if close := nearest(word, names):
        return f"Did you mean `{close}`?"
    shown = ", ".join(f"`{name}`" for name in list(names)[:24])
    return f"Valid here: {shown}{', ...' if len(names) > 24 else ''}."


class Explained:
    """One error of pydantic in our words.

    `path` is its place in the file (without pydantic's union tags), `at_key` whether the key is meant and not
    the value, and `missing` whether the path's last key is not in the file.
    """

    __slots__ = ("at_key", "hint", "message", "missing", "path")

    def __init__(
        self, path: Where, message: str, hint: str | None, at_key: bool = False, missing: bool = False
    ) -> None:
        self.path, self.message, self.hint = path, message, hint
        self.at_key, self.missing = at_key, missing


def explain(error: ValidationError, model: type[BaseModel]) -> Iterator[Explained]:
    """Each of the errors of a validation of `model`."""
    details = error.errors(include_url=False)
    places = [detail["loc"] for detail in details]
    for detail in details:
        if detail["type"] == "too_short" and any(_below_it(place, detail["loc"]) for place in places):
            continue  # only valid entries were counted, and those that are not are reported themselves
        yield _explain_one(detail, *_walk(model, detail["loc"]))


def _below_it(place: Sequence[str | int], above: Sequence[str | int]) -> bool:
    return len(place) > len(above) and tuple(place[: len(above)]) == tuple(above)


def _explain_one(detail: Mapping[str, Any], path: Where, owner: Any, here: Any) -> Explained:
    """`owner` is the type that holds the last key of `path`, `here` the type of what stands there."""
    kind, found, context = detail["type"], describe(detail["input"]), detail.get("ctx", {})
    if path and path[-1] == "[key]":
        name = str(path[-2])
        return Explained(
            path[:-1], f"found the name {name!r}, expected {_pattern(context)}", None, at_key=True
        )
    if kind == "extra_forbidden":
        known = _fields(owner)
        section = _kind_of(owner)
        message = f"unknown key `{path[-1]}`{f' in a section of kind `{section}`' if section else ''}"
        return Explained(path, message, did_you_mean(str(path[-1]), known), at_key=True)
    if kind == "missing":
        return Explained(path, f"`{path[-1]}` is missing", _purpose(owner, str(path[-1]), here), missing=True)
    if kind == "union_tag_not_found":
        if isinstance(detail["input"], Mapping):
            hint = f"Valid here: {_listed(_tags(here))}."
            return Explained((*path, "kind"), "`kind` is missing", hint, missing=True)
        return Explained(
            path, f"found {found}, expected a section with a `kind`", f"Kinds: {_listed(_tags(here))}."
        )
    if kind == "union_tag_invalid":
        tag = str(context.get("tag", ""))
        names = _tags(here)
        return Explained(
            (*path, "kind"), f"found `{tag}`, expected {_either(names)}", did_you_mean(tag, names)
        )
    if kind == "literal_error":
        names = _literals(here)
        written = detail["input"]
        near = did_you_mean(written, names) if isinstance(written, str) and names else None
        return Explained(
            path, f"found {found}, expected {_either(names) if names else context['expected']}", near
        )
    if kind == "string_pattern_mismatch":
        return Explained(path, f"found {found}, expected {_pattern(context)}", None)
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return Explained(path, f"found {found}, expected {words} {context[key]}", None)
    if kind in ("too_short", "string_too_short"):
        return Explained(path, f"found {found}, expected at least {context['min_length']}, not empty", None)
    if kind == "string_too_long":
        return Explained(path, f"the text is longer than {context['max_length']} characters", None)
    if kind in _TYPES:
        advice = _type_hint(kind, detail["input"])
        if isinstance(detail["input"], list) and _TYPES[kind].startswith("a section"):
            advice = _ONE.get(str(path[-1]) if path else "", "One section stands here, and no list.")
        return Explained(path, f"found {found}, expected {_TYPES[kind]}", advice)
    message = detail["msg"]
    return Explained(path, f"found {found}: {message[0].lower()}{message[1:]}", None)


def _type_hint(kind: str, value: Any) -> str | None:
    """What usually lies behind a value of another type."""
    if kind == "string_type" and isinstance(value, bool | int | float):
        return "Put it in quotes."
    if kind == "bool_type" and isinstance(value, str):
        return "`yes`, `no`, `on` and `off` are text in YAML 1.2: write true or false."
    if kind in ("int_type", "float_type") and isinstance(value, str):
        return "Write the number plainly: no quotes, no thousands separators, no units."
    if kind == "tuple_type" and isinstance(value, str | int | float):
        return f"Write [{value}] for a list of one."
    return None


def _pattern(context: Mapping[str, Any]) -> str:
    pattern = context.get("pattern")
    return PATTERNS.get(pattern, f"a text that matches {pattern}") if pattern else "another name"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _either(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _purpose(owner: Any, name: str, here: Any) -> str | None:
    """What a missing field is for, where the model says it."""
    if literals := _literals(here):
        return f"One of {_listed(literals)}."
    return field_docs(owner).get(name) if _is_section(owner) else None


def _walk(annotation: Any, loc: Sequence[str | int]) -> tuple[Where, Any, Any]:
    """The path in the file of pydantic's `loc`, the type that holds its last step, and the type at its end.

    `loc` also names the chosen member of a union, which stands nowhere in the file: those steps are left out.
    Where the model has no such place (an unknown key), the type at the end is None.
    """
    path: list[str | int] = []
    owner, here = None, _bare(annotation)
    for step in loc:
        member = next((m for m in _members(here) if step in _tags(m)), None)
        if member is not None:
            here = member
            continue
        path.append(step)
        owner, here = here, _below(here, step)
    return tuple(path), owner, here


def _below(here: Any, step: str | int) -> Any:
    """The type one step further down, or None where the model has no such place."""
    if _is_section(here):
        info = here.model_fields.get(str(step))
        return None if info is None else _bare(info.annotation)
    arguments = get_args(here)
    origin = get_origin(here)
    if origin is dict and step != "[key]":
        return _bare(arguments[1])
    if origin is tuple and isinstance(step, int):
        return _bare(arguments[0])
    return None


def _bare(annotation: Any) -> Any:
    """A type without its metadata, and without `| None`."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [a for a in get_args(annotation) if a is not type(None)]
        if len(rest) == 1:
            return _bare(rest[0])
    return annotation


def _members(annotation: Any) -> tuple[Any, ...]:
    """The sections that a union chooses between."""
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(_bare(a) for a in get_args(annotation) if _is_section(_bare(a)))
    return ()


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _literals(annotation: Any) -> list[str]:
    bare = _bare(annotation)
    return [str(value) for value in get_args(bare)] if get_origin(bare) is Literal else []


def _tags(annotation: Any) -> list[str]:
    """The `kind`s of a section, or of all members of a union."""
    bare = _bare(annotation)
    if members := _members(bare):
        return [tag for member in members for tag in _tags(member)]
    if _is_section(bare) and "kind" in bare.model_fields:
        return _literals(bare.model_fields["kind"].annotation)
    return []


def _kind_of(section: Any) -> str | None:
    """The kind of a section that has exactly one."""
    tags = _tags(section)
    return tags[0] if len(tags) == 1 else None


def _fields(section: Any) -> list[str]:
    return list(section.model_fields) if _is_section(section) else []
