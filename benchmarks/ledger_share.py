"""What metering and the ledger take of a run: counted inside a real run, and against a run without them."""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import harness.run as run_module
import harness.warm_imports  # noqa: F401 - a cell is forked from a server that has these loaded
from benchmarks.builtin import MODEL, NullMeter, learner_of, study
from benchmarks.measuring import Document, Timing, held, one_thread, ratios, run_alone, timed
from harness.cells import Cell
from harness.clock import CpuClock
from harness.grading.build import make_grader
from harness.ledger.writer import CommitInfo, LedgerWriter
from harness.meter import RunMeter, Spent
from harness.run import Run, RunState
from prereg.study import Study
from trainers.loop import Learner
from trainers.types import Grader

UPDATES = 150
ROUNDS, UPDATES_A_ROUND = 5, 30
TARGET = 0.02


@dataclass(slots=True)
class Stopwatch:
    """Process CPU and wall seconds by part; what a part calls is charged to the innermost one only."""

    cpu: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    wall: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _open: list[str] = field(default_factory=list)
    _since: tuple[float, float] = (0.0, 0.0)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Charge what happens inside to `name`."""
        self.calls[name] += 1
        self._settle()
        self._open.append(name)
        try:
            yield
        finally:
            self._settle()
            self._open.pop()

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its time charged to `name`."""

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.part(name):
                return function(*args, **kwargs)

        return wrapped

    def _settle(self) -> None:
        now = time.process_time(), time.perf_counter()
        if self._open:
            self.cpu[self._open[-1]] += now[0] - self._since[0]
            self.wall[self._open[-1]] += now[1] - self._since[1]
        self._since = now


class WatchedMeter(RunMeter):
    """A run's meter whose own work is timed."""

    def __init__(self, watch: Stopwatch) -> None:
        super().__init__(CpuClock())
        self.watch = watch

    @contextmanager
    def phase(self, name: str, purpose: str | None = None) -> Iterator[None]:
        """The phase, with both of its ends timed."""
        with self.watch.part("meter"):
            phase = RunMeter.phase(self, name, purpose)
            phase.__enter__()
        try:
            yield
        finally:
            with self.watch.part("meter"):
                phase.__exit__(None, None, None)

    def count(self, *args: Any, **kwargs: Any) -> None:
        """Timed."""
        with self.watch.part("meter"):
            RunMeter.count(self, *args, **kwargs)

    def take(self) -> Spent:
        """Timed."""
        with self.watch.part("meter"):
            return RunMeter.take(self)


class WatchedLedger(LedgerWriter):
    """A ledger that times its commits, the checkpoint inside them apart."""

    def __init__(self, folder: Path, run_id: str, watch: Stopwatch) -> None:
        super().__init__(folder, run_id)
        self.watch = watch
        self.heartbeat.beat = watch.wrap("heartbeat", self.heartbeat.beat)  # type: ignore[method-assign]

    def commit(self, step: int, checkpoint: Any, keep: Any = ()) -> CommitInfo:
        """Timed."""
        with self.watch.part("commit"):
            return super().commit(step, self.watch.wrap("checkpoint", checkpoint), keep)


def measure() -> Document:
    """Shares of a real run of the built-in study's first arm."""
    one_thread()
    plan = study().study
    with make_grader(plan.data.training.grader) as grader:
        inside = _inside_a_run(plan, grader)
        across = _against_a_run_without(plan, grader)
    return {
        "what": f"{UPDATES} updates of the arm grpo, no evaluations, process CPU time",
        **inside,
        "against_a_run_without": across,
        "held": [
            held(
                "metering, records, heartbeat and commits (a commit each "
                f"{plan.environment.commit_seconds:g} s), share of training time",
                inside["share"], at_most=TARGET,
            )
        ],
    }  # fmt: skip


