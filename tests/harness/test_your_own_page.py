"""The page on methods of one's own: its files are a package that trains and passes its own test."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from harness.cell_process import run_cell
from harness.cells import Cell
from harness.folders import RunFolder
from harness.ledger.reader import read_run
from harness.methods import resolve_methods
from tests.harness.studies import loaded

PAGE = Path(__file__).parents[2] / "docs" / "methods" / "your-own.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`([\w./]+)`[^`]*:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def files() -> dict[str, str]:
    """Each code block of the page, by the file name that stands before it."""
    text = PAGE.read_text(encoding="utf-8")
    found = dict(NAMED.findall(text))
    assert sorted(found.values()) == sorted(body for _, body in BLOCK.findall(text)), "a block has no name"
    return found


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The page's files as pip installs them, on the path."""
    made, site = files(), tmp_path / "site"
    (site / "my_methods").mkdir(parents=True)
    (site / "my_methods" / "__init__.py").touch()
    for name, body in made.items():
        (site / name).write_text(body, encoding="utf-8")
    project = tomllib.loads(made["pyproject.toml"])["project"]
    facts = site / f"my_methods-{project['version']}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    entries = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in methods.items())
        for group, methods in project["entry-points"].items()
    )
    (facts / "entry_points.txt").write_text(entries)
    monkeypatch.syspath_prepend(site)
    yield made
    for name in [name for name in sys.modules if name.split(".")[0] in ("my_methods", "test_early")]:
        del sys.modules[name]


def test_its_methods_are_found_and_train_two_updates(package: dict[str, str], tmp_path: Path) -> None:
    arms = yaml.safe_load(package["arms.yaml"])["arms"]
    study = loaded(
        tmp_path, arms=arms, hypotheses=[], kind="pilot", budget={"updates": 2, "clock": "counted"}
    )
    sources, problems = resolve_methods(study)
    assert problems == []
    assert sorted(sources) == [
        "methods.credit.early", "methods.reward.last-tokens", "methods.selection.unsolved"
    ]  # fmt: skip
    for arm in ("fading", "answer", "hard"):
        target = RunFolder(tmp_path / arm)
        cell = Cell(arm, "small", 1)
        assert run_cell(study.study, study.folder, cell, target, {"lock": None}, orphaned=lambda: False)
        ledger = read_run(target.path)
        assert ledger is not None
        assert len(ledger.table("updates").to_pylist()) == 2
        credits = [r["credit"] for r in ledger.table("tokens").to_pylist() if any(r["credit"])]
        assert credits
        if arm == "fading":
            assert all(abs(row[0]) > abs(row[-1]) for row in credits if len(row) > 8)
        if arm == "answer":
            assert all(not any(row[:-4]) for row in credits)


def test_its_own_test_passes(package: dict[str, str]) -> None:
    importlib.import_module("test_early").test_two_completions_by_hand()
