"""From a matplotlib figure to a fragment of SVG that can stand in a page with others."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import Any

import matplotlib

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def to_svg(figure: Any, name: str, title: str, description: str, words: Mapping[str, str]) -> str:
    """The figure as one `<svg>` element.

    Ids are prefixed with `name`, so that two charts on a page never refer to each other's parts. `words` maps
    the gid of a drawn element to the text that a pointer shows over it. No date, no creator, no style rule
    that would reach out of the element.
    """
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(
            out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    root = ElementTree.fromstring(out.getvalue())  # noqa: S314 - our own text, written just above
    _drop_foreign(root)
    for element in root.iter():
        if (words_here := words.get(element.get("id", ""))) is not None:
            label = ElementTree.Element(f"{{{_SVG}}}title")
            label.text = words_here
            element.insert(0, label)
        _prefix(element, name)
    _describe(root, name, title, description)
    return ElementTree.tostring(root, encoding="unicode")


def _drop_foreign(root: ElementTree.Element) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for child in list(root):
        if child.tag == f"{{{_SVG}}}defs" and not len(child):
            root.remove(child)


def _prefix(element: ElementTree.Element, name: str) -> None:
    for key, value in element.attrib.items():
        if key == "id":
            element.set(key, f"{name}-{value}")
        elif key in (_XLINK, "href") and value.startswith("#"):
            element.set(key, f"#{name}-{value[1:]}")
        elif "url(#" in value:
            element.set(key, _REFERENCE.sub(rf"url(#{name}-\1)", value))


def _describe(root: ElementTree.Element, name: str, title: str, description: str) -> None:
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-desc")
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")
    for place, (kind, text) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(f"{{{_SVG}}}{kind}", {"id": f"{name}-{kind}"})
        element.text = text
        root.insert(place, element)
