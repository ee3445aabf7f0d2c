"""What a cut-off run had done since its last commit is counted, once."""

from __future__ import annotations

from pathlib import Path

from harness.ledger.heartbeat import Beat, Heartbeat, read_beat
from harness.ledger.reader import read_run
from harness.ledger.writer import LedgerWriter
from tests.harness.ledger import runs
from tests.harness.ledger.runs import RUN, whole


def lost(folder: Path) -> list[tuple[int, int, int, float, float]]:
    rows = whole(read_run(folder)).table("lost").to_pylist()
    names = ("after_commit", "steps", "generated_tokens", "device_seconds", "wall_seconds")
    return [tuple(row[n] for n in names) for row in rows]


def test_a_new_run_has_lost_nothing(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, RUN)
    writer.commit(0, {})
    assert (lost(tmp_path), writer.resumes) == ([], 0)


def test_each_interruption_is_one_row_even_if_no_commit_came_between(tmp_path: Path) -> None:
    first = LedgerWriter(tmp_path, RUN)
    runs.append_step(first, 1)
    first.commit(1, {})
    first.heartbeat.beat(step=3, generated_tokens=70, device_seconds=1.5, wall_seconds=2.5)
    second = LedgerWriter(tmp_path, RUN)
    assert second.resumes == 1
    second.heartbeat.beat(step=2, generated_tokens=10, device_seconds=0.5, wall_seconds=0.75)
    third = LedgerWriter(tmp_path, RUN)
    assert third.resumes == 2
    runs.append_step(third, 2)
    third.commit(2, {})
    assert lost(tmp_path) == [(1, 2, 70, 1.5, 2.5), (1, 1, 10, 0.5, 0.75)]
    assert LedgerWriter(tmp_path, RUN).resumes == 3


def test_work_that_was_committed_is_not_lost(tmp_path: Path) -> None:
    # Cut off between the commit's rename and the next heartbeat: the file still tells of the time before.
    writer = LedgerWriter(tmp_path, RUN)
    writer.heartbeat.beat(step=1, generated_tokens=70, device_seconds=1.5, wall_seconds=2.5)
    old = (tmp_path / "heartbeat.json").read_bytes()
    runs.append_step(writer, 1)
    writer.commit(1, {})
    (tmp_path / "heartbeat.json").write_bytes(old)
    resumed = LedgerWriter(tmp_path, RUN)
    resumed.commit(1, {})
    assert lost(tmp_path) == [(1, 0, 0, 0.0, 0.0)]


def test_a_run_cut_off_before_its_first_commit(tmp_path: Path) -> None:
    LedgerWriter(tmp_path, RUN).heartbeat.beat(1, 5, 0.1, 0.2)
    LedgerWriter(tmp_path, RUN).commit(0, {})
    assert lost(tmp_path) == [(0, 1, 5, 0.1, 0.2)]


def test_a_heartbeat_that_cannot_be_read_is_not_an_error(tmp_path: Path) -> None:
    LedgerWriter(tmp_path, RUN).commit(0, {})
    for content in (b"", b"{", b"[]", b'{"commit": 1}', b"\xff"):
        (tmp_path / "heartbeat.json").write_bytes(content)
        assert read_beat(tmp_path) is None
        assert LedgerWriter(tmp_path, RUN).resumes == 1


def test_beats_are_written_every_two_seconds_at_most(tmp_path: Path) -> None:
    now = [0.0]
    heartbeat = Heartbeat(tmp_path, Beat(1, 4, 4, 0, 0.0, 0.0), clock=lambda: now[0])
    seen = set()
    for tick in range(1000):  # ten seconds
        now[0] = tick / 100
        heartbeat.beat(5, tick, 0.0, 0.0)
        beat = read_beat(tmp_path)
        assert beat is not None
        seen.add(beat.generated_tokens)
    assert 5 <= len(seen) <= 6
