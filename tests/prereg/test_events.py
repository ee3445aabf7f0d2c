"""The event log: durable, in order, and whatever is done to it afterwards is found, or said not to be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prereg import events
from prereg.canonical import digest_of
from prereg.events import NO_EVENT, append_event, head, read_events
from prereg.problems import LockMismatch, Refused

NOON = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of five events."""
    path = tmp_path / "study.events.jsonl"
    append_event(path, "lock", "locked", NOON, {"sha256": "a" * 64})
    for number in range(1, 4):
        append_event(path, "run_started", f"run {number} started", NOON, {"run": f"r{number}"})
    append_event(path, "report", "report", NOON)
    return path


def faults(path: Path) -> list[tuple[int | None, str]]:
    with pytest.raises(LockMismatch) as caught:
        read_events(path)
    assert all(problem.file == str(path) for problem in caught.value.problems)
    return [(problem.line, problem.message) for problem in caught.value.problems]


def test_events_are_read_as_they_were_appended(log: Path) -> None:
    found = read_events(log)
    assert [event.kind for event in found.events] == ["lock", *["run_started"] * 3, "report"]
    assert [event.number for event in found.events] == [1, 2, 3, 4, 5]
    assert found.events[1].data == {"run": "r1"}
    assert found.events[1].at == "2026-01-31T12:00:00Z"
    assert found.events[0].previous == NO_EVENT
    assert [e.previous for e in found.events[1:]] == [e.sha256 for e in found.events[:-1]]
    assert found.head == head(log) == found.events[-1].sha256
    assert found.torn is None


def test_a_log_that_does_not_exist_is_empty(tmp_path: Path) -> None:
    assert head(tmp_path / "none.jsonl") == NO_EVENT
    assert not (tmp_path / "none.jsonl").exists()


def test_the_chain_can_be_verified_without_this_project(log: Path) -> None:
    import hashlib

    import rfc8785

    previous = "0" * 64
    for line in log.read_bytes().splitlines():
        entry = json.loads(line)
        claimed = entry.pop("sha256")
        assert hashlib.sha256(rfc8785.dumps(entry)).hexdigest() == claimed
        assert entry["previous"] == previous
        previous = claimed


def test_every_single_altered_byte_is_found_in_its_line(log: Path) -> None:
    content = log.read_bytes()
    for index in range(len(content)):
        altered = bytearray(content)
        altered[index] ^= 1 << (index % 8)
        log.write_bytes(altered)
        line = content.count(b"\n", 0, index) + 1
        assert line in [found for found, _ in faults(log)]


