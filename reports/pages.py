"""What both pages are rendered from: cells as text, and charts as SVG."""

from __future__ import annotations

from dataclasses import dataclass

from reports import words
from reports.content import Column, Figure, ReportContent, Table


@dataclass(frozen=True, slots=True)
class Printed:
    """A cell as it is printed."""

    text: str
    limits: str
    is_number: bool
    repeats: bool
    """Equal to the cell above it, as are all cells to its left."""


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """A row, and whether the first column changes in it."""

    cells: tuple[Printed, ...]
    starts_group: bool


@dataclass(frozen=True, slots=True)
class Charts:
    """Every chart of a report as SVG text, drawn once for both pages."""

    forest: str
    panels: dict[str, tuple[str, ...]]
    """By the figure's name."""


def is_number(column: Column) -> bool:
    """Whether a column's cells are set to the right."""
    return column.kind != "text"


def printed(table: Table) -> tuple[PrintedRow, ...]:
    """The rows of a table as text."""
    rows: list[PrintedRow] = []
    above: tuple[str, ...] = ()
    for row in table.rows:
        texts = tuple(words.cell(value, column) for value, column in zip(row, table.columns, strict=True))
        cells = []
        same = bool(above)
        for place, (value, column, text) in enumerate(zip(row, table.columns, texts, strict=True)):
            same = same and not is_number(column) and place < len(texts) - 1 and above[place] == text
            cells.append(Printed(text, words.limits(value, column), is_number(column), same))
        rows.append(PrintedRow(tuple(cells), bool(above) and above[0] != texts[0]))
        above = texts
    return tuple(rows)


def has_groups(table: Table) -> bool:
    """Whether rows share their first cell, so that a rule between groups helps."""
    first = [row[0] for row in table.rows]
    return len(set(first)) < len(first)


def figures(content: ReportContent) -> tuple[Figure, ...]:
    """Every figure, in order."""
    return tuple(
        block for section in content.sections for block in section.blocks if isinstance(block, Figure)
    )


def draw(content: ReportContent) -> Charts:
    """Draw every chart."""
    from reports.charts.forest import draw_forest
    from reports.charts.lines import draw_panel

    return Charts(
        draw_forest(content.forest, "forest") if content.forest else "",
        {
            figure.name: tuple(
                draw_panel(panel, f"{figure.name}-{place}")
                for place, panel in enumerate(figure.panels, start=1)
            )
            for figure in figures(content)
        },
    )
