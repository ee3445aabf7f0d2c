"""YAML 1.2 text to plain JSON data, with the line and column of every key and value.

The parser is ruamel.yaml's; only its events are used. Scalars are resolved by `prereg.yamlscalars`.
Duplicate keys, keys that are not text, merge keys, tags, `%` directives and a second document are refused;
depth and the number of values, aliases expanded, are limited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from prereg.problems import Problem, Refused
from prereg.yamlscalars import REFUSED_CHARACTER, checked_text, describe, resolve_plain

MAX_DEPTH = 24
MAX_VALUES = 20_000
Where = tuple[str | int, ...]
"""Keys and indices from the top of the file."""

_PARSER_FAULTS = (YAMLError, ValueError, OverflowError, IndexError, KeyError, TypeError, AttributeError)
"""What ruamel.yaml raises on text that is not YAML; the last ones come from escapes it does not check."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line and a column, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class YamlData:
    """What a file says, and where.

    `data` is plain JSON. `bad` holds the paths whose value was refused and stands as null in `data`.
    """

    data: Any
    keys: Mapping[Where, Place]
    values: Mapping[Where, Place]
    problems: tuple[Problem, ...]
    bad: frozenset[Where]


@dataclass(slots=True)
class _Node:
    """A value, with its place; `entries` are the (key, key's place, node) of a mapping or a sequence."""

    kind: str
    place: Place
    value: Any = None
    fault: str | None = None
    hint: str | None = None
    entries: list[tuple[str | int, Place, _Node]] = field(default_factory=list)
    faults: list[Problem] = field(default_factory=list)
    seen: dict[str, Place] = field(default_factory=dict)
    size: int = 1


def read_yaml(text: str, file: str) -> YamlData:
    """Read one YAML document.

    Raises Refused, with the place, where the text cannot be read as YAML at all. What can be read but not
    accepted is collected in `problems`, so that all of it can be reported at once.
    """
    _refuse_characters(text, file)
    try:
        root = _Builder(file).build(YAML(typ="safe", pure=True).parse(text))
    except _PARSER_FAULTS as error:
        raise Refused(_syntax_problem(error, file)) from None
    flat = _Flattener(file)
    data = flat.flatten(root, ())
    return YamlData(data, flat.keys, flat.values, tuple(flat.problems), frozenset(flat.bad))


