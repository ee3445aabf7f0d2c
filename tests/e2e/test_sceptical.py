"""Making a method look good by legal means: each attempt is refused, or stands on the first page."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli import harness
from tests.harness.studies import benchmark, hypothesis, tiny, write_study
from tests.inprocess import called

SMALL: dict[str, Any] = {
    "budget": {"updates": 2, "clock": "counted"},
    "evaluation": {"pass_k": [1]},
    "data": tiny()["data"]
    | {"benchmarks": {"easy": benchmark("easy", 3, 2), "hard": benchmark("hard", 3, 2)}},
    "hypotheses": [hypothesis(matched_on="updates")],
}


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that was locked, half run, looked at, run to its end, and reported."""
    folder = tmp_path_factory.mktemp("sceptical")
    path = write_study(folder, **SMALL)
    assert called("prereg", "lock", str(path))[0] == 0
    assert harness("run", "--only", "seed=1", folder=folder).code == 0
    assert called("report", str(path))[0] == 0
    assert harness("run", folder=folder).code == 0
    assert called("report", str(path))[0] == 0
    return folder


@pytest.fixture
def study(looked_at: Path, tmp_path: Path) -> Path:
    """A copy of it to tamper with."""
    shutil.copytree(looked_at, tmp_path / "copy")
    return tmp_path / "copy" / "study.yaml"


def edit(study: Path, **changes: Any) -> None:
    write_study(study.parent, **(SMALL | changes))


def amend(study: Path, reason: str) -> dict[str, Any]:
    code, out, err = called("prereg", "amend", str(study), "--reason", reason, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)["amendment"]
    return found


def report(study: Path) -> tuple[dict[str, str], str]:
    """The verdicts, and the text of the first page: all before the hypotheses in full."""
    code, out, err = called("report", str(study), "--json")
    assert code == 0, err
    page = (study.parent / "study.report" / "report.html").read_text(encoding="utf-8")
    first = page[page.index('<div class="glance">') : page.index('<nav aria-label="Contents">')]
    return json.loads(out)["verdicts"], re.sub(r"<[^>]+>", " ", first)


def refused(study: Path, *words: str) -> None:
    """`harness run` refuses with exit code 4, and says why."""
    code, _, err = called("run", str(study))
    assert code == 4, err
    for word in words:
        assert word in err


def test_honest_runs_and_the_look_that_was_taken(study: Path) -> None:
    verdicts, first = report(study)
    assert verdicts["h1"] in ("CONFIRMED", "INCONCLUSIVE", "REFUTED")
    assert "Results were looked at 1 time before all runs were complete" in first
    assert "with 2 of 4 runs" in first
    assert called("prereg", "verify", str(study))[0] == 0


def test_adding_seeds_until_it_works(study: Path) -> None:
    edit(study, seeds=[1, 2, 3])
    refused(study, "study.seeds", "[1, 2]")
    made = amend(study, "two seeds were too few")
    assert made["known"] | {"evaluations": 0} == {
        "runs_started": 4, "runs_finished": 4, "runs_failed": 0, "exploratory_runs": 0, "evaluations": 0,
        "looks": 1, "reports": 1,
    }  # fmt: skip
    assert made["known"]["evaluations"] == 4 * 2 * 2  # 4 runs, at the start and at the budget, 2 benchmarks
    assert made["affected"] == ["h1"]
    verdicts, first = report(study)
    assert verdicts == {"h1": "DEVIATED"}
    assert "amended" in first
    assert "4 runs started, 4 finished" in first
    assert "1 look, 1 report" in first
    assert "two seeds were too few" in first
    assert called("prereg", "verify", str(study))[0] == 0