def test_an_edit_with_a_new_digest_of_its_own_breaks_the_chain(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    entry = json.loads(lines[2])
    entry["summary"] = "something else"
    del entry["sha256"]
    entry["sha256"] = digest_of(entry)
    lines[2] = events.canonical_bytes(entry) + b"\n"
    log.write_bytes(b"".join(lines))
    assert faults(log) == [(4, "entry 4 does not belong to entry 3 before it")]


def test_removals_moves_and_repeats_are_named(log: Path) -> None:
    a, b, c, d, e = log.read_bytes().splitlines(keepends=True)
    removed = "before entry {}, these were removed or altered: {}"
    order = "entry {} stands after entry {}: the order was changed"
    for lines, expected in (
        ((a, c, d, e), [(2, removed.format(3, "2"))]),
        ((a, e), [(2, removed.format(5, "2, 3, 4"))]),
        ((b, c, d, e), [(1, removed.format(2, "1"))]),
        ((a, b, b, c, d, e), [(3, "entry 2 stands here again")]),
        ((a, b, c, d, e, b), [(6, "entry 2 stands here again")]),
        ((a, c, b, d, e), [(3, order.format(2, 3))]),
        ((a, b, e, c, d), [(4, order.format(3, 5)), (5, order.format(4, 5))]),
        ((a, b"junk\n", c, d, e), [(2, "this is no entry of an event log")]),
        ((a, b"\n", b, c, d, e), [(2, "this is no entry of an event log")]),
    ):
        log.write_bytes(b"".join(lines))
        assert faults(log) == expected


def test_a_removal_after_an_altered_line_is_named_too(log: Path) -> None:
    a, b, c, _, e = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(a + b.replace(b"run 1", b"run 9") + c + e)
    assert [line for line, _ in faults(log)] == [2, 4]


def test_an_entry_of_another_log_is_found(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    for _ in range(3):
        append_event(other, "look", "x", NOON)
    mine, theirs = (path.read_bytes().splitlines(keepends=True) for path in (log, other))
    log.write_bytes(b"".join([*mine[:2], theirs[2], *mine[3:]]))
    assert [line for line, _ in faults(log)] == [3, 4]


def test_a_clean_cut_at_the_end_is_only_found_by_a_published_head(log: Path) -> None:
    published = head(log)
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    assert len(read_events(log).events) == 4  # the docstring says so
    assert head(log) != published


def test_a_torn_last_entry_is_recognised_kept_and_repaired(log: Path) -> None:
    whole = log.read_bytes()
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    for cut in range(start + 1, len(whole)):
        log.write_bytes(whole[:cut])
        found = read_events(log)
        assert len(found.events) == 4
        assert found.torn == whole[start:cut]
        append_event(log, "run_resumed", "again", NOON)
        mended = read_events(log)
        assert mended.torn is None
        assert [event.number for event in mended.events] == [1, 2, 3, 4, 5]
        assert mended.events[-1].torn == whole[start:cut]


def test_a_torn_first_entry_and_unwritten_blocks_are_recognised(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for torn in (b'{"at":"2026', b"\0" * 4096):
        path.write_bytes(torn)
        assert read_events(path).torn == torn
        assert append_event(path, "lock", "x", NOON).torn == torn
        assert len(read_events(path).events) == 1


@pytest.mark.parametrize("tail", [b"x", b'{"a": 1} x', b"[1]", b"\0x"])
def test_other_bytes_at_the_end_are_not_taken_for_a_crash(log: Path, tail: bytes) -> None:
    before = log.read_bytes()
    log.write_bytes(before + tail)
    assert faults(log)[0][0] == 6
    with pytest.raises(LockMismatch, match="end of the event log"):
        append_event(log, "look", "x", NOON)
    assert log.read_bytes() == before + tail


def test_nothing_is_appended_to_an_altered_entry(log: Path) -> None:
    log.write_bytes(log.read_bytes().replace(b'"summary":"report"', b'"summary":"Report"'))
    with pytest.raises(LockMismatch, match="last entry"):
        append_event(log, "look", "x", NOON)


def test_long_entries_are_found_again(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for size in (10, 200_000, 10, 70_000, 1_000_000):
        append_event(path, "look", "x" * size, NOON)
    assert [len(event.summary) for event in read_events(path).events] == [10, 200_000, 10, 70_000, 1_000_000]


WRITER = """
import sys
from datetime import datetime, UTC
from pathlib import Path
from prereg.events import append_event
for number in range(25):
    append_event(Path(sys.argv[1]), "look", sys.argv[2], datetime.now(UTC), {"number": number})
"""


def test_processes_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    root = Path(__file__).parents[2]
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, name], cwd=root) for name in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    found = read_events(path).events
    assert len(found) == 75
    for name in "abc":
        assert [e.data["number"] for e in found if e.summary == name] == list(range(25))


def test_a_log_that_another_process_holds_is_waited_for_but_not_for_ever(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    monkeypatch.setattr(events, "WAIT_SECONDS", 0.05)
    with log.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="another process"):
            append_event(log, "look", "x", NOON)
    append_event(log, "look", "x", NOON)


def test_a_full_disk_leaves_the_log_as_it_was(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = log.read_bytes()
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:20]))
        with pytest.raises(Refused, match="No space left"):
            append_event(log, "look", "x", NOON)
    assert log.read_bytes() == before
    append_event(log, "look", "x", NOON)


def test_places_that_cannot_hold_a_log_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "none" / "log", tmp_path / "pipe"):
        with pytest.raises(Refused, match="event log"):
            append_event(path, "look", "x", NOON)
    with pytest.raises(Refused, match="cannot be read"):
        read_events(tmp_path)


def test_what_is_no_event_is_a_mistake_of_the_caller(log: Path) -> None:
    before = log.read_bytes()
    with pytest.raises(ValueError, match="no event"):
        append_event(log, "party", "x", NOON)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="canonical"):
        append_event(log, "look", "x", NOON, {"value": float("nan")})
    with pytest.raises(ValueError, match="time zone"):
        append_event(log, "look", "x", datetime(2026, 1, 1))
    assert log.read_bytes() == before


def test_every_removal_repetition_and_exchange_of_entries_is_found(log: Path) -> None:
    """All of them on a log of five entries; only a clean cut at the end is left, as the test above says."""
    lines = log.read_bytes().splitlines(keepends=True)
    size = len(lines)
    changed = [lines[:i] + lines[j:] for i in range(size) for j in range(i + 1, size)]
    changed += [[*lines[:i], lines[j], *lines[i:]] for i in range(size + 1) for j in range(size)]
    for i in range(size):
        for j in range(i + 1, size):
            exchanged = list(lines)
            exchanged[i], exchanged[j] = exchanged[j], exchanged[i]
            changed.append(exchanged)
    assert len(changed) == 10 + 30 + 10
    for entries in changed:
        log.write_bytes(b"".join(entries))
        assert faults(log)


def test_removed_and_added_bytes_are_found(log: Path) -> None:
    content = log.read_bytes()
    for index in range(0, len(content) - 1, 3):  # without its last line end the last entry is torn
        for altered in (content[:index] + content[index + 1 :], content[:index] + b"0" + content[index:]):
            log.write_bytes(altered)
            with pytest.raises(LockMismatch):
                read_events(log)
