"""The rooms of the house: who may import whom, and what the command line must not load."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "prereg": set(),
    "trainers": {"prereg"},
    "reports": {"prereg"},
    "harness": {"prereg", "trainers", "reports"},
}
"""What each room may import besides itself."""
ELSEWHERE = {"tests", "benchmarks", "quickstart", "noxfile"}
HEAVY = ("torch", "transformers", "peft", "matplotlib", "scipy", "statsmodels", "pandas", "duckdb", "pyarrow")


def imports(source: str) -> Iterator[str]:
    """The top-level package of every import, those inside functions included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.split(".")[0]


def forbidden(room: str, source: str) -> set[str]:
    """What a file of a room imports and may not."""
    others = (MAY_IMPORT.keys() | ELSEWHERE) - {room} - MAY_IMPORT[room]
    return others & set(imports(source))


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_each_room_imports_only_what_its_arrow_allows(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert len(files) > 5
    found = {str(path.relative_to(ROOT)): forbidden(room, path.read_text(encoding="utf-8")) for path in files}
    assert {name: names for name, names in found.items() if names} == {}


def test_a_forbidden_import_is_found_wherever_it_hides() -> None:
    assert forbidden("prereg", "def f():\n    from trainers.loss import policy_loss") == {"trainers"}
    assert forbidden("trainers", "import numpy, harness.run as r") == {"harness"}
    assert forbidden("reports", "import prereg.study\nfrom reports.words import percent") == set()
    assert forbidden("harness", "if x:\n    import tests.harness") == {"tests"}


@pytest.mark.parametrize("start", ["import harness.cli", "harness --help", "harness prereg lock --help"])
def test_the_command_line_starts_without_heavy_libraries(start: str) -> None:
    call = start
    if start.startswith("harness"):
        call = (
            "import contextlib, sys, harness.cli\n"
            f"sys.argv = {start.split()!r}\n"
            "with contextlib.suppress(SystemExit): harness.cli.main()"
        )
    code = f"{call}\nimport sys; print('loaded:', *sorted(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "loaded:"
    assert start == "import harness.cli" or "Usage: harness" in done.stdout
