"""A panel of curves with direct labels: steps for readings of a run, joined points for pass@k."""

from __future__ import annotations

import textwrap
from math import isnan
from typing import Any

from reports import words
from reports.charts.style import COLOURS, GRID, MUTED, PAPER, RC, colour, marker, short, spread
from reports.content import Panel, Series

WIDTH, HEIGHT = 3.6, 2.75
"""Inches: a panel fills the width of a phone at its natural size."""

TITLE_LETTERS = 40
"""Bold letters that stand beside each other in a panel's title."""

_SIZE = 8.0
_TALL = 0.655


def draw_panel(panel: Panel, name: str) -> str:
    """The panel as an SVG element whose ids start with `name`."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    from reports.charts.svg import to_svg

    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(WIDTH, HEIGHT))
        FigureCanvasSVG(figure)
        longest = max((len(short(one.label)) for one in panel.series), default=0)
        margin = min(1.4, 0.2 + 0.076 * longest) / WIDTH
        axes = figure.add_axes((0.135, 0.165, 1 - 0.135 - margin, _TALL))
        _frame(axes, panel)
        titles: dict[str, str] = {}
        for one in panel.series:
            _draw(axes, panel, one, titles)
        _limits(axes, panel)
        _labels(figure, axes, panel)
        title = titled(panel.title)
        size = 8 if "\n" in title else 9
        figure.text(0.012, 0.945, title, weight="bold", size=size, va="center", linespacing=1.15)
        return to_svg(figure, name, panel.title, _description(panel), titles)


def titled(title: str) -> str:
    """A title in one line or two, cut where even those do not hold it."""
    capital = title[:1].upper() + title[1:]
    lines = textwrap.wrap(capital, TITLE_LETTERS, max_lines=2, placeholder=" …", break_on_hyphens=False)
    return "\n".join(lines)


def _frame(axes: Any, panel: Panel) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlabel(panel.x_label, size=_SIZE)
    axes.text(
        -0.02, 1.035, panel.y_label, transform=axes.transAxes, color=MUTED, size=_SIZE, ha="left", va="bottom"
    )
    number = words.signed if panel.signed else words.number
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: number(value, 0 if value == round(value) else 1))
    )
    if panel.scale == "log2":
        axes.set_xscale("log", base=2)
        values = sorted({x for one in panel.series for x in one.x})
        if panel.x_label.startswith("samples"):
            axes.set_xticks(values, [words.compact(x) for x in values])
            axes.minorticks_off()
        else:
            axes.xaxis.set_major_formatter(
                FuncFormatter(lambda value, _: words.compact(float(f"{value:.3g}")))
            )
    else:
        quarters = [panel.budget * share / 4 for share in range(5)] if panel.budget else []
        axes.set_xticks(quarters, [words.compact(x).replace(" ", "") for x in quarters])


def _draw(axes: Any, panel: Panel, one: Series, titles: dict[str, str]) -> None:
    paint = colour(one.style)
    step = "post" if panel.shape == "step" else None
    dashes = ("-", "--", "-.")[one.style // len(COLOURS) % 3]
    if not any(isnan(value) for value in (*one.low, *one.high)):
        axes.fill_between(one.x, one.low, one.high, step=step, color=paint, alpha=0.13, linewidth=0)
    axes.plot(
        one.x,
        one.y,
        color=paint,
        linewidth=1.4,
        linestyle=dashes,
        drawstyle="steps-post" if step else "default",
    )
    for place, point in enumerate(one.points):
        gid = f"point-{one.style}-{place}"
        titles[gid] = point.words
        axes.plot(
            [point.x],
            [point.y],
            color=paint,
            marker=marker(one.style),
            markersize=4.6,
            markeredgecolor=PAPER,
            markeredgewidth=0.5,
            linestyle="none",
            gid=gid,
            clip_on=False,
            zorder=4,
        )


def _limits(axes: Any, panel: Panel) -> None:
    """The range of the curves and their bands; a very wide band is cut, lest it flatten the curves."""
    values = [y for one in panel.series for y in one.y if not isnan(y)]
    if not values:
        axes.set(xticks=[], yticks=[])
        axes.text(0.5, 0.5, "no arm can be read here", transform=axes.transAxes, ha="center", color=MUTED)
        return
    bands = [y for one in panel.series for y in (*one.low, *one.high) if not isnan(y)]
    low, high = min(values), max(values)
    if panel.signed:
        low, high = min(low, 0.0), max(high, 0.0)
        axes.axhline(0, color=MUTED, linewidth=0.9)
    least, most = (-100.0, 100.0) if panel.signed else (0.0, 100.0)
    room = max(high - low, 2.0)
    low, high = (
        max(min([low, *bands]), low - 0.6 * room, least),
        min(max([high, *bands]), high + 0.6 * room, most),
    )
    pad = 0.06 * max(high - low, 1.0)
    axes.set_ylim(max(low - pad, least - pad), high + pad)
    if panel.budget is not None:
        axes.set_xlim(0, panel.budget)
        axes.axvline(panel.budget, color=MUTED, linewidth=0.9, linestyle=(0, (2, 2)), clip_on=False)


def _labels(figure: Any, axes: Any, panel: Panel) -> None:
    """Each curve's name at its end, moved apart where curves end close together."""
    ends = [(one, one.x[-1], one.y[-1]) for one in panel.series if one.y and not isnan(one.y[-1])]
    bottom, top = axes.get_ylim()
    gap = (top - bottom) * (1.25 * _SIZE / 72) / (HEIGHT * _TALL)
    places = spread([y for _, _, y in ends], gap, bottom + gap / 2, top)
    for (one, _, _), place in zip(ends, places, strict=True):
        height = (place - bottom) / (top - bottom)
        axes.text(
            1.035,
            height,
            short(one.label),
            transform=axes.transAxes,
            color=colour(one.style),
            size=_SIZE,
            va="center",
            weight="bold",
            clip_on=False,
        )


def _description(panel: Panel) -> str:
    number = words.signed if panel.signed else words.number
    parts = [
        f"{one.label} ends at {number(one.y[-1])}" for one in panel.series if one.y and not isnan(one.y[-1])
    ]
    return f"{panel.y_label} against {panel.x_label}: {'; '.join(parts) or 'no curve'}."
