"""Conservation: whatever way the ledger could contradict itself stops the commit; nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.ledger.columns import LedgerInvariantError
from harness.ledger.invariants import Charge, Totals
from harness.ledger.reader import last_commit, read_run
from harness.ledger.writer import LedgerWriter
from tests.harness.ledger import runs
from tests.harness.ledger.runs import RUN, whole


def sequence(
    step: int, tokens: int, purpose: str = "rollout", kept: int | None = None, boundary: int | None = None
) -> dict[str, object]:
    return {
        "step": step, "purpose": purpose, "prompt_id": "p", "group_id": 0, "sample": 0, "prompt_tokens": 1,
        "boundary": boundary, "kept_tokens": kept, "repeat": boundary,
        "generated_tokens": tokens, "finish_reason": "stop", "reward": 0.0, "advantage": None,
        "grader_state": "incorrect", "answer": None, "text_digest": b"12345678",
    }  # fmt: skip


def cost(step: int, tokens: int, purpose: str | None = "rollout", phase: str = "generate",
         seconds: float = 1.0,
         flops: float = 0.0) -> dict[str, object]:  # fmt: skip
    return {
        "step": step, "phase": phase, "purpose": purpose, "device_kind": "cpu", "devices": 1,
        "device_seconds": seconds, "wall_seconds": seconds, "generated_tokens": tokens, "prompt_tokens": 0,
        "flops": flops, "energy_joules": None,
    }  # fmt: skip


def refused(writer: LedgerWriter, folder: Path, step: int, match: str) -> None:
    with pytest.raises(LedgerInvariantError, match=match):
        writer.commit(step, {"w": b"1"})
    assert last_commit(folder) == 0
    assert not list((folder / "commits").iterdir())


def test_tokens_must_be_charged_in_their_step(tmp_path: Path) -> None:
    # Over both steps the sums agree (30 = 30), so a check of totals would pass this.
    writer = LedgerWriter(tmp_path, RUN)
    writer.append("sequences", [sequence(1, 10), sequence(2, 20)])
    writer.append("costs", [cost(1, 20), cost(2, 10)])
    refused(writer, tmp_path, 2, "step 1, rollout: the rows hold 10 generated tokens, the costs 20")


def test_tokens_must_be_charged_to_their_purpose(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    writer.append("sequences", [sequence(1, 10), sequence(1, 5, "discarded")])
    writer.append("costs", [cost(1, 15)])
    refused(writer, tmp_path, 1, "step 1, discarded: the rows hold 5 generated tokens, the costs 0")


def test_continuations_are_conserved_like_any_other_purpose(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    writer.append("sequences", [sequence(1, 10), sequence(1, 6, "continuation", kept=4, boundary=1)])
    writer.append("costs", [cost(1, 10), cost(1, 5, "continuation", "score")])
    refused(writer, tmp_path, 1, "step 1, continuation: the rows hold 6 generated tokens, the costs 5")


@pytest.mark.parametrize(
    ("row", "match"),
    [
        (sequence(1, 6, "continuation", kept=10, boundary=1), "continues 10 tokens of .* which has 10"),
        (sequence(2, 6, "continuation", kept=4, boundary=1), "step 2 continues .* which has 0"),
        (sequence(1, 6, "continuation", kept=4), "sequences.boundary: set for exactly the continuations"),
        (sequence(1, 6, "screening", boundary=1), "sequences.boundary: set for exactly the continuations"),
    ],
)
def test_a_continuation_scores_a_prefix_of_a_rollout_of_its_step(
    tmp_path: Path, row: dict[str, object], match: str
) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    writer.append("sequences", [sequence(1, 10), row])
    writer.append("costs", [cost(1, 10), cost(int(str(row["step"])), 6, str(row["purpose"]), "score")])
    refused(writer, tmp_path, 2, match)


def test_generated_tokens_have_a_purpose(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    writer.append("costs", [cost(1, 3, None)])
    refused(writer, tmp_path, 1, "without a purpose")


def test_evaluation_tokens_are_conserved_and_stay_out_of_training_phases(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    runs.append_evaluation(writer, 0)
    writer.append("costs", [cost(0, 1, "evaluation", "evaluate")])
    refused(writer, tmp_path, 0, "evaluation: the rows hold 12 generated tokens, the costs 13")
    other = LedgerWriter(tmp_path / "b", RUN)
    other.append("costs", [cost(1, 1)])
    other.append("sequences", [sequence(1, 1)])
    other.append("costs", [cost(1, 4, "evaluation", "generate")])
    other.append("samples", {
        "step": 0, "benchmark": "easy", "problem_id": "e", "sample": 0, "correct": True,
        "grader_state": "correct",
        "finish_reason": "stop", "generated_tokens": 4, "answer": None, "text_digest": [b"12345678"],
    })  # fmt: skip
    with pytest.raises(LedgerInvariantError, match="evaluations hold None generated tokens, samples 4"):
        other.commit(1, {})
    other.append("evaluations", {
        "step": 0, "benchmark": "easy", "problems": 1, "samples": 1, "generated_tokens": 4, "truncated": 0,
        "cost_updates": 0, "cost_generated_tokens": 0, "cost_device_seconds": 0.0, "cost_train_flops": 0.0,
        "policy_digest": "0", "occasion": "grid",
    })  # fmt: skip
    refused(other, tmp_path / "b", 1, "4 tokens of evaluation in phase generate")


def test_an_evaluation_may_be_paid_in_a_later_step_than_its_policy(tmp_path: Path) -> None:
    # A step that crosses a budget has the policy before it evaluated while the step is under way.
    writer = LedgerWriter(tmp_path, RUN)
    runs.append_evaluation(writer, 3)
    writer.append("sequences", [sequence(4, 1)])
    writer.append("costs", [cost(4, 1)])
    assert writer.commit(4, {}).tokens["evaluation"] == 12


def test_token_rows_are_as_long_as_their_sequence(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    writer.append("sequences", [sequence(1, 3)])
    writer.append("costs", [cost(1, 3)])
    lists = {n: [[1, 0]] for n in ("token_id", "logprob", "entropy", "margin", "credit")}
    writer.append("tokens", {"step": 1, "group_id": 0, "sample": 0, **lists})
    refused(writer, tmp_path, 1, "step 1, group 0, sample 0 has 2 tokens")
    other = LedgerWriter(tmp_path / "b", RUN)
    other.append("sequences", [sequence(1, 2)])
    other.append("costs", [cost(1, 2)])
    other.append("tokens", {"step": 1, "group_id": 0, "sample": 0, **lists, "margin": [[1.0]]})
    refused(other, tmp_path / "b", 1, r"tokens\.margin")


@pytest.mark.parametrize(
    ("tokens", "seconds", "match"),
    [(9, 4.0, "cum_generated_tokens is 9, but the costs so far sum to 10"), (10, 4.01, "cum_device_seconds")],
)
def test_running_totals_are_the_sums_of_the_costs(
    tmp_path: Path, tokens: int, seconds: float, match: str
) -> None:
    # Charged: 1 s of screening before the first step, 2 s generating and 1 s backward; neither 5 s of
    # evaluation nor 7 s of checkpoints are.
    writer = LedgerWriter(tmp_path, RUN)
    writer.append("sequences", [sequence(1, 10)])
    writer.append("costs", [
        cost(0, 0, None, "score", 1.0), cost(1, 10, seconds=2.0, flops=100.0), cost(1, 0, None, "backward",
        1.0),
        cost(1, 0, None, "evaluate", 5.0), cost(1, 0, None, "checkpoint", 7.0),
    ])  # fmt: skip
    runs.append_update(writer, 1, tokens, seconds)
    refused(writer, tmp_path, 1, match)


def test_running_totals_go_on_over_commits_and_restarts(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        writer = LedgerWriter(tmp_path, RUN)
        runs.append_step(writer, step)
        assert writer.commit(step, {}).tokens["rollout"] == runs.writer_tokens(step)
    restarted = LedgerWriter(tmp_path, RUN)
    assert restarted.totals.charged == Charge(runs.writer_tokens(3), 3.0, 10.0 * runs.writer_tokens(3))
    # A counter that was reset on resume is caught.
    tokens = runs.writer_tokens(4) - runs.writer_tokens(3)
    restarted.append("sequences", [sequence(4, tokens)])
    runs.append_costs(restarted, 4, tokens)
    runs.append_update(restarted, 4, tokens, 1.0)
    with pytest.raises(LedgerInvariantError, match="cum_generated_tokens"):
        restarted.commit(4, {})


def test_an_update_may_follow_its_costs_in_a_later_commit(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    writer.append("sequences", [sequence(1, 4)])
    writer.append("costs", [cost(1, 4, flops=40.0)])
    writer.commit(0, {})
    assert writer.totals.pending == {1: Charge(4, 1.0, 40.0)}
    again = LedgerWriter(tmp_path, RUN)
    runs.append_update(again, 1, 4, 1.0)
    again.commit(1, {})
    assert again.totals.pending == {}
    again.append("costs", [cost(1, 0, None, "idle")])
    with pytest.raises(LedgerInvariantError, match="step 1: a cost is charged after the totals of update 1"):
        again.commit(1, {})


@pytest.mark.parametrize("steps", [(2,), (1, 1), (1, 3)])
def test_updates_follow_one_another(tmp_path: Path, steps: tuple[int, ...]) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    for step in steps:
        runs.append_update(writer, step, 0, 0.0)
    refused(writer, tmp_path, 3, "follows update")


def test_time_does_not_run_backwards(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    writer.append("costs", [cost(1, 0, None, "idle", -0.1)])
    refused(writer, tmp_path, 1, "negative cost")
    runs.write_run(tmp_path / "b", steps=2)
    with pytest.raises(LedgerInvariantError, match="a commit of step 1 after one of step 2"):
        LedgerWriter(tmp_path / "b", RUN).commit(1, {})


def test_after_a_refused_commit_the_rows_are_still_there(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    writer.append("sequences", [sequence(1, 10)])
    with pytest.raises(LedgerInvariantError):
        writer.commit(1, {})
    writer.append("costs", [cost(1, 10)])
    writer.commit(1, {})
    assert whole(read_run(tmp_path)).table("sequences").num_rows == 1


def test_totals_survive_their_json() -> None:
    totals = Totals(
        updates=3, charged=Charge(2**40, 0.1 + 0.2, 1e18), pending={4: Charge(1, 1 / 3, 2.0)}, rows={"a": 1}
    )
    assert Totals.from_json(totals.to_json()) == totals


def test_what_was_charged_before_the_first_update_is_not_forgotten(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    writer.append("costs", [cost(0, 0, None, "idle", 2.0)])
    writer.commit(0, {})
    again = LedgerWriter(tmp_path, RUN)
    again.append("sequences", [sequence(1, 4)])
    again.append("costs", [cost(1, 4, flops=40.0)])
    runs.append_update(again, 1, 4, 3.0)
    again.commit(1, {})
    assert again.totals.charged == Charge(4, 3.0, 40.0)
