"""A study scaled down with `--override`: always apart from the lock, always marked, never mixed."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from harness.builtin import ARITHMETIC_110K
from harness.overrides import overridden, parse_overrides
from prereg.problems import Refused
from prereg.source import load_study
from prereg.sources import NamedTask
from tests.e2e.cli import harness
from tests.harness.studies import loaded, write_study

SMALL = (
    "--override",
    "budget.updates=2",
    "--override",
    "budget.generated_tokens=300",
    "--override",
    "seeds=[7]",
)


def test_runs_and_report_are_of_the_study_scaled_down_and_say_so(tmp_path: Path) -> None:
    write_study(tmp_path)
    shutil.copytree(ARITHMETIC_110K, tmp_path / "elsewhere" / "model")
    model = ("--model-override", f"small={tmp_path / 'elsewhere' / 'model'}")
    done = harness("run", *SMALL, *model, folder=tmp_path)
    assert done.code == 0, done.err
    assert "OVERRIDDEN: budget.generated_tokens=300, budget.updates=2, " in done.err
    assert {path.parent.name for path in (tmp_path / "study.exploratory").glob("*/run.json")} == {
        "grpo.small.s7", "mcpo.small.s7",
    }  # fmt: skip
    status = harness("status", "--exploratory", folder=tmp_path)
    assert "grpo.small.s7" in status.out
    report = harness("report", "--exploratory", folder=tmp_path)
    assert report.code == 0, report.err
    page = (tmp_path / "study.exploratory" / "report" / "report.html").read_text()
    assert "OVERRIDDEN: budget.generated_tokens=300, budget.updates=2, " in page
    assert not (tmp_path / "study.runs").exists()
    again = harness("regrade", "--exploratory", "--json", folder=tmp_path)
    assert again.code == 0, again.err
    regraded = again.json()
    assert {one["run_id"] for one in regraded["regraded"]} == {"grpo.small.s7", "mcpo.small.s7"}
    assert all(one["samples"] > 0 and one["changed"] == 0 for one in regraded["regraded"])
    assert regraded["passed_over"] == []
    other = harness("run", "--override", "budget.updates=3", folder=tmp_path)
    assert other.code == 3
    assert "under other overrides" in other.err


def test_the_command_that_the_documentation_shows_fits_the_study_that_it_names() -> None:
    """Its overrides are read as a shell and the command line would, and the study with them can be run."""
    page = Path("docs/studies.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sh\n(harness run .*?)```", page, re.DOTALL)
    words = shlex.split(block.replace("\\\n", " ").split("\nharness report")[0])
    assert words[:3] == ["harness", "run", "mcpo.yaml"]
    options = list(zip(words[3::2], words[4::2], strict=True))
    fields = [value for name, value in options if name == "--override"]
    models = [value for name, value in options if name == "--model-override"]
    assert len(fields) + len(models) == len(options)
    study = overridden(load_study(Path("studies/mcpo.yaml")), parse_overrides(fields, models)).study
    trainer = study.trainer
    update = trainer.prompts_per_update * trainer.samples_per_prompt * trainer.max_new_tokens
    assert (study.budget.generated_tokens or 0) > update
    source = study.data.training.source
    assert isinstance(source, NamedTask)
    assert (source.limit or 0) >= trainer.prompts_per_update
    assert list(study.data.benchmarks) == ["aime24", "math500"]


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    study = loaded(tmp_path)
    with pytest.raises(Refused, match="not of the form"):
        parse_overrides(["budget.updates"], [])
    with pytest.raises(Refused, match=r"budget\.updates"):
        overridden(study, parse_overrides(["budget.updates=-1"], []))
    with pytest.raises(Refused, match="names nothing"):
        overridden(study, parse_overrides(["seeds.x.y=1"], []))
    with pytest.raises(Refused, match="prompts"):
        overridden(study, parse_overrides(["data.training.source.size=2"], []))


def test_claims_that_a_small_study_cannot_support_do_not_stop_it(tmp_path: Path) -> None:
    """One seed can decide nothing, and no exploratory run is to."""
    small = overridden(loaded(tmp_path), {"seeds": [7]})
    assert small.study.seeds == (7,)
    assert overridden(small, {}) is small
