"""Showing many runs at once: a live table on a terminal, plain lines elsewhere. Always on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from harness.status import CellState

LINE_SECONDS = 10.0
"""Time between two plain lines of progress."""


class ProgressView(Protocol):
    """Where progress goes."""

    def show(self, states: Sequence[CellState]) -> None:
        """The present state of all runs; called several times a second."""

    def say(self, line: str) -> None:
        """Something that happened."""


class PlainView:
    """A line for each event, and a summary line now and then."""

    def __init__(self) -> None:
        self._next = time.monotonic() + LINE_SECONDS

    def show(self, states: Sequence[CellState]) -> None:
        """Print a summary every `LINE_SECONDS`."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + LINE_SECONDS
        finished = sum(s.state == "finished" for s in states)
        running = [f"{s.run_id} {s.fraction:.0%}" for s in states if s.state == "running"]
        self.say(f"{finished} of {len(states)} runs finished; running: {', '.join(running) or 'none'}")

    def say(self, line: str) -> None:
        """Print a line."""
        print(line, file=sys.stderr, flush=True)


class RichView:
    """A table that is redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, refresh_per_second=4, transient=True)
        self._console = console

    def __enter__(self) -> RichView:
        self._live.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._live.stop()

    def show(self, states: Sequence[CellState]) -> None:
        """Redraw."""
        table = Table(box=None, padding=(0, 2, 0, 0))
        for heading in ("run", "state", "budget", "updates", "tokens", "device s"):
            table.add_column(heading, justify="left" if heading in ("run", "state", "budget") else "right")
        for s in states:
            table.add_row(
                s.run_id, s.state, ProgressBar(total=1.0, completed=s.fraction, width=24), f"{s.updates:,}",
                f"{s.generated_tokens:,}", f"{s.device_seconds:,.1f}",
            )  # fmt: skip
        self._live.update(table)

    def say(self, line: str) -> None:
        """Print a line above the table."""
        self._console.print(line, markup=False, highlight=False)
