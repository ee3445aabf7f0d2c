"""What was amended and what was seen when: on the first page, in a section, and in the verdicts."""

from __future__ import annotations

from dataclasses import replace

from reports.build import build_report
from reports.html import render_html
from reports.inputs import AmendmentFact, Event, Withdrawn
from reports.sections.deviations import looks_line, withdrawn_counts
from tests.reports.conftest import Case

LATE = AmendmentFact(
    1, "2026-01-02T00:00:00Z", "we saw better",
    "3 runs started, 2 finished, 8 evaluations, 1 look, 0 reports",
    ("study.hypotheses.h-tokens.alpha: 0.01 became 0.05",), ("h-tokens",), False, True,
)  # fmt: skip
EARLY = replace(LATE, known="0 runs started", affected=(), after_runs=False, reason="a typing error")


def look(at: str, finished: int) -> Event:
    return Event(at, "look", f"report on {finished} of 10 runs", (finished, 10))


def test_a_late_amendment_deviates_what_it_touches_with_the_outcome_beside_it(case: Case) -> None:
    plain = build_report(case.inputs()).hypotheses[0]
    case.lock = replace(case.lock, amendments=(LATE,))
    content = build_report(case.inputs())
    (one,) = content.hypotheses
    assert (one.word, one.outcome) == ("DEVIATED", plain.outcome)
    assert one.p == plain.p
    assert "amendment 1, with 3 runs started" in one.reasons[0]
    assert "DEVIATED" in content.flags[0]
    assert "we saw better" in content.flags[0]


THREE_GONE = replace(
    LATE, withdrawn=tuple(Withdrawn(f"u{n}", f"Claim {n}.") for n in (1, 2, 3)), registered=4, runs=(8, 8)
)


def test_hypotheses_that_were_withdrawn_are_named_counted_and_told_with_when(case: Case) -> None:
    case.lock = replace(case.lock, locked_at="day 2", first_locked_at="day 1", amendments=(THREE_GONE,))
    content = build_report(case.inputs())
    assert content.flags[0].startswith(
        "Withdrawn on 2026-01-02T00:00:00Z, when 8 runs were finished: u1, u2 and u3 (3 of the 4 hypotheses "
        "registered until then)."
    )
    assert content.summary.startswith("Of 4 registered hypotheses: 1 ")
    assert " and 3 withdrawn after 8 runs." in content.summary
    assert "deviate" in content.summary
    assert content.lock_line.startswith("Locked first on day 1, amended on day 2, as ")
    assert "u2: Claim 2." in render_html(content)


def test_each_withdrawn_hypothesis_is_counted_once_and_one_that_came_back_is_not(case: Case) -> None:
    study = case.inputs().study
    one, two = Withdrawn("u1", "Claim 1."), Withdrawn("u2", "Claim 2.")
    back = Withdrawn(study.hypotheses[0].id, "It came back.")
    amendments = (
        replace(LATE, withdrawn=(one, back), registered=3, runs=(2, 0)),
        replace(LATE, number=2, withdrawn=(one, two), registered=3, runs=(8, 8)),
    )
    lock = replace(case.lock, amendments=amendments)
    assert withdrawn_counts(study, lock) == ((2, "withdrawn after 8 runs"),)


def test_an_amendment_before_the_runs_is_shown_and_deviates_nothing(case: Case) -> None:
    case.lock = replace(case.lock, amendments=(EARLY,))
    content = build_report(case.inputs())
    assert content.hypotheses[0].word == content.hypotheses[0].outcome
    assert "a typing error" in content.flags[0]
    assert "DEVIATED" not in content.flags[0]


def test_looks_are_on_the_first_page_with_when_and_how_many_runs() -> None:
    assert looks_line(()) == ""
    events = (look("day 1", 3), Event("day 2", "report", "x", (10, 10)), look("day 3", 7))
    assert looks_line(events) == (
        "Results were looked at 2 times before all runs were complete: day 1 with 3 of 10 runs and day 3 "
        "with 7 of 10 runs."
    )
    assert looks_line(tuple(look(f"day {n}", n) for n in range(8))).endswith("and 3 further times.")


def test_hypotheses_come_first_then_deviations_then_the_rest(case: Case) -> None:
    case.lock = replace(case.lock, amendments=(LATE,))
    case.events = (*case.events, look("day 1", 3))
    content = build_report(case.inputs())
    page = render_html(content)
    places = [
        page.index(f'id="{name}"') for name in ("glance", "hypotheses", "deviations", "ranking", "lock")
    ]
    assert places == sorted(places)
    deviations = page[places[2] : places[3]]
    assert "study.hypotheses.h-tokens.alpha: 0.01 became 0.05" in deviations
    assert "day 1" in deviations


def test_what_is_exploratory_carries_a_label_and_no_verdict(case: Case) -> None:
    content = build_report(case.inputs())
    labelled = {section.name for section in content.sections if section.label}
    assert labelled == {"ranking", "curves", "along", "accuracy", "length", "control_arms"}
    page = render_html(content)
    for name in labelled:
        start = page.index(f'<section aria-labelledby="{name}" class="described">')
        section = page[start : page.index("</section>", start)]
        assert "Exploratory: no verdict" in section
        assert 'class="verdict' not in section
    assert page.count("Exploratory: no verdict") == len(labelled)


def test_receipts_stand_in_the_section_on_the_lock_and_bad_ones_on_the_first_page(case: Case) -> None:
    case.lock = replace(
        case.lock, receipts=("SSH: signed.",), receipt_faults=("it does not hold",), receipts_open=("owed",)
    )
    content = build_report(case.inputs())
    assert any("A receipt of the lock does not hold: it does not hold" in flag for flag in content.flags)
    page = render_html(content)
    section = page[page.index('id="lock"') :]
    for text in ("SSH: signed.", "it does not hold", "owed"):
        assert text in section
