"""What is wrong with problems taken together: those that stand twice, and those with two answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from harness.grading.equal import surely_equal
from harness.tasks.problems import TaskItem
from prereg.contamination import words
from prereg.sources import Contradictions, Repeats

LISTED = 5
"""Groups that are named one by one."""


@dataclass(frozen=True, slots=True)
class Sifted:
    """Problems after the rules on repeats and contradictions."""

    items: tuple[TaskItem, ...]
    remarks: tuple[str, ...]
    """What was found, and what was done, a sentence each."""
    faults: tuple[str, ...]
    """What the lock refuses, a sentence each."""


def sift(items: Sequence[TaskItem], repeats: Repeats, contradictions: Contradictions) -> Sifted:
    """Find problems whose text is the same but for case, white space and punctuation.

    Those with one answer are repeats. Those whose answers differ, as texts and as numbers, contradict one
    another:
    one of the two answers is wrong, and which is not known, so a rule that drops them drops all. Two
    answers that
    are written differently and equal all the same (0.5 and 1/2) are a repeat where plain arithmetic can tell.
    """
    same: defaultdict[tuple[str, ...] | str, list[TaskItem]] = defaultdict(list)
    for item in items:
        same[words(item.problem) or item.problem].append(item)
    groups = [group for group in same.values() if len(group) > 1]
    against = [group for group in groups if not _one_answer(group)]
    again = [group for group in groups if _one_answer(group)]
    gone: set[str] = set()
    remarks, faults = [], []
    if again:
        what = f"{len(again)} problems stand more than once with one answer: {_listed(again)}"
        if repeats == "drop":
            gone.update(item.id for group in again for item in group[1:])
            what += f"; the first of each was kept and {len(gone)} rows were dropped"
        remarks.append(f"{what}.")
    if against:
        what = f"{len(against)} problems stand with different answers: {_listed(against)}"
        if contradictions == "refuse":
            faults.append(what)
        elif contradictions == "drop":
            rows = [item.id for group in against for item in group]
            gone.update(rows)
            remarks.append(f"{what}; all {len(rows)} rows of them were dropped.")
        else:
            remarks.append(f"{what}; they were kept, as the study says.")
    kept = tuple(item for item in items if item.id not in gone)
    return Sifted(kept, tuple(remarks), tuple(faults))


def _one_answer(group: Sequence[TaskItem]) -> bool:
    first = group[0].answer
    return all(item.answer == first or surely_equal(first, item.answer) for item in group[1:])


def _listed(groups: Sequence[Sequence[TaskItem]]) -> str:
    named = ["ids " + ", ".join(item.id for item in group[:LISTED]) for group in groups[:LISTED]]
    more = f"; and {len(groups) - LISTED} more" if len(groups) > LISTED else ""
    return "; ".join(named) + more
