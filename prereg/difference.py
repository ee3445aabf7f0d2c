"""What differs between a lock and the present: each field by name, with both values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prereg.lock import CodeVersion, Lock, SourceDigest
from prereg.problems import LockMismatch, Problem
from prereg.source import LoadedStudy

ABSENT = "(absent)"


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not as it was locked."""

    field: str
    """Dotted, e.g. `study.budget.updates`; list entries by their `id` where they have one, else from 0."""
    locked: str
    present: str
    refuses: bool
    """Whether a run under the lock must be refused; otherwise it is only reported."""
    path: tuple[str | int, ...] = ()
    """Place in the study file, where the difference is one of the study."""

    def __str__(self) -> str:
        return f"{self.field}: locked {self.locked}, now {self.present}"


def compare(
    lock: Lock,
    loaded: LoadedStudy,
    resolved: Mapping[str, SourceDigest],
    environment: Mapping[str, str],
    code: CodeVersion,
) -> tuple[Difference, ...]:
    """Everything that differs from the lock, in the order study, sources, code, environment.

    The study's content, the sources and the code's version and digest refuse a run. Only reported are the
    environment, the code's commit (which changes when the lock itself is committed), and a study file whose
    bytes changed but not its content (a comment).
    """
    return (
        *_study(lock, loaded),
        *_sources(lock, resolved),
        *_code(lock, code),
        *_environment(lock, environment),
    )


def mismatch(differences: Iterable[Difference], loaded: LoadedStudy) -> LockMismatch | None:
    """The error for the differences that refuse a run, each at its place in the file; None without any."""
    hint = "Restore what was locked, or run apart from the lock with `--exploratory`."
    problems = [
        loaded.problem(str(d), *d.path, hint=hint) if d.path else Problem(str(d), hint=hint)
        for d in differences
        if d.refuses
    ]
    return LockMismatch(*problems) if problems else None


def _study(lock: Lock, loaded: LoadedStudy) -> Iterator[Difference]:
    locked, present = lock.study.model_dump(mode="json"), loaded.study.model_dump(mode="json")
    found = list(walk(locked, present, "study", ()))
    yield from found
    if not found and lock.study_file.sha256 != loaded.digest:
        yield Difference("study_file.sha256", lock.study_file.sha256, loaded.digest, refuses=False)


def _sources(lock: Lock, resolved: Mapping[str, SourceDigest]) -> Iterator[Difference]:
    for name in dict.fromkeys((*lock.sources, *resolved)):
        locked, present = lock.sources.get(name), resolved.get(name)
        field = f"sources.{name}"
        if locked is None or present is None:
            digests = [ABSENT if source is None else source.sha256 for source in (locked, present)]
            yield Difference(field, digests[0], digests[1], refuses=True)
        elif locked.owed != present.owed:
            yield _owed(field, locked, present)
        elif locked.sha256 != present.sha256:
            files = list(walk(locked.files, present.files, f"{field}.files", ()))
            yield from (Difference(d.field, d.locked, d.present, refuses=True) for d in files)
            if not files:
                yield Difference(f"{field}.sha256", locked.sha256, present.sha256, refuses=True)


def _owed(field: str, locked: SourceDigest, present: SourceDigest) -> Difference:
    """A source whose content is known on one side only: nothing contradicts the lock, and that is said."""
    if present.owed:
        return Difference(f"{field}.sha256", locked.sha256, "not to be had from here, so not compared", False)
    return Difference(f"{field}.sha256", f"owed ({locked.what})", present.sha256, False)


def _code(lock: Lock, code: CodeVersion) -> Iterator[Difference]:
    for name, refuses in (("version", True), ("sha256", True), ("commit", False), ("dirty", False)):
        locked, present = getattr(lock.code, name), getattr(code, name)
        if locked != present:
            yield Difference(f"code.{name}", _show(locked), _show(present), refuses)


def _environment(lock: Lock, environment: Mapping[str, str]) -> Iterator[Difference]:
    for name in dict.fromkeys((*lock.environment, *sorted(environment))):
        locked, present = lock.environment.get(name, ABSENT), environment.get(name, ABSENT)
        if locked != present:
            yield Difference(f"environment.{name}", locked, present, refuses=False)


def walk(locked: Any, present: Any, field: str, path: tuple[str | int, ...] = ()) -> Iterator[Difference]:
    """Differences of two JSON values, as deep as they can be named. `path` leads through `present`."""
    if isinstance(locked, dict) and isinstance(present, dict):
        for key in dict.fromkeys((*locked, *present)):
            yield from walk(
                locked.get(key, _MISSING), present.get(key, _MISSING), f"{field}.{key}", (*path, key)
            )
    elif isinstance(locked, list) and isinstance(present, list):
        yield from _lists(locked, present, field, path)
    elif type(locked) is not type(present) or locked != present:
        yield Difference(field, _show(locked), _show(present), refuses=True, path=path)


def _lists(
    locked: list[Any], present: list[Any], field: str, path: tuple[str | int, ...]
) -> Iterator[Difference]:
    """Entries with an `id` are matched by it; other lists of one length by position, else shown whole."""
    before, after = _by_id(locked), _by_id(present)
    if before is not None and after is not None:
        places = {name: position for position, name in enumerate(after)}
        for name in dict.fromkeys((*before, *after)):
            place = (*path, places[name]) if name in places else path
            yield from walk(before.get(name, _MISSING), after.get(name, _MISSING), f"{field}.{name}", place)
        if list(before) != list(after) and set(before) == set(after):
            yield Difference(field, _show(list(before)), _show(list(after)), refuses=True, path=path)
    elif len(locked) == len(present):
        for position, (old, new) in enumerate(zip(locked, present, strict=True)):
            yield from walk(old, new, f"{field}.{position}", (*path, position))
    else:
        yield Difference(field, _show(locked), _show(present), refuses=True, path=path)


def _by_id(entries: list[Any]) -> dict[str, Any] | None:
    """Entries by their `id`, if all have one and no two the same."""
    named = {entry["id"]: entry for entry in entries if isinstance(entry, dict) and "id" in entry}
    return named if len(named) == len(entries) and (named or not entries) else None


_MISSING = object()


def _show(value: Any) -> str:
    """A value in a message: text in quotes, the rest as JSON would have it, cut where it is long."""
    if value is _MISSING:
        return ABSENT
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."
