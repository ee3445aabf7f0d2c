"""How charts look: one ink, the Okabe-Ito colours, a marker for each arm, and text set as outlines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

INK, MUTED, GRID, PAPER = "#1b1f24", "#656d76", "#dfe2e6", "#ffffff"
"""Text, secondary text, rules and ground; the HTML page replaces them by its own, for dark screens."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito (2008), without black (the ink) and yellow (too faint on white)."""

MARKERS = ("o", "s", "^", "D", "v", "P")

RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.titlecolor": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.major.size": 3.0,
    "ytick.major.size": 0.0,
    "svg.fonttype": "path",
    "path.simplify": False,
}


def colour(style: int) -> str:
    """The colour of the arm with this index."""
    return COLOURS[style % len(COLOURS)]


def marker(style: int) -> str:
    """Its marker: it changes with the colour, and after six arms the pair still differs."""
    return MARKERS[(style + style // len(COLOURS)) % len(MARKERS)]


def short(label: str, most: int = 16) -> str:
    """A label that fits beside its curve."""
    return label if len(label) <= most else f"{label[: most - 1]}…"


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions near `places`, at least `gap` apart and, where they all fit, inside [low, high].

    The order of the places is kept, so that labels moved apart still follow their curves.
    """
    order = sorted(range(len(places)), key=lambda i: (places[i], i))
    moved = [min(max(places[i], low), high) for i in order]
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + gap)
    if moved and moved[-1] > high:
        moved[-1] = high
        for i in range(len(moved) - 2, -1, -1):
            moved[i] = min(moved[i], moved[i + 1] - gap)
    result = [0.0] * len(places)
    for position, i in zip(moved, order, strict=True):
        result[i] = position
    return result
