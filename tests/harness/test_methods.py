"""A run of every method: what it generates is charged, by purpose, on every axis; the identity of costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.cell_process import run_cell
from harness.cells import cells_of
from harness.folders import RunFolder
from harness.ledger.reader import RunLedger, content_digest, read_run
from prereg.problems import Refused
from tests.harness.arms import CHARGED, METHODS, arms
from tests.harness.studies import benchmark, loaded, tiny
from trainers.draws import Draws, charge
from trainers.loop import Learner
from trainers.reward import continuations
from trainers.selection import Gathered
from trainers.setting import Setting

ONE_BENCHMARK = tiny()["data"] | {"benchmarks": {"easy": benchmark("easy", samples=1)}}
BUDGET = {
    "updates": 3,
    "generated_tokens": 900,
    "device_seconds": 0.02,
    "train_flops": 1e8,
    "clock": "counted",
}


def run(folder: Path, method: str, **changes: Any) -> RunLedger:
    given = {"arms": arms(method), "seeds": [1], "hypotheses": [], "kind": "pilot", "budget": BUDGET,
             "data": ONE_BENCHMARK, "evaluation": {"pass_k": [1]}}  # fmt: skip
    study = loaded(folder, **given | changes)
    cell = cells_of(study.study)[0]
    target = RunFolder(folder / "runs" / cell.run_id)
    assert run_cell(study.study, folder, cell, target, {"lock": None}, orphaned=lambda: False)
    ledger = read_run(target.path)
    assert ledger is not None
    return ledger


@pytest.fixture(scope="module", params=METHODS)
def finished(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, RunLedger]:
    name = str(request.param)
    return name, run(tmp_path_factory.mktemp(name), name)


def rows(ledger: RunLedger, table: str) -> list[dict[str, Any]]:
    return list(ledger.table(table).to_pylist())


def test_every_token_and_second_is_charged_once(finished: tuple[str, RunLedger]) -> None:
    name, ledger = finished
    costs, sequences = rows(ledger, "costs"), rows(ledger, "sequences")
    generated: Counter[str] = Counter()
    prefilled: Counter[str] = Counter()
    for s in sequences:
        generated[s["purpose"]] += s["generated_tokens"]
        prefilled[s["purpose"]] += s["prompt_tokens"]
    assert set(generated) == {"rollout"} | CHARGED.get(name, set())
    for purpose, tokens in generated.items():
        mine = [c for c in costs if c["purpose"] == purpose]
        assert {c["phase"] for c in mine} == {"score" if purpose == "continuation" else "generate"}
        assert sum(c["generated_tokens"] for c in mine) == tokens
        assert sum(c["prompt_tokens"] for c in mine) == prefilled[purpose]
        assert sum(c["flops"] for c in mine) > 0
    last = rows(ledger, "updates")[-1]
    charged = [c for c in costs if c["phase"] not in ("evaluate", "checkpoint") and c["step"] <= last["step"]]
    assert last["cum_generated_tokens"] == sum(generated.values())
    assert last["cum_device_seconds"] == pytest.approx(sum(c["device_seconds"] for c in charged))
    assert last["cum_train_flops"] == pytest.approx(sum(c["flops"] for c in charged))


def test_every_axis_is_read_within_its_budget(finished: tuple[str, RunLedger]) -> None:
    _, ledger = finished
    readings = {r["axis"]: r for r in rows(ledger, "readings")}
    assert set(readings) == {"updates", "generated_tokens", "device_seconds", "train_flops"}
    for reading in readings.values():
        assert reading["cost"] <= reading["budget"]
        assert reading["crossing_cost"] is None or reading["crossing_cost"] > reading["budget"]


def test_a_continuation_names_the_step_it_scores_and_has_the_tokens_that_were_left(
    finished: tuple[str, RunLedger],
) -> None:
    _, ledger = finished
    sequences = rows(ledger, "sequences")
    rollouts = {(s["step"], s["group_id"], s["sample"]): s for s in sequences if s["purpose"] == "rollout"}
    continued = [s for s in sequences if s["purpose"] == "continuation"]
    for s in continued:
        rollout = rollouts[s["step"], s["group_id"], s["sample"]]
        assert 0 < s["kept_tokens"] < rollout["generated_tokens"]
        assert s["prompt_tokens"] == rollout["prompt_tokens"] + s["kept_tokens"]
        assert s["kept_tokens"] + s["generated_tokens"] <= 48
        assert s["advantage"] is None
        if s["finish_reason"] == "length":
            assert s["reward"] == 0
    repeats = Counter((s["step"], s["group_id"], s["sample"], s["kept_tokens"]) for s in continued)
    assert set(repeats.values()) <= {2}


def test_the_same_cell_twice_has_the_same_content(finished: tuple[str, RunLedger], tmp_path: Path) -> None:
    name, ledger = finished
    if name in ("prime", "filtered", "nearest_half"):
        assert content_digest(run(tmp_path, name)) == content_digest(ledger)


def test_predictions_of_the_first_update_say_how_many_samples_they_rest_on(tmp_path: Path) -> None:
    ledger = run(tmp_path, "prior")
    first = [s for s in rows(ledger, "selections") if s["step"] == 1]
    assert len(first) == 16
    assert {s["evidence"] for s in first} == {2.0}
    used = {s["prompt_id"] for s in rows(ledger, "sequences") if s["purpose"] == "rollout" and s["step"] == 1}
    assert {s["prompt_id"] for s in first if s["outcome"] != "passed"} == used


def test_k_continuations_at_s_even_boundaries_cost_half_k_times_s_plus_one(tmp_path: Path) -> None:
    """With a cap of eight tokens, which no answer fits into, a continuation is as long as the remainder."""
    count, steps = 3, 4
    reward = {
        "kind": "mc_advantage", "boundaries": {"kind": "uniform", "steps": steps},
        "estimator": {"kind": "continuations", "count": count, "root": "continuations"},
    }  # fmt: skip
    trainer = tiny()["trainer"] | {"max_new_tokens": 8, "reward": reward}
    ledger = run(tmp_path, "grpo", trainer=trainer, budget={"updates": 2, "clock": "counted"})
    sequences = rows(ledger, "sequences")
    rollouts = [s for s in sequences if s["purpose"] == "rollout"]
    assert {s["generated_tokens"] for s in rollouts} == {8}
    tokens = {(t["step"], t["group_id"], t["sample"]): t["token_id"] for t in rows(ledger, "tokens")}

    def prefix(s: dict[str, Any], kept: int) -> tuple[int, str, tuple[int, ...]]:
        return s["step"], s["prompt_id"], tuple(tokens[s["step"], s["group_id"], s["sample"]][:kept])

    spent: dict[Any, list[int]] = {}
    for s in sequences:
        if s["purpose"] == "continuation":
            spent.setdefault(prefix(s, s["kept_tokens"]), []).append(s["generated_tokens"])
    # What each rollout's boundaries cost, a prefix that several share counted for each of them.
    each = [sum(sum(spent[prefix(s, kept)]) for kept in (0, 2, 4, 6)) for s in rollouts]
    assert each == [count * 8 * (steps + 1) / 2] * len(rollouts)
    # What was paid: a shared prefix once.
    paid = sum(c["generated_tokens"] for c in rows(ledger, "costs") if c["purpose"] == "continuation")
    assert paid == sum(count * (8 - len(name[2])) for name in spent) < sum(each)
    assert all(len(lengths) == count for lengths in spent.values())


def test_screening_that_is_not_charged_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(learner: Learner, step: int) -> Gathered:
        gathered = learner.selection.gather(step)
        charge(learner.setting, gathered.rollouts)
        return gathered

    monkeypatch.setattr(Learner, "gather", forgetful)
    with pytest.raises(Refused, match=r"tokens were generated for this update and .* charged"):
        run(tmp_path, "screened")


def test_a_continuation_that_was_cut_off_cannot_be_left_out_of_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(setting: Setting, draws: Draws, *, phase: str, kept: Sequence[int]) -> None:
        whole = [i for i, c in enumerate(draws.completions) if c.finish_reason == "stop"]
        assert len(whole) < len(draws.completions)
        charge(setting, draws.where(whole, "continuation"), phase=phase, kept=[kept[i] for i in whole])

    monkeypatch.setattr(continuations, "charge", forgetful)
    trainer = tiny()["trainer"] | {"max_new_tokens": 16}
    with pytest.raises(Refused, match=r"tokens were generated for this update and .* charged"):
        run(tmp_path, "mc_advantage", trainer=trainer)
