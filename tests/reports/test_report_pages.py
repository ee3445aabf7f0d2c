"""The pages: hostile text stays text, the bytes do not depend on order or threads, and nothing is fetched."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typst

from reports import pages, words
from reports.build import build_report, write_report
from reports.charts.lines import titled
from reports.charts.style import spread
from reports.content import Column, Estimate, Figure, ReportContent, Table
from reports.export import as_csv, as_json
from reports.hostile import clean
from reports.html import render_html
from reports.inputs import LockFact, RunFact
from reports.pdf import render_pdf, typst_source
from tests.reports.conftest import HOSTILE, Case, Ledger, make_case, run_id

VOID = {"meta", "br", "hr", "img", "link", "input"}
NAN = float("nan")


class Page(HTMLParser):
    """Collects what a test asks about, and insists that every element is closed where it should be."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.handlers: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for key, value in attrs:
            if key == "id":
                self.ids.append(value or "")
            elif key in ("href", "src", "xlink:href"):
                self.targets.append(value or "")
            elif key.startswith("on"):
                self.handlers.append(key)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.stack.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def hostile() -> tuple[ReportContent, str, bytes]:
    """A study whose every free text is hostile, and its two pages."""
    case = make_case(
        title=HOSTILE,
        authors=[HOSTILE],
        description=HOSTILE,
        exploratory=[HOSTILE],
        evaluation={"pass_k": [1, 2, 16]},
    )
    case.plan["hypotheses"][0]["statement"] = HOSTILE
    case.facts[0] = replace(case.facts[0], state="failed", note=HOSTILE)
    case.marks = (HOSTILE,)
    case.lock = LockFact("ab" * 32, HOSTILE, (HOSTILE,), (HOSTILE,), {HOSTILE: HOSTILE}, HOSTILE)
    content = build_report(case.inputs())
    charts = pages.draw(content)
    return content, render_html(content, charts), render_pdf(content, charts)


def test_hostile_text_stays_text_in_html(hostile: tuple[ReportContent, str, bytes]) -> None:
    _, page, _ = hostile
    parsed = Page(page)
    assert parsed.tags["script"] == 0
    assert parsed.handlers == []
    assert "<script>alert(1)</script>" in "".join(parsed.text), "and a reader can still see what it was"
    assert "\u202e" not in page
    assert "\x00" not in page


def test_without_escaping_there_would_be_a_script() -> None:
    assert Page(f"<p>{HOSTILE}</p>").tags["script"] == 1


def test_hostile_text_stays_text_in_the_pdf(hostile: tuple[ReportContent, str, bytes]) -> None:
    content, _, pdf = hostile
    assert pdf.startswith(b"%PDF-")
    source = typst_source(content, pages.Charts("", {figure.name: () for figure in pages.figures(content)}))
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', '""', source)
    assert "eval" in source
    assert "eval" not in outside, "every text stands inside a string literal"


def test_nothing_is_fetched_and_every_link_leads_somewhere(hostile: tuple[ReportContent, str, bytes]) -> None:
    parsed = Page(hostile[1])
    assert [target for target in parsed.targets if not target.startswith("#")] == []
    assert {target[1:] for target in parsed.targets} <= set(parsed.ids)
    assert [name for name, count in Counter(parsed.ids).items() if count > 1] == []
    assert "@import" not in hostile[1]
    assert re.findall(r"url\((?!#)", hostile[1]) == []


def test_charts_refer_only_to_themselves_and_name_their_points(case: Case) -> None:
    content = build_report(case.inputs())
    charts = pages.draw(content)
    for name, panels in charts.panels.items():
        for place, svg in enumerate(panels, start=1):
            used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
            assert used <= set(re.findall(r' id="([^"]+)"', svg))
            assert all(one.startswith(f"{name}-{place}-") for one in used)
            assert "<style" not in svg
            assert "<metadata" not in svg
    assert (
        "<title>mcpo: 54.0 % at 50,000 generated tokens (5 seeds; 90 updates)</title>"
        in charts.panels["curves"][1]
    )