def test_choosing_the_checkpoint_at_which_it_is_ahead(study: Path) -> None:
    edit(study, budget={"updates": 1, "clock": "counted"})
    refused(study, "study.budget.updates", "locked 2, now 1")
    verdicts, first = report(study)
    assert verdicts == {"h1": "DEVIATED"}
    assert "study.budget.updates: locked 2, now 1" in first
    made = amend(study, "read it earlier")
    assert made["runs_set_aside"] is True
    aside = study.parent / "study.runs.1"
    assert (aside / "grpo.small.s1" / "complete.json").is_file()
    assert not (study.parent / "study.runs").exists()
    assert called("prereg", "verify", str(study))[0] == 0
    shutil.rmtree(aside / "mcpo.small.s2")
    code, _, err = called("prereg", "verify", str(study))
    assert code == 4
    assert "mcpo.small.s2 finished, but it is not there" in err


def test_dropping_a_seed_that_went_wrong(study: Path) -> None:
    shutil.copytree(study.parent / "study.runs", study.parent / "kept")
    for arm in ("grpo", "mcpo"):
        shutil.rmtree(study.parent / "study.runs" / f"{arm}.small.s2")
    refused(study, "s2 finished, but it is not there")
    assert called("report", str(study))[0] == 4
    shutil.rmtree(study.parent / "study.runs")
    (study.parent / "kept").rename(study.parent / "study.runs")
    edit(study, seeds=[1, 3])
    refused(study, "study.seeds")
    assert amend(study, "seed 2 was odd")["affected"] == ["h1"]
    verdicts, first = report(study)
    assert verdicts == {"h1": "DEVIATED"}
    assert "seed 2 was odd" in first
    assert "study.seeds.1" in first
    assert "no longer planned: grpo.small.s2 and mcpo.small.s2" in first


@pytest.mark.parametrize(
    "change",
    [
        {"metric": {"kind": "pass", "k": 2}},
        {"benchmarks": ["easy"]},
        {"direction": "less"},
        {"alpha": 0.4},
    ],
    ids=lambda change: next(iter(change)),
)
def test_choosing_what_is_tested_afterwards(study: Path, change: dict[str, Any]) -> None:
    edit(study, hypotheses=[hypothesis(matched_on="updates", **change)])
    refused(study, "study.hypotheses.h1")
    amend(study, "a better question")
    verdicts, first = report(study)
    assert verdicts == {"h1": "DEVIATED"}
    assert "Verdicts on h1 are DEVIATED by it." in first


def test_a_new_hypothesis_after_a_look_deviates_and_so_does_the_old_one(study: Path) -> None:
    other = hypothesis(id="h2", matched_on="updates", direction="less")
    edit(study, hypotheses=[hypothesis(matched_on="updates"), other])
    assert amend(study, "it goes the other way")["affected"] == ["h1", "h2"]
    verdicts, first = report(study)
    assert verdicts == {"h1": "DEVIATED", "h2": "DEVIATED"}
    assert "The study deviates from its lock. By itself, of 2 hypotheses:" in first


def test_keeping_the_claim_that_came_out_well(tmp_path: Path) -> None:
    """Three of four are deleted after the report: they stay counted, and the one that is kept deviates."""
    four = [
        hypothesis(id=name, matched_on="updates", direction=way)
        for name, way in (("u1", "greater"), ("u2", "less"), ("u3", "two_sided"), ("u4", "greater"))
    ]
    path = write_study(tmp_path, **(SMALL | {"hypotheses": four}))
    assert called("prereg", "lock", str(path))[0] == 0
    locked_at = json.loads((tmp_path / "study.lock.json").read_text())["created"]
    assert harness("run", folder=tmp_path).code == 0
    assert called("report", str(path))[0] == 0
    edit(path, hypotheses=four[3:])
    assert amend(path, "a simpler plan")["affected"] == ["u4"]
    verdicts, first = report(path)
    assert verdicts == {"u1": "WITHDRAWN", "u2": "WITHDRAWN", "u3": "WITHDRAWN", "u4": "DEVIATED"}
    assert "when 4 runs were finished: u1, u2 and u3 (3 of the 4 hypotheses registered until then)" in first
    assert "Of 4 registered hypotheses: 1 " in first
    assert "3 withdrawn after 4 runs" in first
    assert f"Locked first on {locked_at}, amended on " in first


