"""Locks among other people and over time, before any run: amend, stamp, verify, export, crashes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from harness import locking
from harness.amending import amend_study
from harness.cells import Cell, cells_of
from harness.chain import vanished
from harness.exporting import export_study
from harness.locking import lock_study, locked_study
from harness.plandiff import plan_differences
from harness.stamping import Asked, stamp_study
from harness.trials import record_trial
from harness.verifying import verify_study
from prereg.events import EventKind, append_event, read_events
from prereg.layout import StudyLayout
from prereg.lock import CodeVersion, read_lock
from prereg.problems import LockMismatch, Refused
from prereg.source import load_study
from tests.harness.studies import benchmark, hypothesis, tiny, write_study
from tests.prereg.receipts.authority import Authority, serving
from tests.prereg.receipts.test_ssh import make_key

CHEAP = {"data": tiny()["data"] | {"benchmarks": {"easy": benchmark("easy")}}}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A locked study."""
    path = write_study(tmp_path, **CHEAP)
    lock_study(path)
    return path


def refusal(error: pytest.ExceptionInfo[Refused]) -> str:
    return str(error.value)


# ---- locking


def test_a_lock_that_was_cut_off_before_its_first_event_is_completed(study: Path) -> None:
    layout = StudyLayout.of(study)
    before = layout.lock.read_bytes()
    for log in (None, b"", b'{"at":"2026'):
        layout.events.unlink()
        if log is not None:
            layout.events.write_bytes(log)
        lock, notes, _ = lock_study(study)
        assert layout.lock.read_bytes() == before
        assert "cut off" in notes[0]
        (event,) = read_events(layout.events).events
        assert event.data["lock"] == lock.sha256
        assert verify_study(study).sound
    with pytest.raises(Refused, match="locked already"):
        lock_study(study)


def test_a_lock_of_another_plan_or_with_runs_is_not_completed(study: Path) -> None:
    layout = StudyLayout.of(study)
    layout.events.unlink()
    write_study(study.parent, **CHEAP, seeds=[1, 2, 3])
    with pytest.raises(Refused, match="locked already"):
        lock_study(study)
    write_study(study.parent, **CHEAP)
    (layout.runs / "grpo.small.s1").mkdir(parents=True)
    with pytest.raises(Refused, match="locked already"):
        lock_study(study)


def try_out(study: Path, seed: int) -> None:
    """Leave what an exploratory run of this seed leaves."""
    folder = StudyLayout.of(study).exploratory / f"grpo.small.s{seed}"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"seed": seed}))


def test_seeds_that_were_tried_out_are_not_locked(tmp_path: Path) -> None:
    path = write_study(tmp_path, **CHEAP, data_status={"seen": "pilot_runs"})
    try_out(path, 2)
    with pytest.raises(Refused, match="the seed 2 was used by an exploratory run") as error:
        lock_study(path)
    (problem,) = error.value.problems
    assert problem.line
    write_study(tmp_path, **CHEAP, data_status={"seen": "pilot_runs", "pilot_seeds": [2]}, seeds=[3, 4])
    lock_study(path)


def try_out_as(name: str, study: Path, seed: int, study_id: str) -> None:
    """The same under another file name in its folder."""
    folder = study.parent / f"{name}.exploratory" / f"grpo.small.s{seed}"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"seed": seed, "study": study_id}))


def test_seeds_that_were_tried_out_under_another_file_name_are_not_locked(tmp_path: Path) -> None:
    path = write_study(tmp_path, **CHEAP)
    try_out_as("s2", path, 2, "tiny")
    with pytest.raises(Refused, match=r"exploratory runs: s2\.exploratory/grpo\.small\.s2") as error:
        lock_study(path)
    assert "move s2.exploratory away" in refusal(error)
    write_study(tmp_path, **CHEAP, data_status={"seen": "pilot_runs"})
    with pytest.raises(Refused, match="the seed 2 was used by an exploratory run"):
        lock_study(path)


def test_exploratory_runs_of_another_study_beside_it_do_not_matter(tmp_path: Path) -> None:
    path = write_study(tmp_path, **CHEAP)
    try_out_as("s2", path, 2, "another")
    lock_study(path)


def cells(study: Path, *seeds: int) -> list[Cell]:
    return cells_of(load_study(study).study, seeds)