def test_the_same_ledger_gives_the_same_bytes(case: Case, tmp_path: Path) -> None:
    """Whatever the order of the rows and the number of threads."""
    plain = case.inputs()
    plain.connection.execute("SET threads = 1")
    turned = case.inputs(reverse=True)
    turned.connection.execute("SET threads = 4")
    one, two = (
        write_report(build_report(plain), tmp_path / "one"),
        write_report(build_report(turned), tmp_path / "two"),
    )
    assert one.html.read_bytes() == two.html.read_bytes()
    assert one.pdf.read_bytes() == two.pdf.read_bytes()
    assert [path.name for path in one.tables] == [path.name for path in two.tables]
    for first, second in zip(one.tables, two.tables, strict=True):
        assert first.read_bytes() == second.read_bytes()
    kept = {path.name for path in one.html.parent.rglob("*") if path.is_file()}
    assert kept == {"report.html", "report.pdf", *(path.name for path in one.tables)}, (
        "no temporary file stays"
    )


def test_bytes_change_with_what_they_show(case: Case) -> None:
    before = render_html(build_report(case.inputs()))
    case.change("samples", {"run_id": run_id("grpo", 11), "step": 100, "correct": False}, correct=True)
    assert render_html(build_report(case.inputs())) != before


def test_a_study_without_any_run_still_has_a_report(tmp_path: Path) -> None:
    case = make_case()
    case.ledger = Ledger()
    case.facts = [RunFact(fact.run_id, fact.arm, fact.model, fact.seed, "planned") for fact in case.facts]
    content = build_report(case.inputs())
    assert content.hypotheses[0].word == "INADMISSIBLE"
    assert any("10 planned runs could not be analysed" in flag for flag in content.flags)
    paths = write_report(content, tmp_path)
    assert paths.pdf.read_bytes().startswith(b"%PDF-")
    assert "avg@10 (%) against updates: no curve." in Page(paths.html.read_text()).text


def test_a_study_without_hypotheses_says_that_it_describes() -> None:
    case = make_case(hypotheses=[])
    content = build_report(case.inputs())
    assert content.hypotheses == ()
    assert "registers no hypothesis" in content.summary
    assert "registers no hypothesis" in render_html(content)


def test_marks_stand_on_the_page(case: Case) -> None:
    case.marks = ("EXPLORATORY",)
    case.plan["budget"]["clock"] = "counted"
    content = build_report(case.inputs())
    assert content.marks == ("EXPLORATORY", "REHEARSAL: seconds are a fixed price a token, not measured")
    assert "EXPLORATORY" in "".join(Page(render_html(content)).text)
    assert content.hypotheses[0].word == "UNREGISTERED"
    assert content.hypotheses[0].sentence.endswith("neither confirms nor refutes it.")
    assert "statistically confirmed" in " ".join("".join(Page(render_html(content)).text).split())


def test_a_script_that_typst_has_no_font_for_is_still_set() -> None:
    content = build_report(make_case(title="等しい計算量での比較").inputs())
    assert render_pdf(content).startswith(b"%PDF-")


