"""The content of a report, before any page is made of it: frozen, plain and the same for HTML and PDF."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from reports.decisions import SensitivityResult
from reports.intervals import Interval
from reports.verdicts import Outcome, Word

Kind = Literal["text", "integer", "decimal", "percent", "points", "p", "estimate", "compact"]
"""How a column is printed: `percent` is a share in [0, 1], `points` a signed difference in percentage
points, `compact` a large number in three figures."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with an interval; NaN limits mean that there is none."""

    value: float
    low: float
    high: float


Value = str | int | float | Estimate | None
"""A cell: None is printed as a dash (not there), NaN as `not estimable`."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its key in exports, its heading on pages, and how its values are printed."""

    key: str
    heading: str
    kind: Kind = "text"
    digits: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `name` is unique in the report and names the exported file."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str = ""
    collapsed: bool = False
    """Folded away on the HTML page, and left to the exported files in the PDF."""


@dataclass(frozen=True, slots=True)
class Point:
    """A marked point of a curve, with the words that a pointer shows over it."""

    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class Series:
    """One arm's curve. `x`, `y`, `low` and `high` have one length; limits may be NaN."""

    label: str
    style: int
    """Index of the arm in the study: it fixes colour and marker on every chart."""
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes: curves read as steps, or joined points."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    shape: Literal["step", "line"] = "step"
    scale: Literal["linear", "log2"] = "linear"
    budget: float | None = None
    """Where a vertical line stands."""
    signed: bool = False
    """Whether y is a difference in percentage points, which may be negative, rather than a percentage."""


@dataclass(frozen=True, slots=True)
class ForestRow:
    """An effect with its interval, in percentage points."""

    label: str
    estimate: Estimate
    smallest_effect: float | None
    """Where the effect would have to lie to matter, or a margin, signed; None if none was declared."""
    word: Word
    other_bound: float | None = None
    """The other margin of a claim of equivalence."""


@dataclass(frozen=True, slots=True)
class Figure:
    """Charts side by side, and the table of what they show."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    table: Table


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Short statements, one a line; `mono` for commands and digests."""

    items: tuple[str, ...]
    mono: bool = False


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Small tables that are read against each other."""

    tables: tuple[Table, ...]


Block = Prose | Listing | Table | SideBySide | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report under one heading."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    label: str = ""
    """What stands beside the heading, e.g. that nothing in the section is a registered result."""


@dataclass(frozen=True, slots=True)
class HypothesisResult:
    """A registered hypothesis and everything that is said of it."""

    id: str
    statement: str
    role: str
    estimand: str
    """What is estimated, in words."""
    test: str
    """The registered test, its direction, its null and its level, in words."""
    effect: Interval | None
    """None where the comparison is inadmissible."""
    other: Interval | None
    per_seed: tuple[tuple[int, float], ...]
    score: str
    """The count of a scoreboard with its interval, in words; empty for all other tests."""
    p: float
    p_name: str
    """What the p is called beside an interval, where it is not the p of that interval's own t test."""
    p_adjusted: float
    adjusted_name: str
    """What an adjusted p is called, `Holm-adjusted p`; empty outside families."""
    sensitivity: tuple[SensitivityResult, ...]
    family: str | None
    word: Word
    outcome: Outcome
    reasons: tuple[str, ...]
    sentence: str
    """May be quoted as it stands."""
    means: str
    """The two arms' accuracies and updates, in words."""
    measured: str
    """What the effect is of, in few words, since a statement may say less; empty for a scoreboard."""
    look: str = ""
    """The planned look that decides or is shown, in words; empty where the number of seeds is fixed."""


@dataclass(frozen=True, slots=True)
class ReportContent:
    """A whole report."""

    id: str
    title: str
    authors: tuple[str, ...]
    question: str
    kind: str
    marks: tuple[str, ...]
    generated_at: str
    lock_line: str
    """One line on the first page: what stands behind the verdicts."""
    summary: str
    """One sentence that counts the verdicts."""
    order: str
    """Whether the arms stand in one order on every axis, in words."""
    hypotheses: tuple[HypothesisResult, ...]
    forest: tuple[ForestRow, ...]
    flags: tuple[str, ...]
    """What a reader must know before believing any of it."""
    sections: tuple[Section, ...]
    data: tuple[Table, ...] = field(default_factory=tuple)
    """Tables that are exported and stand on no page."""

    def tables(self) -> tuple[Table, ...]:
        """Every table of the report, in order of appearance."""
        found: list[Table] = []
        for section in self.sections:
            for block in section.blocks:
                if isinstance(block, Table):
                    found.append(block)
                elif isinstance(block, SideBySide):
                    found.extend(block.tables)
                elif isinstance(block, Figure):
                    found.append(block.table)
        return (*found, *self.data)
