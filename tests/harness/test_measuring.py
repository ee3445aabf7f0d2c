"""What a few updates predict of a run, against the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cell_process import run_cell
from harness.cells import cells_of
from harness.folders import RunFolder
from harness.ledger.reader import read_run
from harness.measuring import measure_arm
from harness.plan import evaluations_at, most_evaluations
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


def test_the_grid_goes_on_past_the_budget_on_its_axis(tmp_path: Path) -> None:
    """Two updates are over long before 2,600 tokens are: the updates alone would give 1 + 2 + 2."""
    arms = {"only": {"role": "control"}}
    budget = {"updates": 2, "generated_tokens": 2600, "clock": "counted"}
    evaluation = {"grid": {"axis": "updates", "every": 1}, "pass_k": [1]}
    study = loaded(tmp_path, arms=arms, hypotheses=[], budget=budget, evaluation=evaluation).study
    assert most_evaluations(study) is None
    predicted = measure_arm(study, tmp_path, "only", "small")
    cell = cells_of(study)[0]
    folder = RunFolder(tmp_path / "runs" / cell.run_id)
    assert run_cell(study, tmp_path, cell, folder, {"lock": None}, orphaned=lambda: False)
    ledger = read_run(folder.path)
    assert ledger is not None
    made = len({row["step"] for row in ledger.table("evaluations").to_pylist()})
    assert made > 5
    assert (
        evaluations_at(study, ledger.totals.updates, 0) - 1
        <= made
        <= evaluations_at(study, ledger.totals.updates, 0)
    )  # the tokens' reading is at a step of the grid, by chance
    assert abs(predicted.evaluations - made) <= 2


def bound(folder: Path, grid: tuple[str, int], **budget: float) -> int | None:
    """The bound on evaluations of a study of 4 x 4 answers of at most 48 tokens: 768 tokens an update."""
    axis, every = grid
    evaluation = {"grid": {"axis": axis, "every": every}, "pass_k": [1]}
    arms = {"only": {"role": "control"}}
    return most_evaluations(
        loaded(folder, arms=arms, hypotheses=[], budget=budget, evaluation=evaluation).study
    )


def test_the_bound_on_evaluations_by_hand(tmp_path: Path) -> None:
    assert bound(tmp_path, ("updates", 4), updates=10) == 2 + 2
    assert bound(tmp_path, ("updates", 4), updates=10, generated_tokens=10) is None
    assert bound(tmp_path, ("updates", 4), updates=10, device_seconds=1.0) is None
    # Points at 1,000 and 2,000, and the update that crosses 2,600 may reach 3,000.
    assert bound(tmp_path, ("generated_tokens", 1000), generated_tokens=2600) == 2 + 3
    # 10 updates make 7,680 tokens at most: seven points; the tokens alone would allow three.
    assert bound(tmp_path, ("generated_tokens", 1000), generated_tokens=2600, updates=10) == 3 + 7
    # However fine the grid, an update is followed by one evaluation.
    assert bound(tmp_path, ("generated_tokens", 10), updates=10) == 2 + 10
    assert bound(tmp_path, ("generated_tokens", 10), device_seconds=1.0) is None


def test_a_budget_that_lies_on_the_grid_is_evaluated_once(tmp_path: Path) -> None:
    evaluation = {"grid": {"axis": "updates", "every": 4}, "pass_k": [1]}
    study = loaded(tmp_path, budget={"updates": 8, "generated_tokens": 10}, evaluation=evaluation).study
    assert evaluations_at(study, 8, 0) == 1 + 2 + 2 - 1
    assert evaluations_at(study, 100, 0) == 1 + 2 + 25 - 1
    odd = loaded(tmp_path, budget={"updates": 9, "generated_tokens": 10}, evaluation=evaluation).study
    assert evaluations_at(odd, 9, 0) == 1 + 2 + 2