def _inside_a_run(plan: Study, grader: Grader) -> Document:
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as patches:
        for name in ("record_update", "record_costs", "record_evaluation"):
            recorded = watch.wrap("records", getattr(run_module, name))
            patches.enter_context(patch.object(run_module, name, recorded))
        ledger = WatchedLedger(Path(folder), "bench", watch)
        drive = _run(plan, grader, ledger, WatchedMeter(watch), UPDATES)
        policy = drive.learner.policy
        kept = watch.wrap("weights kept for a reading", policy.weights)
        patches.enter_context(patch.object(policy, "weights", kept))
        begun = time.process_time(), time.perf_counter()
        drive.to_the_end()
        cpu, wall = time.process_time() - begun[0], time.perf_counter() - begun[1]
    commits = watch.calls["commit"]
    a_commit = watch.cpu["commit"] / commits
    # A short run commits more often for its length than a long one: the first and the last are always there.
    rest = cpu - watch.cpu["commit"] - watch.cpu["checkpoint"]
    each_update = {name: watch.cpu[name] / rest for name in ("meter", "records", "heartbeat")}
    amortised = a_commit / plan.environment.commit_seconds
    return {
        "run_seconds": {"cpu": cpu, "wall": wall},
        "cpu_seconds": dict(watch.cpu),
        "wall_seconds": dict(watch.wall),
        "calls": dict(watch.calls),
        "share": sum(each_update.values()) + amortised,
        "share_by_part": {**each_update, "commits": amortised},
        "apart": {
            "checkpoints_share": watch.cpu["checkpoint"] / commits / plan.environment.commit_seconds,
            "weights_kept_share": watch.cpu["weights kept for a reading"] / rest,
            "commit_wall_seconds": (watch.wall["commit"] + watch.wall["checkpoint"]) / commits,
        },
    }


def _against_a_run_without(plan: Study, grader: Grader) -> Document:
    """Whole runs (meter, records, commits, checkpoints) against the same updates with none of them."""
    commits: list[float] = []

    def with_ledger(drive: Run, watch: Stopwatch) -> None:
        drive.to_the_end()
        commits.append(watch.cpu["commit"] + watch.cpu["checkpoint"])

    def without(learner: Learner) -> None:
        for step in range(1, UPDATES_A_ROUND + 1):
            learner.update(step, learner.spec.optimizer.learning_rate)

    spec = plan.trainer_of("grpo")
    timings = {"with": Timing(), "without": Timing()}
    for turn in range(ROUNDS + 1):
        with tempfile.TemporaryDirectory() as folder:
            watch = Stopwatch()
            ledger = WatchedLedger(Path(folder), "bench", watch)
            drive = _run(plan, grader, ledger, RunMeter(CpuClock()), UPDATES_A_ROUND)
            learner = learner_of(plan, spec, grader, NullMeter())
            actions = {"with": partial(with_ledger, drive, watch), "without": partial(without, learner)}
            for name in actions if turn % 2 else reversed(actions):
                cpu, wall = timed(actions[name])
                if turn:  # the first round warms up
                    timings[name].cpu.append(cpu)
                    timings[name].wall.append(wall)
    between = [a - b for a, b in zip(timings["with"].cpu, commits[1:], strict=True)]
    return {
        "what": f"{UPDATES_A_ROUND} updates and two commits, one at each end",
        "with": timings["with"].summary(),
        "without": timings["without"].summary(),
        "cpu_ratio": ratios(timings["with"].cpu, timings["without"].cpu),
        "cpu_ratio_between_commits": ratios(between, timings["without"].cpu),
    }


def _run(plan: Study, grader: Grader, ledger: LedgerWriter, meter: RunMeter, updates: int) -> Run:
    short = plan.model_copy(
        update={
            "budget": plan.budget.model_copy(
                update={"updates": updates, "generated_tokens": None, "device_seconds": None}
            )
        }
    )
    spec = short.trainer_of("grpo")
    learner = learner_of(short, spec, grader, meter)

    def no_progress(_: RunState) -> None:
        return None

    return Run(
        short, Cell("grpo", MODEL, 1), learner, [], ledger, meter, should_stop=lambda: False,
        on_progress=no_progress,
    )  # fmt: skip


if __name__ == "__main__":
    run_alone(measure)
