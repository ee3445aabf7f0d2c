"""The section on grading twice: its figures by hand, and pages that stay whole with hostile text in every
place."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from reports.build import build_report
from reports.content import Table
from reports.html import render_html
from reports.inputs import GradedAgain, RegradedFact, SecondOpinion
from reports.pdf import render_pdf
from reports.sections.grading import build
from tests.harness.grading.hostile import completion
from tests.reports.conftest import make_case
from tests.reports.test_report_pages import Page


def table(again: GradedAgain, name: str) -> Table:
    section = build(again)
    assert section is not None
    return next(block for block in section.blocks if isinstance(block, Table) and block.name == name)


def test_the_rate_is_of_those_with_an_opinion() -> None:
    again = GradedAgain(
        "second-1", 200, (SecondOpinion("m", "a", 200, 40, 6, 2), SecondOpinion("m", "b", 3, 3, 0, 0))
    )
    rows = table(again, "second_grader").rows
    # 8 of 160 differ; counted against all 200 it would be 4 per cent.
    assert rows[0][-1] == pytest.approx(5.0)
    assert rows[1][-1] is None


def test_nothing_looked_at_twice_is_no_section() -> None:
    assert build(GradedAgain()) is None
    assert build(GradedAgain(why_not="no network.")) is not None


def test_pages_stay_whole_with_hostile_completions_in_every_text() -> None:
    rng = random.Random(11)
    texts = [completion(rng)[:200] for _ in range(16)]
    regraded = tuple(RegradedFact(t, t, n, t, t, 1, 1, 0) for n, t in enumerate(texts))
    opinions = tuple(SecondOpinion(t, t, 2, 1, 1, 0) for t in texts)
    case = make_case()
    for index, fact in enumerate(case.facts):
        case.facts[index] = replace(fact, note=texts[index % len(texts)])
    inputs = replace(case.inputs(), again=GradedAgain(texts[0], 200, opinions, regraded, texts[1]))
    content = build_report(inputs)
    page = render_html(content)
    plain = Page(render_html(build_report(case.inputs())))
    hostile = Page(page)
    # No element, target or handler comes from a text; what is added are the rows of two tables.
    assert hostile.tags["script"] == plain.tags["script"]
    assert hostile.tags["img"] == plain.tags["img"]
    assert hostile.handlers == []
    assert {t for t in hostile.targets if not t.startswith("#")} == {
        t for t in plain.targets if not t.startswith("#")
    }
    assert "\x00" not in page
    assert "<h1>CONFIRMED</h1>" not in page
    document = render_pdf(content)
    assert document.startswith(b"%PDF-")
    assert document.rstrip().endswith(b"%%EOF")
