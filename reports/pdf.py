"""The report as a tagged PDF, typeset by Typst from the same content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reports import pages, words
from reports.content import ReportContent
from reports.sections.verdicts import interval_line, method_line

ROWS_ON_PAPER = 200
"""Rows up to which a table that is folded away on the page is printed in full."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A number or other Typst code of this package, written as it stands."""

    code: str


def render_pdf(content: ReportContent, charts: pages.Charts | None = None) -> bytes:
    """The PDF's bytes: no date inside, and only the fonts that Typst carries.

    A text in a script that those fonts lack is set from the machine's own fonts.
    """
    import typst

    source = typst_source(content, charts or pages.draw(content)).encode()
    try:
        result = typst.compile(source, format="pdf", pdf_standards=["ua-1"], ignore_system_fonts=True)
    except typst.TypstError:
        result = typst.compile(source, format="pdf")
    assert isinstance(result, bytes)
    return result


def typst_source(content: ReportContent, charts: pages.Charts) -> str:
    """The Typst document. Every value stands in it as a string literal, so that no text is ever markup."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=False,  # noqa: S701 - every expression becomes a Typst string literal: see `_literal`
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_literal,
    )
    environment.tests["kind"] = lambda block, name: type(block).__name__ == name
    environment.globals.update(
        words=words,
        pages=pages,
        interval_line=interval_line,
        method_line=method_line,
        Raw=Raw,
        ROWS_ON_PAPER=ROWS_ON_PAPER,
    )
    return environment.get_template("report.typ.j2").render(
        content=content, forest=charts.forest, panels=charts.panels
    )


def _literal(value: Any) -> str:
    """A Typst string literal, or the code of a `Raw`."""
    if isinstance(value, Raw):
        return value.code
    text = str(value)
    escaped = (
        text.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\n", "\\n")
        .replace("\r", "\\r")
        .replace("\t", "\\t")
    )
    return f'"{escaped}"'
