"""Planned looks through the command line: which cells run, what is logged, and how a study stops early."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.cells import cells_of
from harness.looks import cells_until, look_states, planned_look
from harness.powering import render, study_power
from harness.reporting import report_study
from prereg.events import read_events
from prereg.problems import Refused
from prereg.show import render_plan
from tests.harness.simulation.truths import arm, study, truth, write
from tests.harness.studies import benchmark, hypothesis, loaded, tiny, write_study
from tests.inprocess import called

LOOKS = {
    "kind": "group_sequential",
    "looks": [{"seeds": 3, "share": 0.2}, {"seeds": 5, "share": 0.8}],
}
SEEDS = [11, 12, 13, 14, 15]


# ---- cells


def test_the_seeds_of_an_earlier_look_come_first(tmp_path: Path) -> None:
    plan = loaded(tmp_path, seeds=SEEDS, stopping=LOOKS).study
    first = cells_until(plan, 1)
    assert cells_of(plan)[: len(first)] == first
    assert {cell.seed for cell in first} == {11, 12, 13}
    assert cells_until(plan, 2) == cells_of(plan)


def test_a_look_that_is_not_planned_is_refused(tmp_path: Path) -> None:
    plan = loaded(tmp_path, seeds=SEEDS, stopping=LOOKS).study
    for number in (0, 3):
        with pytest.raises(Refused, match=r"1 \(after 3 seeds\), 2 \(after 5 seeds\)"):
            cells_until(plan, number)
    with pytest.raises(Refused, match="fixed number of seeds"):
        cells_until(loaded(tmp_path / "fixed").study, 1)


def test_a_planned_look_is_one_on_its_seeds_and_no_others(tmp_path: Path) -> None:
    plan = loaded(tmp_path, seeds=SEEDS, stopping=LOOKS).study
    cells, first = cells_of(plan), cells_until(plan, 1)
    assert planned_look(plan, first, first) == 1
    assert planned_look(plan, first[:-1], first) is None, "a run of it is missing"
    assert planned_look(plan, first, cells[:7]) is None, "a run after it has begun"
    assert planned_look(plan, cells, cells) is None, "the end is no look"
    assert planned_look(loaded(tmp_path / "fixed").study, [], []) is None
    assert [str(one) for one in look_states(plan, first)] == [
        "look 1 (after 3 seeds): complete",
        "look 2 (after 5 seeds): 6 of 10 runs finished",
    ]


# ---- power and the plan in words


def test_power_shows_when_the_looks_decide(tmp_path: Path) -> None:
    claims = [hypothesis(power={"effect": 3, "sd": 1.0})]
    found = study_power(loaded(tmp_path, hypotheses=claims, seeds=SEEDS, stopping=LOOKS), 200, (3, 8))
    text = render(found)
    assert "is decided at look 1, after 3 seeds:" in text
    assert "goes on to look 2, after 5 seeds:" in text
    assert "seeds that it needs on average: " in text
    assert "no other number was simulated" in text
    (one,) = json.loads(json.dumps(found.to_json()))["hypotheses"]
    assert [row["seeds"] for row in one["curve"]] == [5]
    assert one["stops"]["after"] == [3, 5]


def test_the_plan_says_when_it_looks(tmp_path: Path) -> None:
    plan = render_plan(loaded(tmp_path, seeds=SEEDS, stopping=LOOKS).study)
    assert "look 1 after 3 seeds at 20 % of alpha, look 2 after 5 seeds at 80 % of alpha" in plan
    assert "Looks" not in render_plan(loaded(tmp_path / "fixed").study)


# ---- a rehearsed study


def rehearse(folder: Path, gain: float, *, look: int | None) -> tuple[Path, dict[str, Any], str]:
    """Simulate up to a look and report: the study, its verdict and its page."""
    better = truth(arms={"grpo": arm(), "mcpo": arm(gain=gain)})
    path, made_of = write(folder, study(seeds=SEEDS, stopping=LOOKS, evaluation={"pass_k": [1]}), **better)
    only = () if look is None else ("--look", str(look))
    code, _, err = called("simulate", str(path), "--truth", str(made_of), *only)
    assert code == 0, err
    code, _, err = called("report", str(path), "--simulated")
    assert code == 0, err
    report = folder / "study.simulated/report"
    (verdict,) = json.loads((report / "tables/verdicts.json").read_text(encoding="utf-8"))
    return path, verdict, (report / "report.html").read_text(encoding="utf-8")


def test_a_large_effect_stops_at_the_first_look(tmp_path: Path) -> None:
    path, verdict, page = rehearse(tmp_path, 3.5, look=1)
    assert verdict["outcome"] == "CONFIRMED"
    assert verdict["effect"]["level"] == pytest.approx(0.99)
    assert len(verdict["per_seed"]) == 3
    assert "Stopped at look 1 of 2 as planned, after 3 seeds" in page
    assert "planned runs could not be analysed" not in page
    (event,) = read_events(path.parent / "study.simulated/events.jsonl").events
    assert (event.kind, event.data["planned_look"]) == ("look", 1)


def test_a_small_effect_goes_on_and_is_judged_at_the_end(tmp_path: Path) -> None:
    path, waiting, page = rehearse(tmp_path, 1.45, look=1)
    assert waiting["outcome"] == "INADMISSIBLE"
    assert "look 2 of 2, after 5 seeds, cannot be judged" in waiting["reasons"][1]
    assert "4 planned runs could not be analysed" in page
    _, verdict, page = rehearse(tmp_path, 1.45, look=None)
    assert verdict["outcome"] == "CONFIRMED"
    assert len(verdict["per_seed"]) == 5
    assert verdict["effect"]["level"] == pytest.approx(0.96)
    assert "decided at look 2 of 2, after 5 of 5 seeds" in page
    between_looks(path)


def between_looks(path: Path) -> None:
    """With a run less it is an unplanned look; two pages of the same moment are the same bytes."""
    runs = path.parent / "study.simulated"
    shutil.rmtree(runs / "mcpo.small.s15")
    pages = []
    for name in ("one", "two"):
        (runs / "events.jsonl").unlink()
        folder, at = path.parent / name, datetime(2026, 1, 1, tzinfo=UTC)
        made = report_study(path, exploratory=False, folder=folder, simulated=True, at=at)
        assert made.look is None
        pages.append([file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()])
    assert pages[0] == pages[1]
    (event,) = read_events(runs / "events.jsonl").events
    assert (event.kind, event.data) == ("look", {"finished": 9, "planned": 10})


# ---- real runs under a lock


def test_a_locked_study_runs_look_by_look(tmp_path: Path) -> None:
    plan = {
        "seeds": [1, 2, 3],
        "stopping": LOOKS | {"looks": [{"seeds": 2, "share": 0.5}, {"seeds": 3, "share": 0.5}]},
        "budget": {"updates": 1, "clock": "counted"},
        "evaluation": {"pass_k": [1]},
        "data": tiny()["data"] | {"benchmarks": {"easy": benchmark("easy", 2, 1)}},
        "hypotheses": [hypothesis(matched_on="updates")],
    }  # fmt: skip
    path = str(write_study(tmp_path, **plan))
    assert called("prereg", "lock", path)[0] == 0
    code, out, _ = called("run", path, "--look", "3", "--json")
    assert code == 3
    assert "planned: 1 (after 2 seeds), 2 (after 3 seeds)" in json.dumps(json.loads(out))
    code, out, err = called("run", path, "--look", "1", "--slots", "1", "--json")
    assert code == 0, err
    assert [run["seed"] for run in json.loads(out)["runs"]] == [1, 1, 2, 2]
    _, out, _ = called("status", path, "--json")
    assert [one["complete"] for one in json.loads(out)["looks"]] == [True, False]
    _, out, _ = called("status", path)
    assert "look 1 (after 2 seeds): complete\nlook 2 (after 3 seeds): 4 of 6 runs finished" in out
    code, _, err = called("report", path)
    assert code == 0, err
    assert "look 1 of the plan, on 4 of 6 runs" in err
    kinds = [event.kind for event in read_events(tmp_path / "study.events.jsonl").events]
    assert kinds[-1] == "look"
    assert called("prereg", "verify", path)[0] == 0
    page = (tmp_path / "study.report/report.html").read_text(encoding="utf-8")
    assert "look 1 of the plan, with 4 of 6 runs complete" in page
    assert "Nothing differs from the lock" in page
