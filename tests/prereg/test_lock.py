"""The lock: equal content gives equal digests, every altered byte is found, every difference is named."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from prereg.amendment import Amendment, FieldChange, Known
from prereg.canonical import canonical_bytes, digest_of
from prereg.difference import Difference, compare, mismatch
from prereg.lock import CodeVersion, Lock, SourceDigest, lock_bytes, make_lock, read_lock, write_lock
from prereg.problems import LockMismatch, Refused
from prereg.source import LoadedStudy, parse_study
from prereg.starter import starter_files
from tests.prereg.studies import STUDY, loaded

NOON = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
CODE = CodeVersion(version="0.1.0", sha256="c" * 64, commit="d" * 40)
SOURCES = {
    "models.m": SourceDigest(
        what="a folder", sha256="a" * 64, files={"config.json": "1" * 64, "w.bin": "2" * 64}
    ),
    "data.training": SourceDigest(what="100 generated problems", sha256="b" * 64, items=100),
}
ENVIRONMENT = {"python": "3.11.9", "torch": "2.13.0"}


def lock_of(study: LoadedStudy) -> Lock:
    return make_lock(study, SOURCES, ENVIRONMENT, CODE, NOON)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "study.lock.json"
    write_lock(lock_of(loaded()), path)
    return path


def test_canonical_json_has_the_reference_digest() -> None:
    expected = "6bc9595fedfcc6da31a978590311c4cf11fbc3c16e522be8a590ec7fbd696148"
    assert digest_of({"alpha": 0.05, "n": 5}) == expected
    assert digest_of({"n": 5.0, "alpha": 5e-2}) == expected
    assert canonical_bytes({"b": [1.0, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, "\ud800", {1: 2}, object()])
def test_what_has_no_canonical_form_is_an_error(value: object) -> None:
    with pytest.raises(ValueError, match="no canonical JSON"):
        canonical_bytes({"x": value})


def test_a_lock_is_read_as_it_was_made(written: Path) -> None:
    lock = read_lock(written)
    assert lock == lock_of(loaded())
    assert lock.study == loaded().study
    assert lock.created == "2026-01-31T12:00:00Z"
    assert lock_bytes(lock) == written.read_bytes()
    assert written.stat().st_mode & 0o777 == 0o644


def test_the_digest_can_be_verified_without_this_project(written: Path) -> None:
    import hashlib

    import rfc8785

    body = json.loads(written.read_text())
    claimed = body.pop("sha256")
    assert hashlib.sha256(rfc8785.dumps(body)).hexdigest() == claimed


def test_the_same_input_gives_the_same_bytes_and_time_zones_do_not_matter() -> None:
    east = NOON.astimezone(timezone(timedelta(hours=9)))
    again = make_lock(
        loaded(), dict(reversed(SOURCES.items())), dict(reversed(ENVIRONMENT.items())), CODE, east
    )
    assert lock_bytes(again) == lock_bytes(lock_of(loaded()))
    with pytest.raises(ValueError, match="time zone"):
        make_lock(loaded(), SOURCES, ENVIRONMENT, CODE, datetime(2026, 1, 31))


def test_any_change_of_the_study_changes_the_digest() -> None:
    digests = {
        lock_of(loaded(*changes)).sha256
        for changes in ((), (("updates: 10", "updates: 11"),), (("id: first", "id: first-of-all"),))
    }
    assert len(digests) == 3


def test_it_says_what_it_proves_and_that_time_is_not_among_it() -> None:
    lock = lock_of(loaded())
    assert any(text.startswith("Integrity") for text in lock.proves)
    assert any(text.startswith("Order") for text in lock.proves)
    assert any(text.startswith("Time") for text in lock.does_not_prove)
    assert not any("Time" in text for text in lock.proves)


def small_lock(path: Path) -> None:
    """A lock without hypotheses and second benchmark, over which a test can go byte by byte."""
    claims, second = (
        STUDY[STUDY.index("hypotheses:") :],
        STUDY[STUDY.index("    hard:") : STUDY.index("trainer:")],
    )
    study = loaded((claims, ""), (second, ""))
    write_lock(make_lock(study, {}, {"python": "3.11.9"}, CODE, NOON), path, replace=True)


def test_every_single_altered_byte_is_found_and_named(written: Path) -> None:
    small_lock(written)
    content = written.read_bytes()
    for index in range(len(content)):
        altered = bytearray(content)
        altered[index] ^= 1 << (index % 8)
        written.write_bytes(altered)
        with pytest.raises(LockMismatch) as caught:
            read_lock(written)
        assert str(written) in str(caught.value)
        assert "altered" in str(caught.value)


def test_removed_and_doubled_bytes_and_cuts_are_found(written: Path) -> None:
    small_lock(written)
    content = written.read_bytes()
    for index in range(0, len(content), 11):
        for changed in (
            content[:index] + content[index + 1 :],
            content[:index] + content[index : index + 1] + content[index:],
            content[:index],
        ):
            if changed != content:
                written.write_bytes(changed)
                with pytest.raises(LockMismatch):
                    read_lock(written)


def test_the_altered_part_is_named(written: Path) -> None:
    text = written.read_text()
    for old, new, part in (
        ('"updates": 10', '"updates": 11', "study.budget"),
        ('"1111', '"1112', "sources.models.m"),
        ('"torch": "2.13.0"', '"torch": "2.13.1"', "environment"),
        ("12:00:00Z", "11:00:00Z", "created"),
        ("Time: ", "Proves time: ", "does_not_prove"),
    ):
        assert text.count(old) == 1
        written.write_text(text.replace(old, new))
        with pytest.raises(LockMismatch, match=f"`{part}` was altered"):
            read_lock(written)


NO_LOCKS = [
    b"", b"[]", b"null", b"{}", b'{"sha256": 5}', b"[" * 100_000, b"\xff", b'{"parts": [], "study": 3}',
    b'{"a": NaN}', b'{"a": 1e400}', b'{"sha256": "x", "sha256": "y"}',
]  # fmt: skip


@pytest.mark.parametrize("content", NO_LOCKS)
def test_what_is_no_lock_is_refused_in_words(written: Path, content: bytes) -> None:
    written.write_bytes(content)
    with pytest.raises(LockMismatch, match=r"study\.lock\.json"):
        read_lock(written)


def sealed(body: dict[str, object]) -> bytes:
    rest = {key: value for key, value in body.items() if key != "sha256"}
    return (json.dumps({**rest, "sha256": digest_of(rest)}, indent=1) + "\n").encode()


def test_a_lock_of_a_newer_version_is_refused_without_blaming_anyone(written: Path) -> None:
    body = json.loads(written.read_text())
    written.write_bytes(sealed({**body, "lock_version": 2}))
    with pytest.raises(Refused, match="newer version") as caught:
        read_lock(written)
    assert not isinstance(caught.value, LockMismatch)
    written.write_bytes(sealed({**body, "surprise": 1}))
    with pytest.raises(Refused, match="version that made it"):
        read_lock(written)


def test_a_study_is_locked_once_and_a_missing_lock_says_what_to_do(written: Path) -> None:
    before = written.read_bytes()
    with pytest.raises(Refused, match="locked already"):
        write_lock(lock_of(loaded(("updates: 10", "updates: 11"))), written)
    assert written.read_bytes() == before
    write_lock(lock_of(loaded(("updates: 10", "updates: 11"))), written, replace=True)
    assert read_lock(written).study.budget.updates == 11
    with pytest.raises(Refused, match="harness prereg lock"):
        read_lock(written.with_name("other.lock.json"))


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Refused, match="No space left"):
        write_lock(lock_of(loaded()), tmp_path / "study.lock.json")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Refused, match="No such file"):
        write_lock(lock_of(loaded()), tmp_path / "nowhere" / "study.lock.json")


def differences(study: LoadedStudy, **present: object) -> dict[str, tuple[str, str, bool]]:
    now = {"resolved": SOURCES, "environment": ENVIRONMENT, "code": CODE} | present
    found = compare(lock_of(loaded()), study, **now)  # type: ignore[arg-type]
    return {d.field: (d.locked, d.present, d.refuses) for d in found}


def test_nothing_differs_from_itself() -> None:
    assert differences(loaded()) == {}
    assert mismatch((), loaded()) is None


def test_a_changed_field_is_named_with_both_values() -> None:
    study = loaded(("updates: 10", "updates: 11"), ("low: 0.2", "low: 0.25"))
    assert differences(study) == {
        "study.budget.updates": ("10", "11", True),
        "study.arms.new.trainer.credit.low": ("0.2", "0.25", True),
    }


def test_a_default_written_out_and_a_comment_differ_only_in_the_file() -> None:
    study = loaded(("max_new_tokens: 32", "max_new_tokens: 32\n  temperature: 1.0  # as before"))
    assert list(differences(study)) == ["study_file.sha256"]
    assert differences(study)["study_file.sha256"][2] is False


def test_hypotheses_are_matched_by_their_id() -> None:
    study = loaded(
        ("  - id: first\n    statement: New beats base.\n", "  - id: zeroth\n    statement: New.\n")
    )
    found = differences(study)
    assert set(found) == {"study.hypotheses.first", "study.hypotheses.zeroth"}
    assert found["study.hypotheses.first"][1] == "(absent)"
    assert found["study.hypotheses.zeroth"][0] == "(absent)"


def test_lists_are_shown_by_entry_or_whole() -> None:
    assert differences(loaded(("seeds: [1, 2, 3]", "seeds: [1, 2, 4]"))) == {
        "study.seeds.2": ("3", "4", True)
    }
    assert differences(loaded(("seeds: [1, 2, 3]", "seeds: [1, 2]"))) == {
        "study.seeds": ("[1, 2, 3]", "[1, 2]", True)
    }


def test_sources_refuse_and_name_the_file() -> None:
    folder = SOURCES["models.m"]
    changed = folder.model_copy(
        update={"sha256": "9" * 64, "files": {"config.json": "1" * 64, "w.bin": "3" * 64}}
    )
    found = differences(loaded(), resolved={**SOURCES, "models.m": changed})
    assert list(found) == ["sources.models.m.files.w.bin"]
    assert found["sources.models.m.files.w.bin"][2] is True
    task = SOURCES["data.training"].model_copy(update={"sha256": "9" * 64})
    assert differences(loaded(), resolved={**SOURCES, "data.training": task}) == {
        "sources.data.training.sha256": ("b" * 64, "9" * 64, True)
    }
    assert differences(loaded(), resolved={"models.m": folder})["sources.data.training"][1] == "(absent)"


def test_the_environment_and_the_commit_are_reported_and_the_code_refuses() -> None:
    assert differences(loaded(), environment={"python": "3.12.1", "numpy": "2"}) == {
        "environment.python": ("3.11.9", "3.12.1", False),
        "environment.torch": ("2.13.0", "(absent)", False),
        "environment.numpy": ("(absent)", "2", False),
    }
    code = CODE.model_copy(update={"commit": "e" * 40, "dirty": True, "sha256": "f" * 64})
    refuses = {field: entry[2] for field, entry in differences(loaded(), code=code).items()}
    assert refuses == {"code.sha256": True, "code.commit": False, "code.dirty": False}


def test_what_refuses_becomes_an_error_at_its_line() -> None:
    study = loaded(("updates: 10", "updates: 11"))
    found = compare(lock_of(loaded()), study, SOURCES, {}, CODE)
    error = mismatch(found, study)
    assert isinstance(error, LockMismatch)
    (only,) = error.problems
    assert only.line == study.positions.values[("budget", "updates")].line
    assert "study.budget.updates: locked 10, now 11" in only.message
    reported = [Difference("environment.x", "1", "2", refuses=False)]
    assert mismatch(reported, study) is None


def test_altered_bytes_of_the_built_in_studys_lock_are_found(written: Path) -> None:
    """Every 13th byte in another bit; the lock of `small_lock` is gone through byte by byte."""
    study = parse_study(starter_files("builtin")["study.yaml"].encode(), Path("study.yaml"))
    amendment = Amendment(
        number=1, previous="1" * 64, event_head="2" * 64, reason="r", known=Known(runs_started=2),
        changes=(FieldChange(field="study.seeds", before="[1]", after="[2]"),), affected=("x",),
        runs_set_aside=True,
    )  # fmt: skip
    write_lock(make_lock(study, SOURCES, ENVIRONMENT, CODE, NOON, amendment), written, replace=True)
    content = written.read_bytes()
    assert read_lock(written).amends == amendment
    for index in range(0, len(content), 13):
        altered = bytearray(content)
        altered[index] ^= 1 << (index // 13 % 8)
        written.write_bytes(altered)
        with pytest.raises(LockMismatch, match="altered"):
            read_lock(written)
