"""The page about the ledger says what the schema says, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from harness.ledger.compaction import compact
from harness.ledger.docs import ROWS, render
from harness.ledger.schema import TABLES
from tests.harness.ledger import runs

PAGE = Path(__file__).parents[3] / "docs" / "ledger.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run: python -m harness.ledger.docs docs/ledger.md"


def test_every_table_and_column_is_described() -> None:
    assert ROWS.keys() == TABLES.keys()
    for table, columns in TABLES.items():
        section = render().split(f"\n## `{table}`\n")[1].split("\n## ")[0]
        assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [c.name for c in columns]


def test_a_column_that_may_be_null_says_what_a_null_means() -> None:
    for columns in TABLES.values():
        for column in columns:
            assert not column.nullable or "null" in column.meaning or column.name == "logprob_gap_max"
            assert column.nullable or "null" not in column.meaning


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs.write_run(Path("my-study.runs/grpo.base.s1"), steps=3)
    compact(Path("my-study.runs/grpo.base.s1"))
    blocks = re.findall(r"```python\n(.*?)```", render(), re.DOTALL)
    assert len(blocks) == 3
    monkeypatch.setattr(pd.DataFrame, "plot", lambda self, x, y: self[[x, y]])
    for block in blocks:
        exec(block, {})
    assert duckdb.sql("SELECT count(*) FROM 'my-study.runs/*/tables/updates.parquet'").fetchall() == [(3,)]