def test_importing_the_package_loads_no_chart_and_no_typesetter() -> None:
    code = (
        "import sys, reports, reports.build; "
        "print([m for m in ('matplotlib', 'typst', 'jinja2', 'torch', 'harness') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


TABLE = Table(
    "t",
    "T",
    (Column("arm", "Arm"), Column("value", "Value", "estimate"), Column("n", "n", "integer")),
    (("a", Estimate(1.25, 0.5, NAN), 3), ("=1+1", None, None), ("b", Estimate(NAN, NAN, NAN), 0)),
)


def test_csv_holds_raw_numbers_and_no_formula() -> None:
    lines = as_csv(TABLE).splitlines()
    assert lines == ["arm,value,value_low,value_high,n", "a,1.25,0.5,,3", "'=1+1,,,,", "b,,,,0"]


def test_json_has_null_for_what_cannot_be_estimated() -> None:
    rows = json.loads(as_json(TABLE))["rows"]
    assert rows[0] == {"arm": "a", "value": {"value": 1.25, "low": 0.5, "high": None}, "n": 3}
    assert rows[1] == {"arm": "=1+1", "value": None, "n": None}


def test_cells_are_printed_with_what_is_missing_named() -> None:
    shown = [[cell.text for cell in row.cells] for row in pages.printed(TABLE)]
    assert shown == [["a", "1.2", "3"], ["=1+1", words.DASH, words.DASH], ["b", "not estimable", "0"]]


def test_a_repeated_first_cell_is_marked_and_a_repeated_number_is_not() -> None:
    table = Table("t", "T", (Column("arm", ""), Column("n", "", "integer")), (("a", 1), ("a", 1), ("b", 1)))
    rows = pages.printed(table)
    assert [[cell.repeats for cell in row.cells] for row in rows] == [
        [False, False],
        [True, False],
        [False, False],
    ]
    assert [row.starts_group for row in rows] == [False, False, True]


@pytest.mark.parametrize(
    ("got", "text"),
    [
        (words.number(-1234.56), "−1,234.6"),
        (words.number(-0.04), "0.0"),
        (words.signed(0.04), "0.0"),
        (words.signed(0.05001), "+0.1"),
        (words.signed(-2.0), "−2.0"),
        (words.number(NAN), "not estimable"),
        (words.compact(400_000), "400,000"),
        (words.compact(1_234_567), "1.23 M"),
        (words.compact(4.56e12), "4.56 T"),
        (words.compact(999_999_999), "1,000 M"),
        (words.compact(6.25), "6.25"),
        (words.compact(0), "0"),
        (words.p_text(0.00001), "< 0.0001"),
        (words.p_text(0.0123), "0.012"),
        (words.p_text(0.5), "0.50"),
        (words.p_equation(0.00001), "p < 0.0001"),
        (words.joined(("a", "b", "c")), "a, b and c"),
        (words.plural(1, "run"), "1 run"),
        (words.df_text(7.49968), "7.5"),
    ],
)
def test_numbers_in_words(got: str, text: str) -> None:
    assert got == text


def test_unsafe_characters_are_replaced_and_the_rest_kept() -> None:
    assert clean("a\x00b\u202ec\ud800d\tä\n") == "a\ufffdb\ufffdc\ufffdd\tä\n"


def test_labels_are_moved_apart_in_their_order() -> None:
    assert spread([1.0, 1.1, 5.0], 1.0, 0.0, 10.0) == [1.0, 2.0, 5.0]
    assert spread([9.9, 9.8, 9.7], 1.0, 0.0, 10.0) == [10.0, 9.0, 8.0]
    assert spread([], 1.0, 0.0, 1.0) == []


def test_every_figure_has_its_table_and_every_name_is_unique(case: Case) -> None:
    content = build_report(case.inputs())
    names = [table.name for table in content.tables()]
    assert len(names) == len(set(names))
    figures = pages.figures(content)
    assert figures
    assert all(isinstance(figure, Figure) and figure.table.rows for figure in figures)


@pytest.mark.parametrize(("wrapped", "breaks"), [("breakable", True), ("", False)])
def test_a_long_name_breaks_within_its_column_on_paper(wrapped: str, breaks: bool) -> None:
    """By Typst itself: a name of some 75 pt takes several lines of a column of 40 pt, or runs over."""
    content = build_report(make_case().inputs())
    source = typst_source(content, pages.draw(content)) + (
        "\n#let heights(name) = measure(width: 40pt, text(size: 7.8pt, name)).height.pt()"
        f'\n#let long = {wrapped}(text(size: 7.8pt, "mcpo_not_its_placebo"))'
        '\n#context [#metadata((measure(width: 40pt, long).height.pt(), heights("mcpo"))) <heights>]'
    )
    options = {"field": "value", "one": True, "ignore_system_fonts": True}
    long, short = json.loads(typst.query(source.encode(), "<heights>", **options))
    assert (long > 1.9 * short) is breaks


def test_a_long_title_of_a_chart_takes_two_lines_and_no_more() -> None:
    """40 bold letters of 8 points are as wide as a panel of 3.6 inches."""
    long = "hypotheses mcpo_not_its_placebo, mcpo_at_equal_length"
    assert titled(long) == "Hypotheses mcpo_not_its_placebo,\nmcpo_at_equal_length"
    assert titled("hypothesis rate_alone") == "Hypothesis rate_alone"
    lines = titled(", ".join(["mcpo_not_its_placebo"] * 9)).split("\n")
    assert len(lines) == 2
    assert lines[1].endswith("…")
    assert max(map(len, lines)) <= 40
