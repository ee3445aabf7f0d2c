"""A method of one's own: one file in an installed package, found, checked, locked and run."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cell_process import run_cell
from harness.cells import cells_of
from harness.folders import RunFolder
from harness.ledger.reader import read_run
from harness.methods import resolve_methods
from prereg.problems import Refused
from tests.harness.studies import loaded

FILE = """
from prereg.fields import Positive, Section
from trainers.reward import RewardMethod, Scored
from trainers.reward.dense import finished, outcome_rows
import numpy as np
import torch

class Early:
    class Settings(Section):
        half_life: Positive = 16.0

    def __init__(self, settings):
        self.half_life = settings.half_life

    def multipliers(self, statistics, segments, keys):
        scores = torch.exp2(-segments.position.to(torch.float32) / self.half_life)
        return scores / segments.mean(scores)[segments.index]

class LastTokens(RewardMethod):
    class Settings(Section):
        count: int = 8

    def __init__(self, setting, settings):
        super().__init__(setting)
        self.count = settings.count

    def score(self, rollouts):
        spec = self.setting.spec.advantage
        rows = [np.zeros(len(c.token_ids)) for c in rollouts.completions]
        for row, advantage in zip(rows, outcome_rows(rollouts, spec)):
            row[-self.count:] = advantage
        return finished(rows, rollouts, rollouts.graded, spec, rescaled=True)

class WithoutSettings:
    pass
"""
ENTRIES = """
[harness.credit]
early = my_methods_of_a_test:Early
bare = my_methods_of_a_test:WithoutSettings
gone = my_methods_of_a_test:Gone

[harness.reward]
last-tokens = my_methods_of_a_test:LastTokens
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package as pip installs it, on the path."""
    site = tmp_path / "site"
    facts = site / "my_methods_of_a_test-1.2.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: my-methods-of-a-test\nVersion: 1.2\n")
    (facts / "entry_points.txt").write_text(ENTRIES)
    (site / "my_methods_of_a_test.py").write_text(FILE)
    monkeypatch.syspath_prepend(site)
    yield site / "my_methods_of_a_test.py"
    sys.modules.pop("my_methods_of_a_test", None)


def arm(section: str, name: str, **settings: Any) -> dict[str, Any]:
    method = {"kind": "installed", "name": name, "settings": settings}
    return {"arms": {"mine": {"role": "treatment", "trainer": {section: method}}}, "hypotheses": [],
            "kind": "pilot", "budget": {"updates": 3, "clock": "counted"}}  # fmt: skip


def test_its_code_is_a_digest_of_the_lock(package: Path, tmp_path: Path) -> None:
    study = loaded(tmp_path, **arm("credit", "early", half_life=4))
    before, problems = resolve_methods(study)
    assert problems == []
    assert before["methods.credit.early"].what == (
        "the credit method early of my-methods-of-a-test 1.2: my_methods_of_a_test.py"
    )
    package.write_text(FILE + "# another\n")
    after, _ = resolve_methods(study)
    assert after["methods.credit.early"].sha256 != before["methods.credit.early"].sha256


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("erly", {}, r"no installed package offers a credit method `erly`"),
        ("early", {"half_live": 4}, r"do not fit: half_live"),
        ("early", {"half_life": -1}, r"do not fit: half_life.*greater than 0"),
        ("bare", {}, r"has no `Settings`"),
        ("gone", {}, r"cannot be loaded"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_place(
    package: Path, tmp_path: Path, name: str, settings: dict[str, Any], message: str
) -> None:
    _, (problem,) = resolve_methods(loaded(tmp_path, **arm("credit", name, **settings)))
    assert problem.path == ("arms", "mine", "trainer", "credit")
    assert problem.line is not None
    assert re.search(message, str(problem))


def test_a_file_that_cannot_be_loaded_is_named_with_its_line(package: Path, tmp_path: Path) -> None:
    """The class that stops the loading is another one than was asked for: the line says which."""
    package.write_text(FILE.replace("import RewardMethod, Scored", "import Scored"))
    _, (problem,) = resolve_methods(loaded(tmp_path, **arm("credit", "early")))
    line = 1 + FILE.splitlines().index("class LastTokens(RewardMethod):")
    assert "NameError" in problem.message
    assert f"line {line} of my_methods_of_a_test.py: class LastTokens(RewardMethod):" in problem.message
    assert "loaded as a whole" in str(problem.hint)


def test_a_run_whose_credit_breaks_its_promise_ends_with_words(package: Path, tmp_path: Path) -> None:
    package.write_text(FILE.replace("return scores /", "return 10 * scores /"))
    study = loaded(tmp_path, **arm("credit", "early"))
    cell = cells_of(study.study)[0]
    with pytest.raises(Refused, match=r"credit method `early` gave .* of mean 10; expected: a mean of 1"):
        run_cell(
            study.study, study.folder, cell, RunFolder(tmp_path / cell.run_id), {"lock": None},
            orphaned=lambda: False,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("section", "name", "settings"),
    [("credit", "early", {"half_life": 4}), ("reward", "last-tokens", {"count": 4})],
)
def test_it_trains(package: Path, tmp_path: Path, section: str, name: str, settings: dict[str, Any]) -> None:
    study = loaded(tmp_path, **arm(section, name, **settings))
    cell = cells_of(study.study)[0]
    target = RunFolder(tmp_path / cell.run_id)
    assert run_cell(study.study, study.folder, cell, target, {"lock": None}, orphaned=lambda: False)
    ledger = read_run(target.path)
    assert ledger is not None
    trained = [row for row in ledger.table("tokens").to_pylist() if any(row["credit"])]
    assert trained
    for row in trained:
        credit = row["credit"]
        if section == "reward":
            assert all(value == 0 for value in credit[:-4])
            assert all(value != 0 for value in credit[-4:])
        else:
            # Four tokens later half of it is left; what is written is rounded to 2^-10.
            assert credit[4] == pytest.approx(credit[0] / 2, abs=2**-9)
