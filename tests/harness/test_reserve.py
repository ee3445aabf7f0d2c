"""What calls for a reserve seed, by the event log and by the folders of a simulation."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.locking import lock_study
from harness.looks import cells_within
from harness.plan import plan_of
from harness.reporting import report_study
from harness.reserve import (
    draw,
    expected_cells,
    failed_for_good,
    faults,
    progress,
    recorded,
    reserve_of,
    standing_cells,
    study_as_run,
)
from harness.roots import StudyRoot
from harness.simulation.study import simulate_study
from prereg.events import append_event, read_events
from prereg.layout import StudyLayout
from prereg.problems import Refused
from tests.harness.simulation.truths import arm, write
from tests.harness.simulation.truths import study as big_study
from tests.harness.studies import loaded, write_study

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> StudyRoot:
    """Seeds 1 and 2, in reserve 3 and 4, and an event log to be written by the test."""
    return StudyRoot.of_runs(loaded(tmp_path, reserve_seeds=[3, 4]))


def log(root: StudyRoot, *events: str) -> None:
    """`fail grpo.small.s1`, `finish ...` or `aside`, an amendment that sets the runs aside."""
    for text in events:
        word, _, run = text.partition(" ")
        kind: Any = {"fail": "run_failed", "finish": "run_finished", "aside": "amendment"}[word]
        data = {"runs_set_aside": True} if word == "aside" else {"run": run}
        append_event(root.events, kind, text, NOW, data)


def seeds(root: StudyRoot) -> list[int]:
    return list(dict.fromkeys(cell.seed for cell in standing_cells(root)))


def test_one_failure_calls_for_nothing_and_the_second_for_a_seed(root: StudyRoot) -> None:
    log(root, "fail grpo.small.s1")
    assert draw(root) == ()
    assert reserve_of(root).pending == ("grpo.small.s1",)
    log(root, "fail grpo.small.s1")
    (one,) = draw(root)
    assert (one.seed, one.by, one.run) == (1, 3, "grpo.small.s1")
    assert seeds(root) == [3, 2]
    assert draw(root) == ()
    last = read_events(root.events).events[-1]
    assert (last.kind, last.summary) == (
        "reserve",
        "reserve seed 3 drawn in place of 1: grpo.small.s1 failed",
    )
    assert list(faults(root.loaded.study, read_events(root.events).events, root.runs)) == []


def test_failures_are_counted_by_run_and_end_with_its_end(root: StudyRoot) -> None:
    log(root, "fail grpo.small.s1", "fail mcpo.small.s1", "fail grpo.small.s2", "finish grpo.small.s1")
    log(root, "fail grpo.small.s1")
    assert failed_for_good(root.loaded.study, read_events(root.events).events) == ()


def test_the_first_to_fail_is_served_first_and_a_later_failure_moves_nothing(root: StudyRoot) -> None:
    log(root, *["fail mcpo.small.s2"] * 2)
    draw(root)
    assert seeds(root) == [1, 3]
    log(root, *["fail grpo.small.s1"] * 2)
    draw(root)
    assert seeds(root) == [4, 3]


def test_a_look_is_of_the_places_and_not_of_the_numbers(tmp_path: Path) -> None:
    looks = [{"seeds": 2, "share": 0.5}, {"seeds": 3, "share": 0.5}]
    stopping = {"kind": "group_sequential", "looks": looks}
    root = StudyRoot.of_runs(loaded(tmp_path, seeds=[1, 2, 5], reserve_seeds=[3], stopping=stopping))
    log(root, *["fail grpo.small.s2"] * 2)
    draw(root)
    assert {cell.seed for cell in cells_within(study_as_run(root), 1)} == {1, 3}
    assert seeds(root) == [1, 3, 5]


def test_a_seed_of_the_reserve_may_fail_in_its_turn(root: StudyRoot) -> None:
    for seed in (1, 3, 4):
        log(root, *[f"fail grpo.small.s{seed}"] * 2)
        draw(root)
    assert seeds(root) == [4, 2]
    found = reserve_of(root)
    assert (found.left, found.missing, found.pending) == ((), (), ())


def test_runs_that_an_amendment_set_aside_call_for_nothing(root: StudyRoot) -> None:
    log(root, "fail grpo.small.s1", "fail grpo.small.s1")
    draw(root)
    log(root, "aside")
    assert seeds(root) == [1, 2]
    log(root, "fail grpo.small.s1")
    assert draw(root) == ()


def test_a_plan_that_goes_without_pairs_gives_up_what_no_seed_replaces(tmp_path: Path) -> None:
    missing = {"pairs": "complete_cases", "at_least": 2}
    root = StudyRoot.of_runs(loaded(tmp_path, seeds=[1, 2, 5], reserve_seeds=[3], missing=missing))
    log(root, *["fail grpo.small.s1"] * 2, *["fail grpo.small.s5"] * 2, "fail mcpo.small.s2")
    draw(root)
    found = reserve_of(root)
    assert seeds(root) == [3, 2, 5]
    assert found.missing == ("grpo.small.s5",)
    assert found.pending == ("mcpo.small.s2",)
    assert "grpo.small.s5: failed for good; its pair is missing" in found.lines()
    assert len(standing_cells(root)) == 6
    assert "grpo.small.s5" not in [cell.run_id for cell in expected_cells(root)]
    assert progress(StudyLayout.of(root.loaded.path), root.loaded.study) == (0, 5)


def test_a_draw_that_nothing_called_for_is_named(root: StudyRoot) -> None:
    study = root.loaded.study
    log(root, "fail grpo.small.s1")
    append_event(root.events, "reserve", "x", NOW, {"seed": 1, "by": 3, "run": "grpo.small.s1"})
    append_event(root.events, "reserve", "x", NOW, {"seed": 2, "by": 3, "run": "grpo.small.s2"})
    log(root, "fail grpo.small.s1")  # too late for the draw that is recorded
    events = read_events(root.events).events
    assert [fault.split(":")[0] for fault in faults(study, events, root.runs)] == ["event 2", "event 3"]
    assert recorded(study, events) == ()
    assert seeds(root) == [1, 2]


def test_a_run_of_the_reserve_that_nothing_called_for_is_named(root: StudyRoot) -> None:
    for name in ("grpo.small.s2", "grpo.small.s4"):
        (root.runs / name).mkdir(parents=True)
        (root.runs / name / "run.json").write_text("{}")
    (found,) = faults(root.loaded.study, (), root.runs)
    assert found == "grpo.small.s4: a run of the reserve seed 4, which no failure called for"


def test_a_plan_without_such_rules_reads_no_log(tmp_path: Path) -> None:
    root = StudyRoot.of_runs(loaded(tmp_path))
    root.events.write_text("no log at all")
    assert reserve_of(root).lines() == ()
    assert seeds(root) == [1, 2]


def test_the_plan_counts_the_reserve_apart(root: StudyRoot) -> None:
    plan = plan_of(root.loaded.study, {"easy": 5, "hard": 5})
    assert len(plan.runs) == 4
    assert "reserve seeds 3 and 4: 4 more runs at most, 2 a seed" in plan.notes[0]


def rehearse(tmp_path: Path, failures: dict[str, float], **changes: Any) -> Any:
    paths = write(
        tmp_path, big_study(**changes), arms={"grpo": arm(failures=failures), "mcpo": arm(gain=1.6)}
    )
    simulate_study(*paths)
    return report_study(paths[0], exploratory=False, folder=None, simulated=True)


def exported(folder: Path, name: str) -> Any:
    path = folder / "study.simulated/report/tables" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_rehearsal_draws_the_reserve_for_crashes(tmp_path: Path) -> None:
    """Which runs crash is read from the folders, and the pairs that must follow are worked out from those."""
    report = rehearse(tmp_path, {"crash": 0.5}, seeds=[1, 2, 3, 4], reserve_seeds=list(range(11, 21)))
    crashed = {int(p.parent.name.rpartition(".s")[2])
               for p in (tmp_path / "study.simulated").glob("*/failure.json")}  # fmt: skip
    assert crashed & {1, 2, 3, 4}, "the truth was to make some of them crash"
    places, left = [1, 2, 3, 4], list(range(11, 21))
    while bad := [seed for seed in places if seed in crashed]:
        places[places.index(bad[0])] = left.pop(0)
    (verdict,) = exported(tmp_path, "verdicts")
    assert {seed for seed, _ in verdict["per_seed"]} == set(places)
    assert verdict["outcome"] != "INADMISSIBLE"
    assert (report.finished, report.planned) == (8, 8)
    assert "As planned, the reserve seed 11 took the place of" in report.paths.html.read_text(
        encoding="utf-8"
    )


def test_a_rehearsal_goes_without_pairs_that_crashed(tmp_path: Path) -> None:
    """It is complete without them: the report on it is no look."""
    missing = {"pairs": "complete_cases", "at_least": 2}
    report = rehearse(tmp_path, {"crash": 0.5}, missing=missing)
    crashed = {p.parent.name for p in (tmp_path / "study.simulated").glob("*/failure.json")}
    whole = [seed for seed in range(1, 9) if f"grpo.small.s{seed}" not in crashed]
    assert 2 <= len(whole) < 8
    (verdict,) = exported(tmp_path, "verdicts")
    assert [seed for seed, _ in verdict["per_seed"]] == whole
    assert len([reason for reason in verdict["reasons"] if "is missing" in reason]) == 8 - len(whole)
    assert (report.finished, report.planned) == (16 - len(crashed), 16 - len(crashed))
    assert "worst of the others" in verdict["sensitivity"][0]["name"]


def test_a_seed_of_the_reserve_that_an_exploratory_run_used_is_refused(tmp_path: Path) -> None:
    seen = {"seen": "pilot_runs", "pilot_seeds": [9]}
    path = write_study(tmp_path, reserve_seeds=[3, 4], data_status=seen)
    used = tmp_path / "study.exploratory" / "grpo.small.s4"
    used.mkdir(parents=True)
    (used / "run.json").write_text(json.dumps({"seed": 4}))
    with pytest.raises(Refused) as refused:
        lock_study(path)
    assert refused.value.problems[0].path == ("reserve_seeds", 1)


def test_a_rehearsal_draws_nothing_for_divergence(tmp_path: Path) -> None:
    rehearse(tmp_path, {"divergence": 1.0}, seeds=[1, 2, 3], reserve_seeds=[11, 12, 13])
    (verdict,) = exported(tmp_path, "verdicts")
    assert [seed for seed, _ in verdict["per_seed"]] == [1, 2, 3]
    assert not list((tmp_path / "study.simulated").glob("*.s11"))
