"""Commits that hold a lock, in repositories made on the spot."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prereg.lock import Lock, write_lock
from prereg.receipts.git import GitNotary
from prereg.receipts.protocol import BadReceipt, Owed, Receipt, Unverifiable
from tests.prereg.studies import loaded
from tests.prereg.test_lock import lock_of

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git commits")

NOON = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def lock(tmp_path: Path) -> Lock:
    """A lock in a folder of a new repository, not committed yet."""
    git(tmp_path, "init", "-q")
    (tmp_path / "deep").mkdir()
    made = lock_of(loaded())
    write_lock(made, tmp_path / "deep" / "study.lock.json")
    return made


def notary(folder: Path) -> GitNotary:
    return GitNotary(folder / "deep" / "study.lock.json")


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "lock")


def test_it_is_owed_until_the_lock_is_committed(tmp_path: Path, lock: Lock) -> None:
    with pytest.raises(Owed, match="git add"):
        notary(tmp_path).stamp(lock.sha256, NOON)
    (tmp_path / "other").write_text("x")
    git(tmp_path, "add", "other")
    git(tmp_path, "commit", "-q", "-m", "x")
    with pytest.raises(Owed, match="git add"):
        notary(tmp_path).stamp(lock.sha256, NOON)
    commit(tmp_path)
    receipt = notary(tmp_path).stamp(lock.sha256, NOON)
    claim = notary(tmp_path).verify(lock.sha256, receipt)
    assert receipt.data["commit"] == git(tmp_path, "rev-parse", "HEAD")
    assert receipt.data["clean"] is True
    assert "holds the lock" in claim.proves
    assert claim.not_after is None


def test_what_else_was_changed_is_said(tmp_path: Path, lock: Lock) -> None:
    commit(tmp_path)
    (tmp_path / "new").write_text("x")
    receipt = notary(tmp_path).stamp(lock.sha256, NOON)
    assert receipt.data["clean"] is False
    assert "other files were changed" in notary(tmp_path).verify(lock.sha256, receipt).proves


def test_a_commit_that_holds_another_lock_or_is_gone_from_history_does_not_hold(
    tmp_path: Path, lock: Lock
) -> None:
    commit(tmp_path)
    receipt = notary(tmp_path).stamp(lock.sha256, NOON)
    with pytest.raises(BadReceipt, match="does not hold this lock"):
        notary(tmp_path).verify("0" * 64, receipt)
    git(tmp_path, "checkout", "-q", "--orphan", "anew")
    git(tmp_path, "commit", "-q", "-m", "history made anew")
    with pytest.raises(BadReceipt, match="no longer in the history"):
        notary(tmp_path).verify(lock.sha256, receipt)


def test_a_commit_is_still_a_receipt_after_the_lock_moved_on(tmp_path: Path, lock: Lock) -> None:
    commit(tmp_path)
    receipt = notary(tmp_path).stamp(lock.sha256, NOON)
    write_lock(
        lock_of(loaded(("updates: 10", "updates: 11"))), tmp_path / "deep/study.lock.json", replace=True
    )
    commit(tmp_path)
    assert "holds the lock" in notary(tmp_path).verify(lock.sha256, receipt).proves


def test_outside_a_repository_it_is_owed_and_cannot_be_verified(tmp_path: Path) -> None:
    alone = GitNotary(tmp_path / "study.lock.json")
    with pytest.raises(Owed, match="no git work tree"):
        alone.stamp("0" * 64, NOON)
    made = Receipt(kind="git", lock="0" * 64, made="x", data={"commit": "a" * 40, "path": "x", "clean": True})
    with pytest.raises(Unverifiable, match="no git work tree"):
        alone.verify("0" * 64, made)
    for data in ({"commit": "--help", "path": "x", "clean": True}, {"commit": "a" * 40, "path": "x"}):
        with pytest.raises(BadReceipt):
            alone.verify("0" * 64, made.model_copy(update={"data": data}))
