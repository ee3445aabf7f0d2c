"""A small study with a ledger written by hand: every accuracy in it is known beforehand."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from harness.ledger.schema import TABLES, arrow_schema
from prereg.study import Study
from reports.inputs import Event, LockFact, ReportInputs, RunFact

HOSTILE = '<script>alert(1)</script> #eval("1") $x$ \\ "quoted" #{{ 7*7 }} \u202egnp.exe \x00 =1+1'
"""What a model, or an author with a sense of humour, could write."""

SEEDS = (11, 12, 13, 14, 15)
BENCHMARKS = ("easy", "hard")
PROBLEMS, SAMPLES = 4, 10
BUDGETS = {"updates": 100.0, "generated_tokens": 50_000.0, "device_seconds": 20.0}

PLAN: dict[str, Any] = {
    "id": "known-answers",
    "title": "Known answers",
    "authors": ["A. Author", "B. Author"],
    "description": "Does the treatment do better than the control when both have spent the same?",
    "kind": "confirmatory",
    "models": {"tiny": {"source": {"kind": "builtin"}}},
    "data": {
        "training": {
            "source": {"kind": "builtin", "name": "arithmetic", "split": "train", "size": 100},
            "grader": {"kind": "exact"},
        },
        "benchmarks": {
            name: {
                "source": {"kind": "builtin", "name": "arithmetic", "split": name, "size": PROBLEMS},
                "grader": {"kind": "exact"},
                "samples": SAMPLES,
            }
            for name in BENCHMARKS
        },
    },
    "trainer": {},
    "arms": {
        "grpo": {"role": "control"},
        "mcpo": {"role": "treatment", "description": HOSTILE, "trainer": {"credit": {"kind": "margin"}}},
    },
    "seeds": list(SEEDS),
    "budget": {"updates": 100, "generated_tokens": 50_000, "device_seconds": 20.0},
    "evaluation": {"pass_k": [1, 2, 8, 16]},
    "hypotheses": [
        {
            "id": "h-tokens",
            "statement": "MCPO does better than GRPO at equal generated tokens.",
            "treatment": "mcpo",
            "control": "grpo",
            "matched_on": "generated_tokens",
            "direction": "greater",
            "test": {"kind": "paired_t"},
            "power": {"effect": 6.0, "sd": 2.0},
        }
    ],
}

Score = Callable[[str, int, int, str, int], int]
"""Correct samples of (arm, seed, step, benchmark, problem)."""


def gains(arm: str, seed: int, step: int, benchmark: str, problem: int) -> int:
    """At the start 2 of 10; later mcpo is better by 0, 1, 1, 2 of 10, and by one more for two seeds."""
    if step == 0:
        return 2
    more = (0, 1, 1, 2)[problem] + (seed in (14, 15)) if arm == "mcpo" else 0
    return 4 + more


@dataclass
class Ledger:
    """Rows of a ledger, changed at will before they are read."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {name: [] for name in TABLES})

    def add(self, table: str, **values: Any) -> None:
        """A row; columns left out are null."""
        self.rows[table].append({column.name: values.get(column.name) for column in TABLES[table]})

    def connect(self, reverse: bool = False) -> duckdb.DuckDBPyConnection:
        """A connection whose views are the tables, rows in order or in reverse."""
        connection = duckdb.connect()
        for name, rows in self.rows.items():
            ordered = rows[::-1] if reverse else rows
            connection.register(name, pa.Table.from_pylist(ordered, schema=arrow_schema(name)))
        return connection


def run_id(arm: str, seed: int) -> str:
    return f"{arm}.tiny.s{seed}"