def test_exploratory_runs_under_another_file_name_are_in_the_log_of_the_lock_of_their_id(study: Path) -> None:
    other = write_study(study.parent, "s2.yaml", **CHEAP)
    (study.parent / "junk.lock.json").write_text("[")
    record_trial(load_study(other), cells(other, 1))
    record_trial(load_study(write_study(study.parent, "s3.yaml", **CHEAP, id="third")), cells(other, 1))
    (event,) = [e for e in read_events(StudyLayout.of(study).events).events if e.kind == "trial"]
    assert event.summary == "exploratory runs of grpo, mcpo on seeds 1 begin (s2.yaml)"
    assert event.data["runs"] == [f"s2.exploratory/{arm}.small.s1" for arm in ("grpo", "mcpo")]
    assert not StudyLayout.of(other).events.exists()
    try_out_as("s2", study, 1, "tiny")  # the first of the two that the log tells of
    write_study(study.parent, **CHEAP, hypotheses=[hypothesis(direction="less")])
    made = amend_study(study, "it looked better").amendment
    assert (made.known.exploratory_runs, made.affected) == (2, ("h1",))


@pytest.mark.parametrize(("seed", "affected"), [(2, ("h1",)), (7, ())])
def test_a_plan_changed_after_its_seeds_were_tried_out_deviates(
    study: Path, seed: int, affected: tuple[str, ...]
) -> None:
    try_out(study, seed)
    write_study(study.parent, **CHEAP, hypotheses=[hypothesis(direction="less")])
    assert amend_study(study, "it looked better").amendment.affected == affected


def test_the_same_id_is_not_locked_twice_in_a_folder(study: Path) -> None:
    other = write_study(study.parent, "second.yaml", **CHEAP)
    with pytest.raises(Refused, match="locks a study with the id `tiny` already") as error:
        lock_study(other)
    assert error.value.problems[0].line == 2
    assert "data_status" in refusal(error)
    lock_study(write_study(study.parent, "second.yaml", **CHEAP, id="another"))


def test_code_that_stands_in_no_commit_is_refused_unless_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dirty = CodeVersion(version="0.1.0", sha256="c" * 64, commit="d" * 40, dirty=True)
    monkeypatch.setattr(locking, "code_version", lambda: dirty)
    path = write_study(tmp_path, **CHEAP, environment={"slots": 1})
    with pytest.raises(Refused, match="differs from its git commit dddddddddddd") as error:
        lock_study(path)
    assert "acknowledge_dirty_code: true" in refusal(error)
    assert error.value.problems[0].line is not None
    assert not StudyLayout.of(path).lock.exists()
    path = write_study(tmp_path, **CHEAP, environment={"acknowledge_dirty_code": True})
    _, notes, _ = lock_study(path)
    assert any("acknowledges" in note for note in notes)


def with_file(folder: Path, name: str) -> Path:
    easy = benchmark("easy") | {"source": {"kind": "jsonl", "path": name}}
    return write_study(folder, data=tiny()["data"] | {"benchmarks": {"mine": easy}})


def test_a_pipe_as_data_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    path = with_file(tmp_path, "pipe.jsonl")
    with pytest.raises(Refused, match="not a regular file"):
        lock_study(path)


@pytest.mark.parametrize(
    "content", ['{"problem": "1+1=", "answer": "2"}\n{"problem"\n', '{"problem": 1}\n', ""]
)
def test_a_fault_in_a_data_file_also_names_the_line_of_the_study(tmp_path: Path, content: str) -> None:
    (tmp_path / "mine.jsonl").write_text(content)
    path = with_file(tmp_path, "mine.jsonl")
    with pytest.raises(Refused) as error:
        lock_study(path)
    named, *faults = error.value.problems
    lines = path.read_text().splitlines()
    assert named.line is not None
    assert '"source"' in lines[named.line - 1]
    assert '"mine.jsonl"' in "".join(lines[named.line - 1 : named.line + 3])
    assert faults[0].file == str(tmp_path / "mine.jsonl")


def test_a_gold_answer_that_cannot_be_read_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"problem": "1+1=", "answer": "two"}\n')
    with pytest.raises(Refused, match="gold answer of '0' cannot be used") as error:
        lock_study(with_file(tmp_path, "mine.jsonl"))
    assert "Mend the answer" in refusal(error)


# ---- amending


def test_an_amendment_before_any_run_keeps_the_lock_before_and_deviates_nothing(study: Path) -> None:
    layout = StudyLayout.of(study)
    first = layout.lock.read_bytes()
    write_study(study.parent, **CHEAP, seeds=[1, 2, 3])
    with pytest.raises(LockMismatch, match=r"study\.seeds"):
        locked_study(study)
    done = amend_study(study, " one more seed ")
    assert layout.earlier_lock(1).read_bytes() == first
    amends = read_lock(layout.lock).amends
    assert amends is not None
    assert amends.reason == "one more seed"
    assert amends.previous == json.loads(first)["sha256"]
    assert [str(c) for c in amends.changes] == ["study.seeds: [1, 2] became [1, 2, 3]"]
    assert not amends.known.anything
    assert amends.affected == ()
    assert locked_study(study).accepted == (done.lock.sha256, amends.previous)
    assert verify_study(study).sound
    write_study(study.parent, **CHEAP, seeds=[1, 2, 3, 4])
    assert amend_study(study, "and another").amendment.number == 2
    assert verify_study(study).sound


