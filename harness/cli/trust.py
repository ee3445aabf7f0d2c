"""`harness prereg stamp`, `amend`, `diff` and `export`: a lock among other people, and over time."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from harness.cli.output import emit, note
from harness.cli.prereg import group


@group.command
def stamp(
    study: Path | None = None,
    *,
    ssh_key: Path | None = None,
    tsa: str | None = None,
    tsa_roots: Path | None = None,
    sigstore: bool = False,
    json: bool = False,
) -> None:
    """Get receipts for the lock: who signs it, and who says when it existed. Give it again for those owed.

    Parameters
    ----------
    study
        The study file; left out, the one in this folder.
    ssh_key
        Sign with this SSH key (the public file, if an agent holds the private key).
    tsa
        Ask this RFC 3161 authority, where the study names none.
    tsa_roots
        PEM file of the certificates that are trusted for `--tsa`.
    sigstore
        Sign through Sigstore as the identity that the study names.
    json
        Print one JSON document.
    """
    from dataclasses import asdict

    from harness.stamping import Asked, stamp_study
    from prereg.layout import find_study

    done = stamp_study(study or find_study(), Asked(ssh_key, tsa, tsa_roots, sigstore))
    if json:
        emit(asdict(done))
        return
    for words, lines in (("made", done.made), ("had", done.had), ("owed", done.owed), ("note", done.notes)):
        for line in lines:
            note(f"{words}: {line}")
    if done.owed:
        note("what is owed is no failure: give the same command again when it can be had")
    note(f"event log head: {done.head}")
    print(done.lock)


@group.command
def amend(study: Path | None = None, *, reason: str, json: bool = False) -> None:
    """Change a locked plan on record: a new lock that points at the old one, and says what was known by then.

    Parameters
    ----------
    study
        The study file, edited; left out, the one in this folder.
    reason
        Why, in a sentence; it stands in the lock and on the report.
    json
        Print one JSON document.
    """
    from harness.amending import amend_study
    from prereg.layout import find_study

    done = amend_study(study or find_study(), reason)
    made = done.amendment
    if json:
        emit({
            "lock": done.lock.sha256, "amendment": made.model_dump(mode="json"),
            "earlier": str(done.earlier), "event_head": done.head,
        })  # fmt: skip
        return
    note(f"amendment {made.number} of {done.lock.study.id}; the lock before is kept as {done.earlier}")
    for change in made.changes:
        note(f"  {change}")
    note(f"  known by then: {made.known}")
    if made.affected:
        note(f"  DEVIATED from now on, since runs had started: {', '.join(made.affected)}")
    if made.runs_set_aside:
        note("  the runs of before were made otherwise; they are kept apart, and the plan is run anew")
    note("Publish this SHA-256 where others can see when you did; receipts: harness prereg stamp")
    print(done.lock.sha256)


@group.command
def diff(first: Path, second: Path, *, json: bool = False) -> None:
    """Show what differs between two plans, field by field.

    Parameters
    ----------
    first
        A study file, or a lock.
    second
        Another.
    json
        Print one JSON document.
    """
    from harness.plandiff import plan_differences

    found = plan_differences(first, second)
    if json:
        emit({"differences": [{"field": d.field, "first": d.locked, "second": d.present} for d in found]})
        return
    for difference in found:
        print(f"{difference.field}\n  - {difference.locked}\n  + {difference.present}")
    if not found:
        print("the plans are equal")


@group.command
def export(
    study: Path | None = None,
    *,
    format: Literal["osf", "aspredicted", "ro-crate"],
    out: Path | None = None,
    json: bool = False,
) -> None:
    """Write the plan as a registry asks for it: the answers to its questions, or an RO-Crate.

    Parameters
    ----------
    study
        The study file; left out, the one in this folder. Its lock is exported, if it has one.
    format
        `osf` or `aspredicted`: answers in Markdown and JSON. `ro-crate`: `ro-crate-metadata.json`.
    out
        Folder for the answers; by default beside the study. An RO-Crate always lies in the study's folder.
    json
        Print one JSON document.
    """
    from harness.exporting import export_study
    from prereg.layout import find_study

    written = export_study(study or find_study(), format, out)
    if json:
        emit({"written": [str(path) for path in written]})
        return
    for path in written:
        print(path)
