"""The lock: a study, the digests of all that it uses, and a SHA-256 over both.

The file is JSON, indented for reading. Its `sha256` is that of the RFC 8785 form of everything else in it, so
that anyone can verify it without this project. `parts` holds a digest of each part, by which an alteration is
named and not only found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from prereg.amendment import Amendment
from prereg.canonical import digest_of
from prereg.fields import Count, Fraction, NonNegative, Section, Sha256, Text
from prereg.problems import LockMismatch, Problem, Refused
from prereg.source import LoadedStudy
from prereg.study import Study
from prereg.whole import write_whole

LOCK_VERSION: Literal[1] = 1

PROVES = (
    "Integrity: the study and the digests in this file are those over which its SHA-256 was computed; "
    "any later change of either gives another SHA-256.",
    "Order: the event log that goes with this file holds this SHA-256, so that the runs and reports "
    "recorded in it after that came after the lock.",
)
DOES_NOT_PROVE = (
    "Time: `created` is what the clock of the machine said. Whoever holds the folder could make lock, event "
    "log and runs anew. Only a copy of the SHA-256 that others had before the runs shows that it is older.",
    "Identity: nothing in the file says who made it.",
    "That no other runs were made: runs outside this folder leave no trace in it.",
)


class Overlap(Section):
    """How many of a benchmark's problems stand among the training prompts, each by its strictest match."""

    problems: Count
    """Of the benchmark."""
    exact: int
    """The same text."""
    normalised: int
    """The same but for case, white space and punctuation."""
    ngram: int
    """A run of 13 words stands in both."""
    listed: tuple[Text, ...] = ()
    """The first of them."""

    @property
    def matched(self) -> int:
        """All of them."""
        return self.exact + self.normalised + self.ngram


class SourceDigest(Section):
    """What a source resolved to when the study was locked."""

    what: Text
    """In words, e.g. `64 problems of data/test.jsonl`."""
    sha256: Sha256
    """Of the content; of the identity alone (`owner/name@revision`) where the content is owed."""
    owed: bool = False
    """Whether only the identity was known when the study was locked, since the content could not be
    fetched."""
    items: Count | None = None
    """Problems of a task; None for what is not counted."""
    files: dict[str, Sha256] = Field(default_factory=dict)
    """SHA-256 of each file of a folder, by its path there."""
    overlap: Overlap | None = None
    """Of a benchmark, with the training prompts."""


class CodeVersion(Section):
    """The code that runs and analyses the study."""

    version: Text
    """Version of the installed package."""
    sha256: Sha256
    """Digest of its source files (`prereg.digests.digest_folder`)."""
    commit: str | None = None
    """Git commit, where the code is a work tree."""
    dirty: bool = False
    """Whether the work tree differed from the commit."""


class StudyFile(Section):
    """The file that was locked."""

    name: Text
    sha256: Sha256


class LockedPower(Section):
    """The power of a hypothesis under its own assumptions, simulated when the study was locked."""

    simulations: Count
    seeds: Count
    power: Fraction
    """Share of simulated studies in which the claim was shown, by the report's own tests and verdicts."""
    monte_carlo_error: NonNegative
    """Standard error of that share."""


class Lock(Section):
    """A lock as it stands in its file."""

    lock_version: Literal[1] = LOCK_VERSION
    proves: tuple[Text, ...] = PROVES
    does_not_prove: tuple[Text, ...] = DOES_NOT_PROVE
    created: str
    """UTC, to the second, by the clock of the machine that made it."""
    study_file: StudyFile
    study: Study
    """With every default written out, so that a later version's defaults change nothing."""
    sources: dict[str, SourceDigest]
    """By the dotted field that names the source, e.g. `models.small`, `data.training`."""
    code: CodeVersion
    environment: dict[str, str]
    """Names and versions of what the runs and the analysis depend on."""
    power: dict[str, LockedPower] = Field(default_factory=dict)
    """By hypothesis, of those that declare assumptions."""
    amends: Amendment | None = None
    """What the plan before was changed for; None for the first lock of a study."""
    parts: dict[str, Sha256]
    """SHA-256 of the RFC 8785 form of each part, by its name."""
    sha256: Sha256
    """SHA-256 of the RFC 8785 form of all the above."""


def make_lock(
    loaded: LoadedStudy,
    resolved: Mapping[str, SourceDigest],
    environment: Mapping[str, str],
    code: CodeVersion,
    created: datetime,
    amends: Amendment | None = None,
    power: Mapping[str, LockedPower] | None = None,
) -> Lock:
    """The lock of a study whose sources were resolved. `created` carries its time zone.

    The same arguments give the same lock, byte for byte.
    """
    body = {
        "lock_version": LOCK_VERSION,
        "proves": list(PROVES),
        "does_not_prove": list(DOES_NOT_PROVE),
        "created": utc_text(created),
        "study_file": {"name": loaded.path.name, "sha256": loaded.digest},
        "study": loaded.study.model_dump(mode="json"),
        "sources": {name: source.model_dump(mode="json") for name, source in sorted(resolved.items())},
        "code": code.model_dump(mode="json"),
        "environment": dict(sorted(environment.items())),
        "power": {name: one.model_dump(mode="json") for name, one in sorted((power or {}).items())},
        "amends": None if amends is None else amends.model_dump(mode="json"),
    }
    body["parts"] = _parts(body)
    body["sha256"] = digest_of(body)
    return Lock.model_validate_json(json.dumps(body))