class _Builder:
    """Turns the parser's events into nodes, without recursion, within the limits."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.anchors: dict[str, _Node] = {}
        self.total = 0

    def build(self, events: Iterator[Any]) -> _Node:
        """The one document of the stream as a tree of nodes."""
        root: _Node | None = None
        stack: list[_Node] = []
        pending: list[tuple[str | int, Place] | None] = []
        open_anchors: list[str | None] = []
        documents = 0
        for event in events:
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self.refused(
                        event, "a second document starts here", "A study is one document; remove `---`."
                    )
                if event.version or event.tags:
                    raise self.refused(
                        event, "a `%` directive stands above", "Remove it: study files are YAML 1.2."
                    )
            elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
                node, anchor = stack.pop(), open_anchors.pop()
                pending.pop()
                node.size = 1 + sum(child.size for _, _, child in node.entries)
                if anchor:
                    self.anchors[anchor] = node
            elif isinstance(event, (ScalarEvent, AliasEvent, MappingStartEvent, SequenceStartEvent)):
                node = self.node(event)
                if not stack:
                    root = node
                elif stack[-1].kind == "sequence":
                    stack[-1].entries.append((len(stack[-1].entries), node.place, node))
                elif pending[-1] is None:
                    pending[-1] = self.key(stack[-1], node)
                else:
                    self.entry(stack[-1], *pending[-1], node)
                    pending[-1] = None
                if isinstance(event, (MappingStartEvent, SequenceStartEvent)):
                    if len(stack) >= MAX_DEPTH:
                        raise self.refused(event, f"values are nested deeper than {MAX_DEPTH} levels")
                    stack.append(node)
                    pending.append(None)
                    open_anchors.append(event.anchor)
                elif isinstance(event, ScalarEvent) and event.anchor:
                    self.anchors[event.anchor] = node
        if root is None:
            raise Refused(
                Problem(
                    "the file is empty",
                    file=self.file,
                    line=1,
                    column=1,
                    hint="`harness prereg init` writes a commented one.",
                )
            )
        return root

    def node(self, event: Any) -> _Node:
        """A node for one event, counted against the limit."""
        place = Place(event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, AliasEvent):
            node = self.anchors.get(event.anchor)
            if node is None:
                raise self.refused(event, f"`*{event.anchor}` names no finished anchor before it")
            self.count(event, node.size)
            return _Node(
                node.kind, place, node.value, node.fault, node.hint, node.entries, node.faults, size=node.size
            )
        self.count(event, 1)
        if isinstance(event, MappingStartEvent):
            made = _Node("mapping", place)
        elif isinstance(event, SequenceStartEvent):
            made = _Node("sequence", place)
        else:
            plain = event.style is None and event.tag is None
            value, fault, hint = resolve_plain(event.value) if plain else checked_text(event.value)
            made = _Node("scalar", place, value, fault, hint)
        if event.tag is not None:
            made.fault = f"the tag `{event.tag}` is not accepted"
            made.hint = "Write the value plainly; put it in quotes if it is text."
        return made

    def count(self, event: Any, more: int) -> None:
        self.total += more
        if self.total > MAX_VALUES:
            raise self.refused(
                event,
                f"the file has more than {MAX_VALUES} values, aliases expanded",
                "Large tables belong in a data file.",
            )

    def key(self, mapping: _Node, node: _Node) -> tuple[str | int, Place]:
        """The key that a node is; what is not text is a fault of the mapping and gets a stand-in."""
        if node.kind == "scalar" and isinstance(node.value, str) and node.fault is None:
            return node.value, node.place
        found = node.fault or f"{describe(node.value if node.kind == 'scalar' else {})} stands as a key"
        hint = node.hint or "Keys are text; put it in quotes if this is a name."
        mapping.faults.append(self.problem(node.place, found, hint))
        return f"\0{len(mapping.faults)}", node.place

    def entry(self, mapping: _Node, key: str | int, place: Place, node: _Node) -> None:
        """Add an entry, unless its key was refused, is a merge key, or stands there already."""
        if isinstance(key, str) and key.startswith("\0"):
            return
        if key == "<<":
            hint = "Write the fields out: a reader of the plan should see them where they hold."
            mapping.faults.append(self.problem(place, "merge keys (`<<`) are not part of YAML 1.2", hint))
            return
        first = mapping.seen.setdefault(str(key), place)
        if first is not place:
            message = f"`{key}` stands here again; it is already set on line {first.line}"
            mapping.faults.append(self.problem(place, message, "Keep one of the two."))
            return
        mapping.entries.append((key, place, node))

    def problem(self, place: Place, message: str, hint: str | None = None) -> Problem:
        return Problem(message, file=self.file, line=place.line, column=place.column, hint=hint)

    def refused(self, event: Any, message: str, hint: str | None = None) -> Refused:
        mark = event.start_mark
        return Refused(self.problem(Place(mark.line + 1, mark.column + 1), message, hint))


class _Flattener:
    """Turns nodes into JSON data and the maps of places; depth is limited, so it may recurse."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.keys: dict[Where, Place] = {}
        self.values: dict[Where, Place] = {}
        self.problems: list[Problem] = []
        self.bad: set[Where] = set()

    def flatten(self, node: _Node, path: Where) -> Any:
        """The data of a node that stands at `path`."""
        self.values[path] = node.place
        for fault in node.faults:
            self.problems.append(
                Problem(fault.message, path, fault.file, fault.line, fault.column, fault.hint)
            )
        if node.fault is not None:
            self.problems.append(
                Problem(node.fault, path, self.file, node.place.line, node.place.column, node.hint)
            )
            self.bad.add(path)
            return None
        if node.kind == "scalar":
            return node.value
        items = []
        for key, place, child in node.entries:
            self.keys[(*path, key)] = place
            items.append((key, self.flatten(child, (*path, key))))
        return dict(items) if node.kind == "mapping" else [value for _, value in items]


def _refuse_characters(text: str, file: str) -> None:
    """Refuse control characters and invisible separators, which no editor shows."""
    match = REFUSED_CHARACTER.search(text)
    if match is None:
        return
    before = text[: match.start()].replace("\r\n", "\n").replace("\r", "\n")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    code = f"U+{ord(match.group()):04X}"
    raise Refused(
        Problem(
            f"the invisible character {code} stands here",
            file=file,
            line=line,
            column=column,
            hint="Delete it.",
        )
    )


def _syntax_problem(error: Exception, file: str) -> Problem:
    """What the parser could not read, in words, with its place."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return Problem("the text cannot be read as YAML", file=file, line=1, column=1)
    line, column = error.problem_mark.line + 1, error.problem_mark.column + 1
    message, hint = str(error.problem), None
    if "'\\t'" in message:
        message, hint = "a tab stands where YAML accepts only blanks", "Replace it by blanks."
    elif "mapping values are not allowed" in message:
        message = "`:` is not allowed here"
        hint = "Put the text in quotes if it holds a colon, or start a new line."
    elif "could not find expected ':'" in message:
        message, hint = "expected `:` after a key", "Write `key: value`."
    elif "cannot start any token" in message:
        hint = "Put the text in quotes."
    elif error.context and error.context_mark is not None:
        message = f"{message} ({error.context} that starts on line {error.context_mark.line + 1})"
    return Problem(message, file=file, line=line, column=column, hint=hint)