def test_what_cannot_be_amended(study: Path) -> None:
    with pytest.raises(Refused, match="nothing differs"):
        amend_study(study, "why not")
    write_study(study.parent, **CHEAP, id="other")
    with pytest.raises(Refused, match="id of a locked study"):
        amend_study(study, "another name")
    write_study(study.parent, **CHEAP, seeds=[1])
    with pytest.raises(Refused, match="at least two different seeds"):
        amend_study(study, "fewer")
    with pytest.raises(Refused, match="needs a reason"):
        amend_study(study, "  ")
    assert verify_study(write_study(study.parent, **CHEAP)).sound


def test_an_amendment_that_was_cut_off_is_completed(study: Path) -> None:
    layout = StudyLayout.of(study)
    write_study(study.parent, **CHEAP, seeds=[1, 2, 3])
    log = layout.events.read_bytes()
    done = amend_study(study, "more")
    layout.events.write_bytes(log)  # as after a crash between lock and event
    with pytest.raises(LockMismatch, match="does not hold the last amendment") as error:
        locked_study(study)
    assert "prereg amend" in str(error.value)
    assert amend_study(study, "again").lock == done.lock
    assert verify_study(study).sound


def test_earlier_locks_can_be_neither_altered_nor_removed_nor_exchanged(study: Path) -> None:
    layout = StudyLayout.of(study)
    for count in (3, 4):
        write_study(study.parent, **CHEAP, seeds=list(range(1, count + 1)))
        amend_study(study, "more")
    one, two = layout.earlier_lock(1), layout.earlier_lock(2)
    first, second, last = one.read_bytes(), two.read_bytes(), layout.lock.read_bytes()
    for broken in ((first.replace(b"tiny", b"tidy", 1), second), (second, first), (None, second)):
        one.unlink(missing_ok=True)
        if broken[0] is not None:
            one.write_bytes(broken[0])
        two.write_bytes(broken[1] or b"")
        with pytest.raises(LockMismatch):
            locked_study(study)
    one.write_bytes(first)
    two.write_bytes(second)
    assert verify_study(study).sound
    layout.lock.write_bytes(second)  # back to the plan before
    with pytest.raises(LockMismatch, match="amendment whose lock is not here"):
        locked_study(write_study(study.parent, **CHEAP, seeds=[1, 2, 3]))
    layout.lock.write_bytes(last)


def test_two_plans_are_compared_field_by_field(study: Path, tmp_path: Path) -> None:
    other = write_study(tmp_path / "other", **CHEAP, seeds=[1, 2, 3])
    found = plan_differences(StudyLayout.of(study).lock, other)
    assert [(d.field, d.locked, d.present) for d in found] == [("study.seeds", "[1, 2]", "[1, 2, 3]")]
    assert plan_differences(study, StudyLayout.of(study).lock) == ()


# ---- runs that did not finish


def test_a_run_that_started_and_is_gone_is_named_where_it_must_lie(study: Path) -> None:
    layout = StudyLayout.of(study)
    here, aside = layout.runs / "grpo.small.s1", layout.earlier_runs(1) / "mcpo.small.s1"
    told = [
        ("run_started", {"run": "mcpo.small.s1"}),
        ("amendment", {"runs_set_aside": True}),
        ("run_started", {"run": "grpo.small.s1"}),
        ("run_started", {"run": "grpo.small.s2"}),
        ("run_finished", {"run": "grpo.small.s2"}),  # whose absence `verify_log` names
    ]
    for kind, data in told:
        append_event(layout.events, cast(EventKind, kind), kind, datetime(2026, 1, 2, tzinfo=UTC), data)
    for place in (here, aside):
        place.mkdir(parents=True)
        (place / "run.log").touch()
    events = read_events(layout.events).events
    assert list(vanished(layout, events)) == []
    (here / "run.log").unlink()
    shutil.rmtree(aside)
    assert list(vanished(layout, events)) == [
        f"the event log says that run {run}.small.s1 started, but its folder is gone"
        for run in ("mcpo", "grpo")
    ]


# ---- receipts


