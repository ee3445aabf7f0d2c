"""The table of docs/benchmarks.md, made from the results on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.measuring import Document

NAMES = (
    "start_up",
    "planning",
    "bootstrap",
    "scale",
    "ledger_share",
    "ledger_bytes",
    "credit_cost",
    "method_cost",
    "gradient_candidates",
    "statistics_pass",
    "grading",
    "against_trl",
    "engines",
)
RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def update_page() -> None:
    """Replace what stands between the marks of the page by the table of the results."""
    found = {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name in NAMES
        if (path := RESULTS / f"{name}.json").is_file()
    }
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(found)}\n{END}{after}", encoding="utf-8")


def table(results: Mapping[str, Document]) -> str:
    """A Markdown table of every held figure, and a line about the machine of each benchmark."""
    lines = ["", "| benchmark | what | measured | target | |", "|---|---|---:|---:|---|"]
    for name, document in results.items():
        for row in document["held"]:
            mark = "met" if row["met"] else "**missed**"
            lines.append(f"| `{name}` | {row['what']} | {row['measured']:.3g} | {row['target']} | {mark} |")
    for document in results.values():
        lines.extend(_own_table(document.get("table", [])))
    lines.append("")
    for name, document in results.items():
        facts = document["machine"]
        lines.append(
            f"- `{name}`: {facts['cpu']}, {facts['cores']} cores, load {facts['load_average'][0]:g}; "
            f"Python {facts['python']}, torch {facts['packages'].get('torch')}, "
            f"transformers {facts['packages'].get('transformers')}; {facts['at'][:10]}"
        )
    return "\n".join([*lines, ""])


def _own_table(rows: Sequence[Document]) -> list[str]:
    """What a benchmark shows besides the figures that it is held to."""
    if not rows:
        return []
    head = ["", f"| {' | '.join(rows[0])} |", f"|---{'|---:' * (len(rows[0]) - 1)}|"]
    cells = [[_cell(value) for value in row.values()] for row in rows]
    return [*head, *(f"| {' | '.join(row)} |" for row in cells)]


def _cell(value: object) -> str:
    if value is None:
        return "not run"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    update_page()
