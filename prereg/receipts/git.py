"""The receipt of git: the commit that holds the lock, byte for byte.

A commit's date is what its author's clock said, so it shows order, not time. What makes it worth more is
elsewhere: a host to which it was pushed, and the people who have pulled it.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from prereg.canonical import digest_of
from prereg.lock import utc_text
from prereg.receipts.protocol import BadReceipt, Claim, Kind, Owed, Receipt, Unverifiable, text_of

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class GitNotary:
    """Finds the commit of a lock's file, which must be committed as it stands."""

    lock: Path
    """The file of the lock; its folder is in the work tree."""

    kind: Kind = "git"

    def stamp(self, digest: str, at: datetime) -> Receipt:
        """The commit at HEAD, if it holds the lock."""
        root = self._root()
        if root is None:
            raise Owed("the study is in no git work tree; put it into one and commit the lock")
        path = self.lock.resolve().relative_to(root).as_posix()
        commit = self._git("rev-parse", "--verify", "--quiet", "HEAD")
        held = None if commit is None else self._git("show", f"{_text(commit)}:{path}")
        if commit is None or held is None:
            raise Owed(f"{path} is not in the last commit; commit it: `git add {path} && git commit`")
        if _digest(held) != digest:
            raise Owed(f"the last commit holds another state of {path}; commit it as it is now")
        status = self._git("status", "--porcelain")
        data = {"commit": _text(commit), "path": path, "clean": status is not None and not status.strip()}
        return Receipt(kind="git", lock=digest, made=utc_text(at), data=data)

    def verify(self, digest: str, receipt: Receipt) -> Claim:
        """That the commit is there, in the history of HEAD, and holds the lock."""
        commit, path = text_of(receipt, "commit", "path")
        clean = receipt.data.get("clean")
        if _COMMIT.fullmatch(commit) is None or not isinstance(clean, bool):
            raise BadReceipt("the git receipt names no commit")
        if self._root() is None:
            raise Unverifiable("the study is in no git work tree here, so its commit cannot be looked up")
        if self._git("cat-file", "-e", f"{commit}^{{commit}}") is None:
            raise Unverifiable(f"the commit {commit[:12]} is not in this repository; fetch its whole history")
        held = self._git("show", f"{commit}:{path}")
        if held is None or _digest(held) != digest:
            raise BadReceipt(f"the commit {commit[:12]} does not hold this lock at {path}")
        if self._git("merge-base", "--is-ancestor", commit, "HEAD") is None:
            raise BadReceipt(f"the commit {commit[:12]} is no longer in the history of this work tree")
        dated = _text(self._git("show", "-s", "--format=%cI", commit) or b"")
        tree = "nothing else was changed or added" if clean else "other files were changed or added"
        return Claim(
            "git", None, None, None,
            f"Git: the commit {commit[:12]}, dated {dated} by its author's clock, holds the lock; {tree} in "
            "the work tree when the receipt was made.",
            "It does not show when that was: a history can be made anew, so ask a host or a copy that others "
            "have had since.",
        )  # fmt: skip

    def _root(self) -> Path | None:
        found = self._git("rev-parse", "--show-toplevel")
        return None if found is None else Path(_text(found)).resolve()

    def _git(self, *arguments: str) -> bytes | None:
        """What git prints; None if it fails, and Unverifiable if there is none to ask."""
        command = ["git", "-C", str(self.lock.resolve().parent), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            raise Unverifiable(f"git cannot be run: {error}") from None
        return done.stdout if done.returncode == 0 else None


def _text(output: bytes) -> str:
    return output.decode("utf-8", errors="replace").strip()


def _digest(content: bytes) -> str | None:
    """The SHA-256 of a lock's content, if it is one that fits its own."""
    try:
        body: Any = json.loads(content)
        rest = {key: value for key, value in body.items() if key != "sha256"}
        found = digest_of(rest)
        return found if body.get("sha256") == found else None
    except (ValueError, AttributeError, RecursionError):
        return None
