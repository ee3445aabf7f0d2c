"""The first chart of a report: every effect with its interval, on one scale."""

from __future__ import annotations

from math import isnan
from typing import Any

from reports import words
from reports.charts.style import GRID, INK, MUTED, PAPER, RC
from reports.content import ForestRow
from reports.verdicts import SHOWN

WIDTH = 3.9
_ROW, _TOP, _BOTTOM = 0.52, 0.12, 0.5
_BEHIND: dict[str, Any] = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.2}


def draw_forest(rows: tuple[ForestRow, ...], name: str) -> str:
    """The chart as an SVG element whose ids start with `name`; `rows` is not empty."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    from reports.charts.svg import to_svg

    height = _ROW * len(rows) + _TOP + _BOTTOM
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(WIDTH, height))
        FigureCanvasSVG(figure)
        axes = figure.add_axes((0.03, _BOTTOM / height, 0.94, _ROW * len(rows) / height))
        _frame(axes, rows)
        titles: dict[str, str] = {}
        for place, row in enumerate(rows):
            _draw(axes, row, len(rows) - 1 - place, titles)
        return to_svg(figure, name, "Effects with their intervals", _description(rows), titles)


def _frame(axes: Any, rows: tuple[ForestRow, ...]) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_yticks([])
    axes.set_ylim(-0.5, len(rows) - 0.5)
    ends = [0.0]
    for row in rows:
        for value in (row.estimate.value, row.estimate.low, row.estimate.high, *_bounds(row)):
            if not isnan(value):
                ends.append(value)
    pad = 0.06 * max(max(ends) - min(ends), 1.0)
    axes.set_xlim(min(ends) - pad, max(ends) + pad)
    axes.axvline(0, color=INK, linewidth=0.9)
    axes.grid(axis="x", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: words.signed(value, 0 if value == round(value) else 1))
    )
    axes.set_xlabel("treatment minus control, percentage points", size=8)


def _draw(axes: Any, row: ForestRow, y: float, titles: dict[str, str]) -> None:
    gid = f"effect-{int(y)}"
    one = row.estimate
    titles[gid] = f"{row.label}: {words.signed(one.value)} points, {row.word}"
    bar = y - 0.16
    if not isnan(one.low):
        axes.plot([one.low, one.high], [bar, bar], color=INK, linewidth=1.6, solid_capstyle="butt")
    for bound in _bounds(row):
        axes.plot(
            [bound] * 2,
            [bar - 0.2, bar + 0.2],
            color=MUTED,
            linewidth=1.2,
            linestyle=(0, (2, 1.5)),
        )
    filled = row.word in SHOWN
    axes.plot(
        [one.value],
        [bar],
        marker="D",
        markersize=6,
        color=INK,
        markerfacecolor=INK if filled else PAPER,
        markeredgecolor=INK,
        linestyle="none",
        gid=gid,
        zorder=4,
    )
    shared = {
        "transform": axes.get_yaxis_transform(),
        "size": 8,
        "va": "center",
        "zorder": 5,
        "bbox": _BEHIND,
    }
    axes.text(0.008, y + 0.2, row.label, weight="bold", **shared)
    axes.text(0.992, y + 0.2, words.signed(one.value), ha="right", **shared)


def _bounds(row: ForestRow) -> tuple[float, ...]:
    return tuple(bound for bound in (row.smallest_effect, row.other_bound) if bound is not None)


def _description(rows: tuple[ForestRow, ...]) -> str:
    parts = []
    for row in rows:
        interval = (
            ""
            if isnan(row.estimate.low)
            else (f", interval {words.signed(row.estimate.low)} to {words.signed(row.estimate.high)}")
        )
        parts.append(f"{row.label}: {words.signed(row.estimate.value)} points{interval}, {row.word}")
    return "; ".join(parts)
