"""The whole path through the command line: lock, plan, run, status, report, verify; and what breaks it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.cli import harness
from tests.harness.studies import hypothesis, tiny, write_study

EPOCH = {"SOURCE_DATE_EPOCH": "1790000000"}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A locked study with all its runs and its report."""
    return done_study(tmp_path_factory.mktemp("whole"))


def done_study(folder: Path) -> Path:
    write_study(folder)
    for command in (("prereg", "lock", "study.yaml"), ("run", "study.yaml", "--slots", "1"), ("report",)):
        called = harness(*command, folder=folder, **EPOCH)
        assert called.code == 0, called.err
    return folder


def copy(study: Path, target: Path) -> Path:
    shutil.copytree(study, target / "copy")
    return target / "copy"


def test_reports_in_every_format(study: Path) -> None:
    report = study / "study.report"
    assert (report / "report.pdf").read_bytes().startswith(b"%PDF-")
    html = (report / "report.html").read_text(encoding="utf-8")
    assert "A tiny study" in html
    assert "<script" not in html
    assert "COUNTED CLOCK" in html
    assert list((report / "tables").glob("*.csv"))
    assert list((report / "tables").glob("*.json"))


def test_status_and_verify_agree_that_all_is_done(study: Path) -> None:
    status = harness("status", "--json", folder=study)
    assert {run["state"] for run in status.json()["runs"]} == {"finished"}
    verified = harness("prereg", "verify", "--json", folder=study)
    assert verified.code == 0
    assert verified.json()["sound"] is True
    assert len(verified.json()["runs"]) == 4


def test_running_again_does_nothing(study: Path) -> None:
    called = harness("run", "--json", folder=study)
    assert called.code == 0
    assert {run["state"] for run in called.json()["runs"]} == {"finished"}
    assert "started" not in called.err


def test_the_same_study_twice_gives_the_same_lock_content_and_report(study: Path, tmp_path: Path) -> None:
    again = done_study(tmp_path)
    for name in ("study.lock.json", "study.report/report.html", "study.report/report.pdf"):
        assert (again / name).read_bytes() == (study / name).read_bytes(), name
    digests = [
        [
            json.loads(path.read_text())["content_digest"]
            for path in sorted(folder.glob("study.runs/*/complete.json"))
        ]
        for folder in (study, again)
    ]
    assert digests[0] == digests[1]
    assert len(digests[0]) == 4


def test_a_study_that_was_edited_is_not_run_and_the_field_is_named(study: Path, tmp_path: Path) -> None:
    folder = copy(study, tmp_path)
    edited = tiny(trainer=tiny()["trainer"] | {"optimizer": {"learning_rate": 2e-3}})
    (folder / "study.yaml").write_text(json.dumps(edited), encoding="utf-8")
    for command in (("run",), ("prereg", "verify")):
        called = harness(*command, folder=folder)
        assert called.code == 4
        assert "study.trainer.optimizer.learning_rate" in called.err
        assert "0.001" in called.err
        assert "0.002" in called.err


def test_exploratory_runs_stand_apart_and_are_marked(study: Path, tmp_path: Path) -> None:
    folder = copy(study, tmp_path)
    edited = tiny(
        seeds=[5], hypotheses=[], kind="pilot", budget={"updates": 2, "clock": "counted"}, evaluation={}
    )
    (folder / "study.yaml").write_text(json.dumps(edited), encoding="utf-8")
    called = harness("run", "--exploratory", folder=folder)
    assert called.code == 0, called.err
    assert "EXPLORATORY" in called.err
    assert (folder / "study.exploratory" / "grpo.small.s5" / "complete.json").is_file()
    assert not (folder / "study.runs" / "grpo.small.s5").exists()
    report = harness("report", "--exploratory", "--json", folder=folder)
    assert report.code == 0, report.err
    assert "EXPLORATORY" in (folder / report.json()["html"]).read_text(encoding="utf-8")


@pytest.mark.parametrize("table", ["samples", "sequences", "updates", "tokens"])
def test_an_altered_or_cut_ledger_file_is_found_and_named(study: Path, tmp_path: Path, table: str) -> None:
    folder = copy(study, tmp_path)
    path = folder / "study.runs" / "mcpo.small.s2" / "tables" / f"{table}.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    for damaged in (bytes(content), bytes(content[:-40]), b""):
        path.write_bytes(damaged)
        called = harness("report", folder=folder)
        assert called.code == 3
        assert f"{table}.parquet" in called.err
        assert "Traceback" not in called.err
        verified = harness("prereg", "verify", folder=folder)
        assert verified.code == 4
        assert f"{table}.parquet" in verified.err