def utc_text(moment: datetime) -> str:
    """A moment with its time zone as UTC text to the second, e.g. `2026-01-31T12:00:00Z`."""
    if moment.tzinfo is None:
        raise ValueError("the moment has no time zone")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def lock_bytes(lock: Lock) -> bytes:
    """The lock's file: UTF-8 JSON, indented, one newline at the end."""
    return _render(lock.model_dump(mode="json"))


def write_lock(lock: Lock, path: Path, *, replace: bool = False) -> None:
    """Write a lock so that it is whole or absent, also after a crash.

    Raises Refused if one stands there already (unless `replace`), or if it cannot be written.
    """
    if path.exists() and not replace:
        hint = "A lock is made once; `harness prereg verify` compares the study with it."
        raise Refused(Problem("the study is locked already", file=str(path), hint=hint))
    try:
        write_whole(path, lock_bytes(lock))
    except OSError as error:
        message = f"the lock cannot be written: {error.strerror or error}"
        raise Refused(Problem(message, file=str(path))) from None


def read_lock(path: Path) -> Lock:
    """Read a lock and verify every byte of it.

    Raises Refused if there is none or another version wrote it, and LockMismatch, naming the part or the
    line, if a byte differs from what was written.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        hint = "Lock the study first: `harness prereg lock`."
        raise Refused(Problem("the study is not locked", file=str(path), hint=hint)) from None
    except OSError as error:
        raise Refused(
            Problem(f"the lock cannot be read: {error.strerror or error}", file=str(path))
        ) from None
    body = _parse(content, path)
    rest = {key: value for key, value in body.items() if key != "sha256"}
    try:
        altered = [] if body.get("sha256") == digest_of(rest) else _altered_parts(rest)
    except (ValueError, TypeError, AttributeError):
        raise _altered(path, "it holds what no lock holds") from None
    if altered:
        raise LockMismatch(*(Problem(text, file=str(path), hint=_RESTORE) for text in altered))
    if (again := _render(body)) != content:
        raise _altered(path, "its text is not as it was written", *_first_difference(content, again))
    try:
        return Lock.model_validate_json(json.dumps(body))
    except ValidationError as error:
        place = ".".join(str(step) for step in error.errors()[0]["loc"])
        message = f"`{place}` is not what this version of the harness expects in a lock"
        hint = "Read it with the version that made it; the lock names it under `code`."
        raise Refused(Problem(message, file=str(path), hint=hint)) from None


_RESTORE = "Restore the file from a copy; an altered lock proves nothing."


def _render(body: Mapping[str, Any]) -> bytes:
    return (json.dumps(body, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _parts(body: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the parts: each section of the study, each source, and the rest of the lock by its keys."""
    parts: dict[str, Any] = {}
    for key, value in body.items():
        if key in ("study", "sources"):
            parts |= {f"{key}.{name}": section for name, section in value.items()}
        elif key != "parts":
            parts[key] = value
    return {name: digest_of(part) for name, part in sorted(parts.items())}


def _altered_parts(body: Mapping[str, Any]) -> list[str]:
    """What differs, in a lock whose SHA-256 does not fit it."""
    stored, present = body.get("parts", {}), _parts(body)
    names = sorted({*stored, *present})
    found = [
        f"`{name}` was altered after the lock" for name in names if stored.get(name) != present.get(name)
    ]
    if len(found) == len(names):
        return ["nothing in it is as it was locked"]
    return found or ["`sha256` was altered after the lock"]


def _parse(content: bytes, path: Path) -> dict[str, Any]:
    try:
        body = json.loads(content.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _altered(path, "it is not UTF-8 text", line) from None
    except json.JSONDecodeError as error:
        raise _altered(path, f"it is not JSON: {error.msg}", error.lineno, error.colno) from None
    except (ValueError, RecursionError):
        raise _altered(path, "it holds a number or a nesting that no lock holds") from None
    if not isinstance(body, dict):
        raise _altered(path, "it is not a lock")
    version = body.get("lock_version")
    newer = isinstance(version, int) and version > LOCK_VERSION
    if newer and _digest_of_rest(body) == body.get("sha256"):
        message = f"the lock has version {version}, this program reads version {LOCK_VERSION}"
        raise Refused(Problem(message, file=str(path), hint="Install a newer version of the harness."))
    return body


def _digest_of_rest(body: Mapping[str, Any]) -> str | None:
    """The SHA-256 that a lock with this content must carry; None if the content has no canonical form."""
    try:
        return digest_of({key: value for key, value in body.items() if key != "sha256"})
    except ValueError:
        return None


def _no_constant(text: str) -> Any:
    raise ValueError(text)


def _first_difference(found: bytes, expected: bytes) -> Iterator[int]:
    """Line and column, from 1, of the first byte that differs."""
    index = next((i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), None)
    at = min(len(found), len(expected)) if index is None else index
    yield found.count(b"\n", 0, at) + 1
    yield at - found.rfind(b"\n", 0, at)


def _altered(path: Path, message: str, line: int | None = None, column: int | None = None) -> LockMismatch:
    return LockMismatch(
        Problem(f"the lock was altered: {message}", file=str(path), line=line, column=column, hint=_RESTORE)
    )
