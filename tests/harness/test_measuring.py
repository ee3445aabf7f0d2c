"""What a few updates predict of a run, against the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cell_process import run_cell
from harness.cells import cells_of
from harness.folders import RunFolder
from harness.ledger.reader import read_run
from harness.measuring import measure_arm
from tests.harness.arms import METHODS
from tests.harness.studies import loaded


@pytest.mark.parametrize("method", ["grpo", "prior", "screened"])
def test_the_predicted_tokens_are_those_of_the_run(tmp_path: Path, method: str) -> None:
    """The samples of the base model on all prompts come once; those of a screening with each update."""
    arms = {"only": {"role": "control", "trainer": METHODS[method]}}
    study = loaded(tmp_path, arms=arms, hypotheses=[], budget={"updates": 8, "clock": "counted"})
    predicted = measure_arm(study.study, tmp_path, "only", "small")
    cell = cells_of(study.study)[0]
    folder = RunFolder(tmp_path / "runs" / cell.run_id)
    assert run_cell(study.study, tmp_path, cell, folder, {"lock": None}, orphaned=lambda: False)
    ledger = read_run(folder.path)
    assert ledger is not None
    last = ledger.table("updates").to_pylist()[-1]
    assert predicted.updates == last["step"] == 8
    assert predicted.generated_tokens == pytest.approx(last["cum_generated_tokens"], rel=0.15)
    assert predicted.train_device_seconds == pytest.approx(last["cum_device_seconds"], rel=0.15)


def test_a_budget_of_tokens_counts_what_is_spent_before_the_first_update(tmp_path: Path) -> None:
    def updates(prior_samples: int) -> int:
        predictor = {"kind": "history", "prior": "base_model", "prior_samples": prior_samples}
        arms = {"only": {"role": "control", "trainer": {
            "selection": {"kind": "nearest_half", "predictor": predictor}}}}  # fmt: skip
        budget = {"generated_tokens": 9000, "clock": "counted"}
        folder = tmp_path / str(prior_samples)
        folder.mkdir()
        study = loaded(folder, arms=arms, hypotheses=[], budget=budget)
        return measure_arm(study.study, folder, "only", "small").updates

    assert updates(prior_samples=4) < updates(prior_samples=1)
