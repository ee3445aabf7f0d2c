"""A whole run in this process: readings, evaluations, and what may and may not change its content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.cell_process import run_cell
from harness.cells import cells_of
from harness.folders import RunFolder, read_json
from harness.ledger.reader import RunLedger, content_digest, read_run
from tests.harness.studies import benchmark, loaded, tiny


def run(folder: Path, cell: int = 0, **changes: Any) -> RunLedger:
    study = loaded(folder, **changes)
    chosen = cells_of(study.study)[cell]
    target = RunFolder(folder / "runs" / chosen.run_id)
    assert run_cell(study.study, folder, chosen, target, {"lock": None}, orphaned=lambda: False)
    ledger = read_run(target.path)
    assert ledger is not None
    return ledger


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> RunLedger:
    return run(tmp_path_factory.mktemp("base"))


def rows(ledger: RunLedger, table: str) -> list[dict[str, Any]]:
    return list(ledger.table(table).to_pylist())


def test_every_budget_is_read_once_and_never_past_it(base: RunLedger) -> None:
    readings = {r["axis"]: r for r in rows(base, "readings")}
    assert set(readings) == {"updates", "generated_tokens", "device_seconds"}
    assert readings["updates"]["step"] == 8
    assert readings["updates"]["crossing_cost"] is None
    for axis in ("generated_tokens", "device_seconds"):
        assert readings[axis]["cost"] <= readings[axis]["budget"] < readings[axis]["crossing_cost"]
    evaluated = {e["step"] for e in rows(base, "evaluations")}
    assert {r["step"] for r in readings.values()} <= evaluated
    assert {0, 4, 8} <= evaluated


def test_a_reading_holds_the_policy_before_the_step_that_crossed(base: RunLedger) -> None:
    reading = next(r for r in rows(base, "readings") if r["axis"] == "generated_tokens")
    updates = {u["step"]: u for u in rows(base, "updates")}
    assert updates[reading["step"]]["cum_generated_tokens"] == reading["cost"]
    assert updates[reading["step"] + 1]["cum_generated_tokens"] == reading["crossing_cost"]
    evaluation = next(e for e in rows(base, "evaluations") if e["step"] == reading["step"])
    assert evaluation["cost_generated_tokens"] == reading["cost"]


def test_the_run_ends_with_its_last_budget(base: RunLedger) -> None:
    budgets = tiny()["budget"]
    last, before = rows(base, "updates")[-1], rows(base, "updates")[-2]
    spent = {
        "updates": "cum_updates", "generated_tokens": "cum_generated_tokens",
        "device_seconds": "cum_device_seconds",
    }  # fmt: skip
    assert all(last[column] >= budgets[axis] for axis, column in spent.items())
    assert any(before[column] < budgets[axis] for axis, column in spent.items())


def test_tokens_are_conserved(base: RunLedger) -> None:
    costs = rows(base, "costs")
    sequences, samples = rows(base, "sequences"), rows(base, "samples")
    by_purpose = {
        p: sum(c["generated_tokens"] for c in costs if c["purpose"] == p) for p in ("rollout", "evaluation")
    }
    assert by_purpose["rollout"] == sum(s["generated_tokens"] for s in sequences)
    assert by_purpose["evaluation"] == sum(s["generated_tokens"] for s in samples)
    assert rows(base, "updates")[-1]["cum_generated_tokens"] == by_purpose["rollout"]


def test_evaluation_has_every_sample_of_every_problem_once(base: RunLedger) -> None:
    for step in {e["step"] for e in rows(base, "evaluations")}:
        keys = [
            (s["benchmark"], s["problem_id"], s["sample"]) for s in rows(base, "samples") if s["step"] == step
        ]
        assert len(keys) == len(set(keys)) == 2 * 5 * 4


def test_the_same_cell_twice_has_the_same_content(base: RunLedger, tmp_path: Path) -> None:
    assert content_digest(run(tmp_path)) == content_digest(base)


@pytest.mark.parametrize("seconds", [0.03, 0.3])
def test_a_budget_in_seconds_decides_where_a_run_is_read_and_never_what_it_does(
    base: RunLedger, tmp_path: Path, seconds: float
) -> None:
    other = run(tmp_path, budget=tiny()["budget"] | {"device_seconds": seconds})
    assert other.totals.updates != base.totals.updates or seconds < 0.1
    assert {r["step"] for r in rows(other, "readings")} != {r["step"] for r in rows(base, "readings")}
    assert content_digest(other) == content_digest(base)


def test_another_seed_or_arm_has_another(base: RunLedger, tmp_path: Path) -> None:
    assert content_digest(run(tmp_path / "arm", cell=1)) != content_digest(base)
    assert content_digest(run(tmp_path / "seed", cell=2)) != content_digest(base)


def test_when_evaluations_happen_changes_nothing_in_training(base: RunLedger, tmp_path: Path) -> None:
    rarely = run(
        tmp_path,
        evaluation={"pass_k": [1]},
        data=tiny()["data"] | {"benchmarks": {"easy": benchmark("easy")}},
    )
    left_out = {"cum_device_seconds"}
    for table in ("updates", "sequences", "tokens"):
        ours = [{k: v for k, v in r.items() if k not in left_out} for r in rows(rarely, table)]
        theirs = [{k: v for k, v in r.items() if k not in left_out} for r in rows(base, table)]
        shorter = min(len(ours), len(theirs))
        assert repr(ours[:shorter]) == repr(theirs[:shorter])


def test_arms_of_a_seed_share_the_start_evaluation(base: RunLedger, tmp_path: Path) -> None:
    other = run(tmp_path, cell=1)

    def at_start(ledger: RunLedger) -> list[tuple[Any, ...]]:
        return [
            (s["problem_id"], s["sample"], s["answer"]) for s in rows(ledger, "samples") if s["step"] == 0
        ]

    assert at_start(other) == at_start(base)


def test_a_rate_of_zero_leaves_evaluations_and_weights_as_they_were(tmp_path: Path) -> None:
    trainer = tiny()["trainer"] | {"optimizer": {"learning_rate": 0.0}}
    frozen = run(tmp_path, trainer=trainer)
    digests = {e["policy_digest"] for e in rows(frozen, "evaluations")}
    assert len(digests) == 1
    answers = {}
    for s in rows(frozen, "samples"):
        key = (s["benchmark"], s["problem_id"], s["sample"])
        assert answers.setdefault(key, s["answer"]) == s["answer"]


def test_a_finished_run_is_left_alone_and_its_policies_are_kept(tmp_path: Path) -> None:
    first = run(tmp_path)
    folder = RunFolder(first.folder)
    marker = folder.marker.read_bytes()
    again = run(tmp_path)
    assert folder.marker.read_bytes() == marker
    assert {kept.name for kept in again.kept} >= {
        "budget-updates.safetensors", "budget-generated_tokens.safetensors",
        "budget-device_seconds.safetensors",
    }  # fmt: skip
    facts = read_json(folder.facts)
    assert facts is not None
    assert facts["trainer"]["optimizer"]["learning_rate"] == 1e-3
    assert facts["device_kind"] == "counted"


def test_lora_runs_the_whole_way(tmp_path: Path) -> None:
    trainer = tiny()["trainer"] | {
        "adapter": {"kind": "lora", "rank": 4, "alpha": 8.0, "targets": ["q_proj", "v_proj"]}
    }
    ledger = run(tmp_path, trainer=trainer)
    assert len({e["policy_digest"] for e in rows(ledger, "evaluations")}) > 1


def test_a_real_clock_charges_cpu_seconds_and_leaves_evaluation_out(tmp_path: Path) -> None:
    ledger = run(tmp_path, budget={"updates": 4})
    costs = rows(ledger, "costs")
    uncharged = ("evaluate", "checkpoint")
    charged = sum(c["device_seconds"] for c in costs if c["phase"] not in uncharged and c["step"] <= 4)
    assert rows(ledger, "updates")[-1]["cum_device_seconds"] == pytest.approx(charged, rel=1e-6)
    assert sum(c["device_seconds"] for c in costs if c["phase"] == "evaluate") > 0
    assert {c["device_kind"] for c in costs} == {"cpu"}


TWICE = {"grid": {"axis": "updates", "every": 3}, "pass_k": [1, 2, 4], "reevaluate": True}


def test_what_passes_between_two_updates_is_no_cost_of_the_policy_before_it(tmp_path: Path) -> None:
    """Around an evaluation a moment passes that no phase covers; with it, a policy could lie past the budget
    that it is read at."""
    budget = {"updates": 8, "device_seconds": 0.3, "clock": "device"}
    ledger = run(tmp_path, budget=budget, evaluation={"grid": {"axis": "updates", "every": 1}})
    after = {u["step"]: u["cum_device_seconds"] for u in rows(ledger, "updates")} | {0: 0.0}
    reading = next(r for r in rows(ledger, "readings") if r["axis"] == "device_seconds")
    assert reading["cost"] == after[reading["step"]] <= 0.3 < reading["crossing_cost"]
    assert reading["crossing_cost"] == after[reading["step"] + 1]
    for evaluation in rows(ledger, "evaluations"):
        assert evaluation["cost_device_seconds"] == after[evaluation["step"]]


def test_what_is_read_is_measured_twice_and_nothing_else_changes(base: RunLedger, tmp_path: Path) -> None:
    """The start and the budgets, not the points of the grid at 3 and 6; the first samples as without it."""
    again = run(tmp_path, evaluation=TWICE)
    for table in ("updates", "readings", "sequences", "tokens"):
        assert repr(rows(again, table)) == repr(rows(base, table)), table
    read = {0, *(r["step"] for r in rows(again, "readings"))}
    assert {3, 6} <= {e["step"] for e in rows(again, "evaluations")} - read
    for ledger in (base, again):
        assert read <= {s["step"] for s in rows(ledger, "samples")}
    mine, theirs = ([s for s in rows(one, "samples") if s["step"] in read] for one in (again, base))
    assert mine == theirs
    found = rows(again, "reevaluations")
    assert {r["step"] for r in found} == read
    assert len(found) == len(read) * 2 * 5
    assert {r["samples"] for r in found} == {4}
    first = [
        sum(
            s["correct"]
            for s in rows(again, "samples")
            if s["step"] == 0 and s["problem_id"] == r["problem_id"]
        )
        for r in found
        if r["step"] == 0
    ]
    second = [r["correct"] for r in found if r["step"] == 0]
    assert first != second, "a second evaluation under the same noise would measure nothing"


def test_a_second_evaluation_is_on_the_account_of_evaluation(base: RunLedger, tmp_path: Path) -> None:
    again = run(tmp_path, evaluation=TWICE)
    spent = sum(c["generated_tokens"] for c in rows(again, "costs") if c["purpose"] == "evaluation")
    first = sum(s["generated_tokens"] for s in rows(again, "samples"))
    assert spent - first == sum(r["generated_tokens"] for r in rows(again, "reevaluations")) > 0
    assert (
        rows(again, "updates")[-1]["cum_generated_tokens"]
        == rows(base, "updates")[-1]["cum_generated_tokens"]
    )


def test_an_arm_on_other_seeds_trains_as_those_and_is_measured_as_the_others(
    base: RunLedger, tmp_path: Path
) -> None:
    """Seed 1 with an offset of 6 trains as seed 7 would; its evaluation shares the noise of seed 1."""
    arms = {
        "grpo": {"role": "control"},
        "again": {"role": "negative_control", "seed_offset": 6},
        "mcpo": tiny()["arms"]["mcpo"],
    }
    shifted = run(tmp_path / "a", 1, arms=arms)
    seventh = run(tmp_path / "b", 0, seeds=[7, 8])

    def trained(ledger: RunLedger) -> list[tuple[Any, ...]]:
        return [(r["step"], r["prompt_id"], r["sample"], r["text_digest"]) for r in rows(ledger, "sequences")]

    def at_start(ledger: RunLedger) -> list[Any]:
        return [s["text_digest"] for s in rows(ledger, "samples") if s["step"] == 0]

    assert trained(shifted) == trained(seventh) != trained(base)
    assert at_start(shifted) == at_start(base) != at_start(seventh)
