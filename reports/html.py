"""The report as one HTML file: no script, nothing fetched, every text escaped."""

from __future__ import annotations

from importlib.resources import files

from reports import pages, words
from reports.charts import style
from reports.content import ReportContent
from reports.sections.verdicts import interval_line, method_line


def render_html(content: ReportContent, charts: pages.Charts | None = None) -> str:
    """The whole page. `charts` are drawn if they are not given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    charts = charts or pages.draw(content)
    environment = Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["kind"] = _is_kind
    environment.globals.update(words=words, pages=pages, interval_line=interval_line, method_line=method_line)
    css = files("reports").joinpath("templates", "report.css").read_text(encoding="utf-8")
    return environment.get_template("report.html.j2").render(
        content=content,
        css=Markup(css),  # noqa: S704 - a file of this package
        forest=Markup(_themed(charts.forest)),  # noqa: S704 - drawn here, its texts escaped by the XML writer
        panels={name: [Markup(_themed(svg)) for svg in found] for name, found in charts.panels.items()},  # noqa: S704
    )


def _themed(svg: str) -> str:
    """The chart with the page's own ink, so that it can be read on a dark screen."""
    for fixed, variable in (
        (style.INK, "--ink"),
        (style.MUTED, "--muted"),
        (style.GRID, "--rule"),
        (style.PAPER, "--paper"),
    ):
        svg = svg.replace(fixed, f"var({variable})")
    return svg


def _is_kind(block: object, name: str) -> bool:
    return type(block).__name__ == name