def test_locking_anew_under_another_name_or_after_clearing_up(study: Path) -> None:
    other = write_study(study.parent, "again.yaml", **SMALL)
    code, _, err = called("prereg", "lock", str(other))
    assert code == 3
    assert "locks a study with the id `tiny` already" in err
    (study.parent / "study.lock.json").unlink()
    code, _, err = called("prereg", "lock", str(study))
    assert code == 3
    assert "an earlier lock" in err


def test_a_better_run_in_the_place_of_another(study: Path) -> None:
    runs = study.parent / "study.runs"
    for name in ("run.json", "complete.json"):
        facts = json.loads((runs / "mcpo.small.s1" / name).read_text())
        facts |= {"lock": "0" * 64} if name == "run.json" else {"content_digest": "0" * 64}
        (runs / "mcpo.small.s1" / name).write_text(json.dumps(facts))
    verdicts, first = report(study)
    assert verdicts == {"h1": "DEVIATED"}
    assert "mcpo.small.s1 was made under another lock" in first
    assert "mcpo.small.s1 is not the one whose end the event log recorded" in first


def test_looking_at_exploratory_runs_of_the_locked_plan(tmp_path: Path) -> None:
    """They show on the same seeds what the locked runs will, so a report on them is a look."""
    path = write_study(tmp_path, **SMALL)
    assert called("prereg", "lock", str(path))[0] == 0
    assert harness("run", "--exploratory", folder=tmp_path).code == 0
    assert called("report", str(path), "--exploratory")[0] == 0
    shutil.rmtree(tmp_path / "study.exploratory")
    edit(path, hypotheses=[hypothesis(matched_on="updates", direction="less")])
    made = amend(path, "the other way round")
    assert (made["known"]["looks"], made["affected"]) == (1, ["h1"])


def test_looking_at_exploratory_runs_of_a_copy_of_the_study(tmp_path: Path) -> None:
    """Under another file name, but with the same id and seeds: the log of the lock tells of both."""
    path = write_study(tmp_path, **SMALL)
    assert called("prereg", "lock", str(path))[0] == 0
    copy = tmp_path / "s2.yaml"
    shutil.copyfile(path, copy)
    assert harness("run", "s2.yaml", "--exploratory", "--only", "seed=1", folder=tmp_path).code == 0
    assert called("report", str(copy), "--exploratory")[0] == 0
    code, _, err = called("run", str(copy), "--exploratory", "--override", "id=x")
    assert (code, "cannot be overridden" in err) == (3, True)
    log = (tmp_path / "study.events.jsonl").read_text()
    assert "exploratory runs of grpo, mcpo on seeds 1 begin (s2.yaml)" in log
    assert "exploratory report on 2 of 4 runs (s2.yaml)" in log
    shutil.rmtree(tmp_path / "s2.exploratory")
    edit(path, hypotheses=[hypothesis(matched_on="updates", direction="less")])
    made = amend(path, "the other way round")
    assert (made["known"]["exploratory_runs"], made["known"]["looks"], made["affected"]) == (2, 1, ["h1"])


def test_exploratory_runs_that_are_read_without_a_report_and_removed(tmp_path: Path) -> None:
    """Their folder can be read and removed; that they began stays on record, and on the first page."""
    path = write_study(tmp_path, **SMALL)
    assert called("prereg", "lock", str(path))[0] == 0
    assert harness("run", "--exploratory", "--only", "arm=mcpo,seed=1", folder=tmp_path).code == 0
    shutil.rmtree(tmp_path / "study.exploratory")
    edit(path, hypotheses=[hypothesis(matched_on="updates", direction="less")])
    made = amend(path, "the other way round")
    assert (made["known"]["exploratory_runs"], made["affected"]) == (1, ["h1"])
    assert harness("run", "--only", "arm=grpo,seed=1", folder=tmp_path).code == 0
    _, first = report(path)
    assert "exploratory runs of mcpo on seeds 1 begin" in first
