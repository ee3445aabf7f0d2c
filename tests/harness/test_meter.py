"""The meter: every second in one phase, every token under one purpose, and nothing lost between."""

from __future__ import annotations

import time

import pytest

from harness.clock import CountedClock, CpuClock, Reading
from harness.meter import Cost, RunMeter


class PlayedClock:
    """A clock that a test moves by hand."""

    devices, device_kind, runs_by_itself = 2, "played", True

    def __init__(self) -> None:
        self.wall = 100.0

    def read(self) -> Reading:
        return Reading(self.wall * self.devices, self.wall)

    def work(self, *, tokens: int = 0, flops: float = 0.0) -> float:
        return 0.0


def test_seconds_by_phase_with_idle_time_between_sum_to_the_time_that_passed() -> None:
    clock = PlayedClock()
    meter = RunMeter(clock)
    clock.wall += 1.0
    with meter.phase("generate", "rollout"):
        clock.wall += 5.0
    meter.count("generate", "rollout", generated=70, prompt=30, flops=1e3)
    clock.wall += 0.5
    with meter.phase("backward"):
        clock.wall += 2.0
    spent = meter.take()
    assert spent["generate", "rollout"].device_seconds == pytest.approx(10.0)
    assert spent["generate", "rollout"].wall_seconds == pytest.approx(5.0)
    assert spent["backward", None].device_seconds == pytest.approx(4.0)
    assert spent["idle", None].device_seconds == pytest.approx(3.0)
    assert sum(c.wall_seconds for c in spent.values()) == pytest.approx(8.5)
    assert not meter.take()["idle", None].device_seconds


def test_evaluation_and_checkpoints_are_not_charged() -> None:
    clock = PlayedClock()
    meter = RunMeter(clock)
    for phase, purpose in (("generate", "rollout"), ("evaluate", "evaluation"), ("checkpoint", None)):
        with meter.phase(phase, purpose):
            clock.wall += 1.0
        meter.count(phase, purpose, generated=10 if purpose else 0, flops=5.0)
    cost = Cost(3, 100, 7.0, 1.0).plus(meter.take(), 1)
    assert cost == Cost(4, 110, 9.0, 6.0)


def test_discarded_and_screening_tokens_are_charged() -> None:
    meter = RunMeter(CountedClock())
    for purpose in ("rollout", "continuation", "screening", "discarded"):
        meter.count("generate", purpose, generated=10)
    assert Cost().plus(meter.take(), 1).generated_tokens == 40


def test_an_unknown_phase_a_nested_one_and_an_unknown_purpose_are_errors() -> None:
    meter = RunMeter(CountedClock())
    with pytest.raises(ValueError, match="unknown"), meter.phase("dreaming"):
        pass
    with meter.phase("forward"), pytest.raises(ValueError, match="inside"), meter.phase("backward"):
        pass
    with pytest.raises(ValueError, match="purpose"):
        meter.count("generate", "fun", generated=1)


def test_a_counted_clock_moves_by_counted_work_alone() -> None:
    meter = RunMeter(CountedClock())
    time.sleep(0.01)
    with meter.phase("generate", "rollout"):
        time.sleep(0.01)
    meter.count("generate", "rollout", generated=1000, flops=25e9)
    spent = meter.take()
    assert set(spent) == {("generate", "rollout")}
    assert spent["generate", "rollout"].device_seconds == pytest.approx(1000 * 2e-5 + 1.0)


def test_a_cpu_clock_charges_work_and_not_waiting() -> None:
    meter = RunMeter(CpuClock())
    with meter.phase("generate"):
        time.sleep(0.2)
    cost = meter.take()["generate", None]
    assert cost.wall_seconds >= 0.2
    assert cost.device_seconds < 0.1
