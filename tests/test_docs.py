"""The pages: what is generated is current, and every link and every file that a page names exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.studypage import render
from prereg.schema import study_schema

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
DRAWN_LATER = {"docs/report.png"}
"""Pictures that `README.md` shows and a release draws."""
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(r"`((?:harness|prereg|trainers|reports|tests|studies|benchmarks|docs)/[\w./-]+\.\w+)`")


def anchors(text: str) -> set[str]:
    """The anchors that a page's headings give on GitHub."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path, text: str) -> Iterator[str]:
    """What a page links to or names that is not there."""
    for link in LINK.findall(text):
        if re.match(r"(https?|mailto):", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            if str(target.relative_to(ROOT)) not in DRAWN_LATER:
                yield link
        elif anchor and anchor not in anchors(text if target == page else target.read_text(encoding="utf-8")):
            yield link
    yield from (name for name in FILE.findall(text) if not (ROOT / name).exists())


def test_the_page_on_the_study_file_is_current() -> None:
    page = ROOT / "docs" / "study-file.md"
    assert page.read_text(encoding="utf-8") == render(), "run: python -m harness.studypage docs/study-file.md"


def test_every_section_and_field_is_on_the_page_with_its_meaning() -> None:
    page = render()
    definitions = study_schema()["$defs"]
    fields = {name for section in definitions.values() for name in section["properties"]}
    assert len(fields) > 80
    assert {name for name in fields if f"\n| `{name}` | " not in page} == set()
    assert re.findall(r"^.*\|\s*\|$", page, re.MULTILINE) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_named_files_exist(page: Path) -> None:
    assert list(broken(page, page.read_text(encoding="utf-8"))) == []


def test_a_broken_link_is_found() -> None:
    text = "# One two\n[a](#one-two) [b](#one) [c](none.md) [d](CHANGELOG.md#none) `harness/none.py` [e](https://x.y)"
    assert list(broken(ROOT / "README.md", text)) == [
        "#one",
        "none.md",
        "CHANGELOG.md#none",
        "harness/none.py",
    ]
