"""A run that cannot write fails for good, and a reserve seed takes over: by the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.cli import Called, harness
from tests.harness.studies import tiny, write_study

BUDGET = {"updates": 4, "clock": "counted"}
HYPOTHESIS = tiny()["hypotheses"][0] | {"matched_on": "updates"}
FAILING = "grpo.small.s1"


def events(folder: Path, kind: str) -> list[dict[str, object]]:
    lines = (folder / "study.events.jsonl").read_text(encoding="utf-8").splitlines()
    return [event["data"] for event in map(json.loads, lines) if event["kind"] == kind]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Called]]:
    """A study of seeds 1 and 2 with 3 and 4 in reserve, and `harness run` three times.

    A run of seed 1 fails after its first update: a folder stands where it writes how far it is.
    """
    folder = tmp_path_factory.mktemp("reserve")
    write_study(folder, reserve_seeds=[3, 4], budget=BUDGET, evaluation={}, hypotheses=[HYPOTHESIS])
    assert harness("prereg", "lock", folder=folder).code == 0
    (folder / "study.runs" / FAILING / "progress.json").mkdir(parents=True)
    return folder, [harness("run", "--json", folder=folder) for _ in range(3)]


def test_it_is_tried_twice_and_then_replaced_in_the_same_invocation(story: tuple[Path, list[Called]]) -> None:
    folder, (first, second, third) = story
    assert first.code == 5, first.err
    assert first.json()["reserve"] == {
        "replaced": [], "left": [3, 4], "missing": [], "tried_once_more": [FAILING]
    }  # fmt: skip
    assert second.code == 0, second.err
    assert "reserve seed 3 drawn in place of 1: grpo.small.s1 failed" in second.err
    assert {(run["run_id"], run["state"]) for run in second.json()["runs"]} == {
        (f"{arm}.small.s{seed}", "finished") for arm in ("grpo", "mcpo") for seed in (3, 2)
    }
    assert events(folder, "reserve") == [{"seed": 1, "by": 3, "run": FAILING}]
    assert third.code == 0
    assert "started" not in third.err
    assert "resumed" not in third.err
    assert len(events(folder, "run_failed")) == 2, "once a seed is given up, it is not tried again"
    assert not list(folder.glob("study.runs/*.s4"))


def test_status_report_and_verify_agree(story: tuple[Path, list[Called]]) -> None:
    folder, _ = story
    status = harness("status", folder=folder)
    assert "reserve seed 3 takes the place of 1: grpo.small.s1 failed for good" in status.out
    assert "in reserve, not called for: 4" in status.out
    verified = harness("prereg", "verify", folder=folder)
    assert verified.code == 0, verified.err
    report = harness("report", "--json", folder=folder)
    assert report.code == 0, report.err
    assert (report.json()["finished"], report.json()["planned"]) == (4, 4)
    assert report.json()["verdicts"]["h1"] not in ("INADMISSIBLE", "DEVIATED")
    assert not events(folder, "look")
    (verdict,) = json.loads((folder / "study.report/tables/verdicts.json").read_text(encoding="utf-8"))
    assert [seed for seed, _ in verdict["per_seed"]] == [3, 2]
    html = (folder / "study.report/report.html").read_text(encoding="utf-8")
    assert "As planned, the reserve seed 3 took the place of 1" in html
    assert "Nothing differs from the lock." in html


def test_damage_to_a_run_that_was_given_up_is_named_and_stops_no_report(
    story: tuple[Path, list[Called]], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(story[0], folder)
    damaged = next((folder / "study.runs" / FAILING).glob("commits/*/samples.parquet"))
    damaged.write_bytes(b"")
    verified = harness("prereg", "verify", folder=folder)
    assert verified.code == 4
    assert f"{FAILING}/commits" in verified.err
    report = harness("report", "--json", folder=folder)
    assert report.code == 0, report.err
    assert report.json()["verdicts"]["h1"] not in ("INADMISSIBLE", "DEVIATED")


def test_a_run_of_the_reserve_that_no_failure_called_for_is_named(
    story: tuple[Path, list[Called]], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(story[0], folder)
    made = harness("run-cell", "study.yaml", "--run-id", "grpo.small.s4", folder=folder)
    assert made.code == 0, made.err
    verified = harness("prereg", "verify", folder=folder)
    assert verified.code == 4
    assert "grpo.small.s4: a run of the reserve seed 4, which no failure called for" in verified.err