def test_a_signature_by_the_key_of_the_study(tmp_path: Path) -> None:
    key = make_key(tmp_path / "key")
    public = key.with_suffix(".pub").read_text().strip()
    named = {"ssh": {"identity": "a@example.org", "public_key": public}, "git": True}
    path = write_study(tmp_path / "study", **CHEAP, receipts=named)
    lock_study(path)
    assert [line.split(" is wanted")[0] for line in verify_study(path).unverified] == [
        "a git commit", "an SSH signature",
    ]  # fmt: skip
    assert "--ssh-key" in stamp_study(path, Asked()).owed[1]
    done = stamp_study(path, Asked(ssh_key=key))
    assert "a@example.org" in done.made[0]
    assert "git" in done.owed[0]
    verified = verify_study(path)
    assert verified.sound
    assert "a@example.org" in verified.receipts[0]
    again = stamp_study(path, Asked(ssh_key=key))
    assert (again.made, len(again.had)) == ((), 1)
    folder = ("git", "-C", str(path.parent), "-c", "user.name=A", "-c", "user.email=a@example.org")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "lock")):
        subprocess.run([*folder, *command], check=True, capture_output=True)
    assert "holds the lock" in stamp_study(path, Asked(ssh_key=key)).made[0]
    verified = verify_study(path)
    assert verified.sound
    assert verified.unverified == ()
    assert len(verified.receipts) == 2


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the authority")
def test_a_time_stamp_that_is_owed_is_fetched_later(tmp_path: Path) -> None:
    pytest.importorskip("rfc3161_client")
    authority = Authority(tmp_path / "tsa")
    with serving(authority) as url:
        pass  # nobody answers there at first
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "roots.pem").write_bytes(authority.root)
    path = write_study(folder, **CHEAP, receipts={"timestamp": {"url": url, "roots": "roots.pem"}})
    lock, _, _ = lock_study(path)
    assert lock.sources["receipts.timestamp.roots"].sha256
    owed = stamp_study(path, Asked())
    assert "did not answer" in owed.owed[0]
    assert verify_study(path).sound
    with serving(authority) as there:
        made = stamp_study(path, Asked(tsa=there))
        assert "did not answer" in made.owed[0]  # the study's authority is asked, not another
        path = write_study(folder, **CHEAP, receipts={"timestamp": {"url": there, "roots": "roots.pem"}})
        amend_study(path, "the authority moved")
        assert "not later than" in stamp_study(path, Asked()).made[0]
    verified = verify_study(path)
    assert verified.sound
    assert verified.unverified == ()
    (folder / "roots.pem").write_bytes(authority.root + b"\n")
    with pytest.raises(LockMismatch, match="certificates"):
        verify_study(path)


def test_every_single_altered_byte_of_the_receipts_is_found(study: Path, tmp_path: Path) -> None:
    stamp_study(study, Asked(ssh_key=make_key(tmp_path / "key")))
    file = StudyLayout.of(study).receipts
    content = file.read_bytes()
    places = range(len(content)) if len(content) < 200 else range(0, len(content), 29)
    for index in places:
        altered = bytearray(content)
        altered[index] ^= 1 << (index % 8)
        file.write_bytes(altered)
        assert not verify_study(study).sound, index
    file.unlink()
    verified = verify_study(study)
    assert "1 receipts that the event log holds are not there" in verified.problems[0]
    file.write_bytes(content)
    assert verify_study(study).sound


def test_a_receipt_whose_event_was_lost_in_a_crash_is_recorded(study: Path, tmp_path: Path) -> None:
    layout = StudyLayout.of(study)
    log = layout.events.read_bytes()
    stamp_study(study, Asked(ssh_key=make_key(tmp_path / "key")))
    layout.events.write_bytes(log)
    assert "does not hold the ssh receipt" in verify_study(study).problems[0]
    stamp_study(study, Asked())
    assert verify_study(study).sound


# ---- exports


def test_exports_are_of_the_locked_plan_and_hold_digests(study: Path, tmp_path: Path) -> None:
    import hashlib

    write_study(study.parent, **CHEAP, title="Edited after the lock")
    written = export_study(study, "osf", tmp_path / "out")
    assert [path.name for path in written] == ["study.osf.md", "study.osf.json"]
    assert "Edited" not in written[0].read_text()
    assert read_lock(StudyLayout.of(study).lock).sha256 in written[0].read_text()
    assert export_study(study, "aspredicted", None)[0] == study.parent / "study.aspredicted.md"
    (crate,) = export_study(study, "ro-crate", None)
    graph = {e["@id"]: e for e in json.loads(crate.read_text())["@graph"]}
    for name in ("study.yaml", "study.lock.json", "study.events.jsonl"):
        assert graph[name]["sha256"] == hashlib.sha256((study.parent / name).read_bytes()).hexdigest()
    with pytest.raises(Refused, match="study's folder"):
        export_study(study, "ro-crate", tmp_path / "out")


def test_a_tail_that_was_cut_off_is_found_by_a_published_head(study: Path, tmp_path: Path) -> None:
    log = StudyLayout.of(study).events
    before = log.read_bytes()
    done = stamp_study(study, Asked(ssh_key=make_key(tmp_path / "key")))
    assert verify_study(study, [done.head, done.lock]).sound
    log.write_bytes(before)
    StudyLayout.of(study).receipts.unlink()
    assert verify_study(study).sound  # nothing in the folder shows it
    found = verify_study(study, [done.head])
    assert not found.sound
    assert "was published" in found.problems[0]
