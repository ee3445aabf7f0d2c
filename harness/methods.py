"""Installed methods at the lock: each is found, its settings are checked, and its code becomes a digest."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from prereg.installed import GROUPS, Group, InstalledMethod
from prereg.lock import SourceDigest
from prereg.problems import Problem, Refused
from prereg.source import LoadedStudy
from trainers.installed import find_method, load_method

Found = tuple[tuple[str, ...], Group, InstalledMethod]
"""Place in the study file, group and section."""


def resolve_methods(loaded: LoadedStudy) -> tuple[dict[str, SourceDigest], list[Problem]]:
    """The digest of each installed method by a name of its own, and what is wrong with any."""
    sources: dict[str, SourceDigest] = {}
    problems: list[Problem] = []
    for path, group, spec in _named(loaded):
        try:
            load_method(group, spec)
            sources[f"methods.{group}.{spec.name}"] = _digest(group, spec.name)
        except Refused as refused:
            problems.extend(loaded.problem(p.message, *path, hint=p.hint) for p in refused.problems)
    return sources, problems


def _named(loaded: LoadedStudy) -> Iterator[Found]:
    """Every installed method where it is written, once."""
    seen: set[tuple[str, ...]] = set()
    for arm in loaded.study.arms:
        trainer = loaded.study.trainer_of(arm)
        for group in GROUPS:
            spec = getattr(trainer, group)
            if isinstance(spec, InstalledMethod):
                own = ("arms", arm, "trainer", group)
                path = own if own in loaded.positions.values else ("trainer", group)
                if path not in seen:
                    seen.add(path)
                    yield path, group, spec


def _digest(group: Group, name: str) -> SourceDigest:
    entry = find_method(group, name)
    file = sys.modules[entry.module].__file__
    if file is None:
        raise Refused(Problem(f"the {group} method `{name}` has no source file ({entry.module})"))
    package = f" of {entry.dist.name} {entry.dist.version}" if entry.dist is not None else ""
    return SourceDigest(
        what=f"the {group} method {name}{package}: {Path(file).name}",
        sha256=hashlib.sha256(Path(file).read_bytes()).hexdigest(),
    )
