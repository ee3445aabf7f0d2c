"""What an amendment does to hypotheses and to runs, for changes of every part of a plan."""

from __future__ import annotations

import pytest

from prereg.amendment import Amendment, Known, affected, sets_runs_aside, withdrawn
from prereg.difference import walk
from prereg.study import Study
from tests.prereg.stopping_refusals import looks
from tests.prereg.studies import STUDY, loaded

SEEN = Known(runs_started=1)
CHANGES: list[tuple[tuple[str, str], list[str], bool]] = [
    # a change of the plan, the hypotheses that it touches, and whether runs were made otherwise
    (("title: A tiny study", "title: Another"), [], False),
    (("authors: [A, B]", "authors: [A]"), [], False),
    (("seen: nothing", "seen: pilot_runs"), [], False),
    (("seeds: [1", "receipts: {git: true}\nseeds: [1"), [], False),
    (("seeds: [1", "environment: {slots: 1}\nseeds: [1"), [], False),
    (("seeds: [1", "exploratory: [x]\nseeds: [1"), [], False),
    (("role: treatment\n", "role: treatment\n    description: x\n"), [], False),
    (("statement: New beats base.", "statement: New is better."), ["first"], False),
    (("direction: greater", "direction: two_sided"), ["first"], False),
    (("id: first", "id: zeroth"), ["zeroth", "second"], False),
    (("seeds: [1, 2, 3]", "seeds: [1, 2, 3, 4]"), ["first", "second"], False),
    (("seeds: [1, 2, 3]", "seeds: [1, 2]"), ["first", "second"], False),
    (looks((2, 0.5), (3, 0.5), seeds=3)[0], ["first", "second"], False),
    (("kind: confirmatory", "kind: pilot"), ["first", "second"], False),
    (("      samples: 8\n", "      samples: 8\n      weight: 2.0\n"), ["first", "second"], False),
    (("      samples: 8\n", "      samples: 16\n"), ["first", "second"], True),
    (("updates: 10,", "updates: 11,"), ["first", "second"], True),
    (("low: 0.2", "low: 0.3"), ["first", "second"], True),
    (("max_new_tokens: 32", "max_new_tokens: 64"), ["first", "second"], True),
    (("role: control}", "role: negative_control}"), ["first", "second"], False),
    (("arms:\n", "arms:\n  third: {role: placebo}\n"), [], False),
    (("seeds: [1", "environment: {deterministic: false}\nseeds: [1"), ["first", "second"], True),
]


def changed_fields(old: Study, new: Study) -> list[str]:
    return [d.field for d in walk(old.model_dump(mode="json"), new.model_dump(mode="json"), "study")]


@pytest.mark.parametrize(("change", "touched", "aside"), CHANGES, ids=[c[0][1][:30] for c in CHANGES])
def test_each_part_of_a_plan(change: tuple[str, str], touched: list[str], aside: bool) -> None:
    old, new = loaded().study, loaded(change).study
    fields = changed_fields(old, new)
    assert fields
    assert list(affected(old, new, fields, SEEN)) == touched
    assert sets_runs_aside(fields) is aside
    assert affected(old, new, fields, Known(exploratory_runs=3)) == ()
    assert list(affected(old, new, fields, Known(exploratory_runs=3), tried=True)) == touched


@pytest.mark.parametrize("field", ["code.sha256", "sources.models.m.files.w.bin", "sources.data.training"])
def test_other_code_and_other_sources_touch_everything(field: str) -> None:
    study = loaded().study
    assert affected(study, study, [field], SEEN) == ("first", "second")
    assert sets_runs_aside([field])


def test_a_family_is_touched_as_a_whole_also_by_who_leaves_it() -> None:
    families = ("seeds: [1", "families: {f: {alpha: 0.05}}\nseeds: [1")
    both = (("id: first\n", "id: first\n    family: f\n"), ("id: second\n", "id: second\n    family: f\n"))
    old = loaded(families, *both).study
    left = loaded(families, both[1]).study
    assert affected(old, left, changed_fields(old, left), SEEN) == ("first", "second")
    level = loaded(("seeds: [1", "families: {f: {alpha: 0.01}}\nseeds: [1"), *both).study
    assert affected(old, level, changed_fields(old, level), SEEN) == ("first", "second")


SECOND = STUDY[STUDY.index("  - id: second") :]


def amendment(known: Known, *touched: str) -> Amendment:
    return Amendment(
        number=1, previous="a" * 64, event_head="b" * 64, reason="r", known=known, changes=(),
        affected=touched, runs_set_aside=False,
    )  # fmt: skip


def test_a_hypothesis_that_comes_or_goes_touches_all_that_are_there_then() -> None:
    both, one = loaded().study, loaded((SECOND, "")).study
    assert affected(both, one, changed_fields(both, one), SEEN) == ("first",)
    assert affected(one, both, changed_fields(one, both), SEEN) == ("first", "second")
    for old, new in ((both, one), (one, both)):
        assert affected(old, new, changed_fields(old, new), Known()) == ()


def test_what_was_removed_after_runs_had_started_is_withdrawn() -> None:
    both, one = loaded().study, loaded((SECOND, "")).study
    none = both.model_copy(update={"hypotheses": ()})

    def names(new: Study, made: Amendment) -> list[str]:
        return [h.id for h in withdrawn(both, new, made)]

    assert names(one, amendment(SEEN, "first")) == ["second"]
    assert names(one, amendment(Known())) == []
    assert names(one, amendment(Known(exploratory_runs=1))) == []  # on seeds that the plan does not have
    assert names(one, amendment(Known(exploratory_runs=1), "first")) == ["second"]
    assert names(none, amendment(Known(exploratory_runs=1))) == ["first", "second"]
    assert names(loaded(("id: first", "id: zeroth")).study, amendment(SEEN)) == ["first"]
    assert [h.id for h in withdrawn(one, both, amendment(SEEN))] == []


def test_a_hypothesis_behind_a_changed_gate_is_touched() -> None:
    gate = ("id: second\n", "id: second\n    gate: first\n")
    old = loaded(gate).study
    new = loaded(gate, ("direction: greater", "direction: less")).study
    assert affected(old, new, changed_fields(old, new), SEEN) == ("first", "second")


@pytest.mark.parametrize(
    ("known", "anything"),
    [
        (Known(), False),
        (Known(exploratory_runs=2), False),
        (Known(runs_started=1), True),
        (Known(evaluations=1), True),
        (Known(looks=1), True),
        (Known(reports=1), True),
    ],
)
def test_from_the_first_run_on_something_is_known(known: Known, anything: bool) -> None:
    assert known.anything is anything