@pytest.mark.parametrize("name", ["study.lock.json", "study.events.jsonl"])
def test_an_altered_lock_or_event_log_is_found_and_named(study: Path, tmp_path: Path, name: str) -> None:
    folder = copy(study, tmp_path)
    path = folder / name
    content = path.read_bytes()
    for damaged in (content.replace(b"tiny", b"tidy", 1), content[: len(content) // 2], content[1:]):
        path.write_bytes(damaged)
        for command in (("report",), ("prereg", "verify")):
            called = harness(*command, folder=folder)
            assert called.code in (3, 4), (damaged[:80], called.err)
            assert name in called.err
            assert "Traceback" not in called.err


def test_a_run_that_was_replaced_after_it_finished_is_found(study: Path, tmp_path: Path) -> None:
    folder = copy(study, tmp_path)
    runs = folder / "study.runs"
    shutil.rmtree(runs / "mcpo.small.s2")
    shutil.copytree(runs / "mcpo.small.s1", runs / "mcpo.small.s2")
    called = harness("prereg", "verify", folder=folder)
    assert called.code == 4
    assert "mcpo.small.s2" in called.err


def test_a_report_before_all_runs_are_done_is_a_look_that_stays_on_record(tmp_path: Path) -> None:
    write_study(tmp_path)
    assert harness("prereg", "lock", folder=tmp_path).code == 0
    ran = harness("run", "--only", "seed=1", folder=tmp_path)
    assert ran.code == 0, ran.err
    called = harness("report", "--json", folder=tmp_path)
    assert called.code == 0, called.err
    assert called.json()["verdicts"] == {"h1": "INADMISSIBLE"}
    events = [json.loads(line) for line in (tmp_path / "study.events.jsonl").read_text().splitlines()]
    assert [e["kind"] for e in events].count("look") == 1
    assert "look" in (tmp_path / "study.report" / "report.html").read_text(encoding="utf-8")


def test_a_locked_study_is_not_locked_again(study: Path, tmp_path: Path) -> None:
    folder = copy(study, tmp_path)
    called = harness("prereg", "lock", folder=folder)
    assert called.code == 3
    assert "locked already" in called.err
    (folder / "study.lock.json").unlink()
    called = harness("prereg", "lock", folder=folder)
    assert called.code == 3
    assert "study.runs" in called.err
    shutil.rmtree(folder / "study.runs")
    called = harness("prereg", "lock", folder=folder)
    assert called.code == 3
    assert "study.events.jsonl" in called.err


def test_a_finished_run_that_was_deleted_is_not_overlooked_or_made_again(study: Path, tmp_path: Path) -> None:
    folder = copy(study, tmp_path)
    shutil.rmtree(folder / "study.runs" / "grpo.small.s1")
    for command in (("report",), ("run",), ("prereg", "verify")):
        called = harness(*command, folder=folder)
        assert called.code == 4, command
        assert "grpo.small.s1 finished, but it is not there" in called.err


def test_a_study_that_denies_its_exploratory_runs_is_not_locked(tmp_path: Path) -> None:
    write_study(
        tmp_path, budget={"updates": 1, "clock": "counted"}, evaluation={}, hypotheses=[], kind="pilot"
    )
    ran = harness("run", "--exploratory", "--only", "arm=grpo,seed=1", folder=tmp_path)
    assert ran.code == 0, ran.err
    called = harness("prereg", "lock", folder=tmp_path)
    assert called.code == 3
    assert "grpo.small.s1" in called.err
    assert "pilot_seeds" in called.err


def test_plan_show_and_schema_print(study: Path) -> None:
    plan = harness("plan", "--json", folder=study)
    assert plan.code == 0
    assert len(plan.json()["runs"]) == 4
    shown = harness("prereg", "show", folder=study)
    assert shown.code == 0
    assert "mcpo" in shown.out
    assert json.loads(harness("prereg", "schema", folder=study).out)["title"] == "Study"


def test_hypotheses_of_an_unfinished_family_do_not_leak(study: Path) -> None:
    verdicts = json.loads((study / "study.report" / "tables" / "verdicts.json").read_text(encoding="utf-8"))
    assert "h1" in json.dumps(verdicts)
    assert hypothesis()["statement"] in json.dumps(verdicts)