def write_run(ledger: Ledger, arm: str, seed: int, score: Score, samples: int = SAMPLES) -> None:
    """A run of 120 updates, 500 tokens and 0.2 device-seconds each, evaluated at 0, 50, 100 and 119.

    mcpo writes a tenth more tokens, so that it is read at 90 updates where tokens are equal.
    """
    run, per_update = run_id(arm, seed), 550 if arm == "mcpo" else 500
    steps = (0, 50, 90, 100) if arm == "mcpo" else (0, 50, 100)
    for step in range(1, 121):
        ledger.add(
            "updates",
            run_id=run,
            step=step,
            loss=0.1,
            clip_share=0.01,
            groups=8,
            informative_groups=6,
            gradient_norm=1.0,
            learning_rate=1e-4,
            logprob_gap=1e-6,
            logprob_gap_max=2e-6,
            reward=0.5,
            entropy=0.5 - step / 1000,
            generated_tokens=per_update,
            mean_length=9.0,
            truncated=1,
            cum_updates=step,
            cum_generated_tokens=step * per_update,
            cum_device_seconds=step * 0.2,
            cum_train_flops=step * 1e9,
        )
        for phase, seconds in (("generate", 0.1), ("backward", 0.1)):
            ledger.add(
                "costs",
                run_id=run,
                step=step,
                phase=phase,
                purpose="rollout" if phase == "generate" else None,
                device_kind="cpu",
                devices=1,
                device_seconds=seconds,
                wall_seconds=2 * seconds,
                generated_tokens=per_update if phase == "generate" else 0,
                prompt_tokens=64,
                flops=5e8,
            )
    for place in range(64):
        ledger.add(
            "sequences",
            run_id=run,
            step=1,
            purpose="rollout",
            prompt_id="p",
            group_id=place // 8,
            sample=place % 8,
            prompt_tokens=5,
            generated_tokens=9,
            finish_reason="length" if place < 2 else "stop",
            reward=1.0,
            advantage=0.0,
            grader_state="correct",
            answer="1",
            text_digest=b"12345678",
        )
    for axis, budget in BUDGETS.items():
        per = {"updates": 1, "generated_tokens": per_update, "device_seconds": 0.2}[axis]
        step = min(100, int(budget / per + 1e-9))
        met = step * per == budget
        ledger.add(
            "readings",
            run_id=run,
            axis=axis,
            budget=budget,
            step=step,
            cost=step * per,
            crossing_cost=None if met else (step + 1) * per,
        )
    for step in steps:
        for benchmark in BENCHMARKS:
            write_evaluation(ledger, arm, seed, step, benchmark, per_update, score, samples)


def write_evaluation(
    ledger: Ledger,
    arm: str,
    seed: int,
    step: int,
    benchmark: str,
    per_update: int,
    score: Score,
    samples: int,
) -> None:
    run = run_id(arm, seed)
    ledger.add(
        "evaluations",
        run_id=run,
        step=step,
        benchmark=benchmark,
        problems=PROBLEMS,
        samples=samples,
        generated_tokens=PROBLEMS * samples * 9,
        truncated=0,
        cost_updates=step,
        cost_generated_tokens=step * per_update,
        cost_device_seconds=step * 0.2,
        cost_train_flops=step * 1e9,
        policy_digest="0" * 64,
    )
    for problem in range(PROBLEMS):
        right = score(arm, seed, step, benchmark, problem)
        for sample in range(samples):
            correct = sample < right
            ledger.add(
                "samples",
                run_id=run,
                step=step,
                benchmark=benchmark,
                problem_id=f"{benchmark}-{problem}",
                sample=sample,
                correct=correct,
                grader_state="correct" if correct else "incorrect",
                finish_reason="stop",
                generated_tokens=9,
                answer=HOSTILE,
                text_digest=bytes([problem, sample] * 4),
            )


@dataclass
class Case:
    """A study, its ledger and its facts, to be changed before `inputs` is called."""

    plan: dict[str, Any]
    ledger: Ledger
    facts: list[RunFact]
    lock: LockFact
    events: tuple[Event, ...] = ()
    marks: tuple[str, ...] = ()

    def inputs(self, reverse: bool = False) -> ReportInputs:
        study = Study.model_validate_json(json.dumps(self.plan))
        facts = tuple(self.facts[::-1] if reverse else self.facts)
        return ReportInputs(
            study,
            self.ledger.connect(reverse),
            facts,
            self.lock,
            self.events,
            self.marks,
            "2026-01-02 03:04 UTC",
        )

    def without(self, table: str, **match: Any) -> None:
        """Remove the rows that match."""
        rows = self.ledger.rows[table]
        kept = [row for row in rows if any(row[key] != value for key, value in match.items())]
        assert len(kept) < len(rows), "the test meant to remove something"
        self.ledger.rows[table] = kept

    def change(self, table: str, match: Mapping[str, Any], **values: Any) -> None:
        """Set columns of the first row that matches."""
        for row in self.ledger.rows[table]:
            if all(row[key] == value for key, value in match.items()):
                row.update(values)
                return
        raise AssertionError("no row matches")


def make_case(score: Score = gains, **changes: Any) -> Case:
    plan = {**copy.deepcopy(PLAN), **changes}
    ledger = Ledger()
    facts = []
    for arm in plan["arms"]:
        for seed in plan["seeds"]:
            write_run(ledger, arm, seed, score)
            facts.append(RunFact(run_id(arm, seed), arm, "tiny", seed, "finished", "cpu"))
    lock = LockFact(
        "ab" * 32,
        "2026-01-01 00:00 UTC",
        ("The plan existed before the first run.",),
        (),
        {"numpy": "2.4"},
        "cd" * 32,
    )
    return Case(plan, ledger, facts, lock, (Event("2026-01-01 00:00", "lock", "the study was locked"),))


@pytest.fixture
def case() -> Case:
    """The study as planned, complete and locked."""
    return make_case()
