"""The declared bounds on side effects: which arm kept them, and which is flagged or voided."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from reports import words
from reports.content import Column, Prose, Section, Table, Value
from reports.scores import Evidence
from reports.sideeffects import Checked, bound_words

_SHARES = ("truncation", "duplicate_samples", "informative_groups")

_MEASURES = {
    "length": "tokens an evaluation sample",
    "truncation": "evaluation samples cut at the cap",
    "duplicate_samples": "repeated evaluation samples",
    "entropy": "entropy at the end of training (nats a token)",
    "kl": "KL to the start policy (nats a token)",
    "informative_groups": "groups whose rewards differ",
    "training_length": "tokens a rollout",
}


def build(evidence: Evidence, checked: Sequence[Checked]) -> Section:
    """The section. Without declared bounds it says so, since a missing check should be seen."""
    if not checked:
        text = "The plan declares no bounds on side effects: length, entropy, truncation, KL."
        return Section("controls", "Bounds on side effects", (Prose(text),))
    several = len(evidence.study.models) > 1
    columns = (
        Column("control", "Bound"),
        *((Column("model", "Model"),) if several else ()),
        Column("arm", "Arm"),
        Column("measure", "Measured"),
        Column("read_at", "Read"),
        Column("value", "Value"),
        Column("ratio", "Ratio", "decimal", 3),
        Column("declared", "Declared"),
        Column("finding", "Finding"),
        Column("action", "If broken"),
    )
    rows: list[tuple[Value, ...]] = [
        (
            one.name,
            *((one.model,) if several else ()),
            one.arm,
            _MEASURES[one.control.measure],
            words.axis_phrase(one.axis) if one.axis else "whole training",
            None if isnan(one.value) else _value(one),
            None if one.control.relative_to is None or isnan(one.bounded) else one.bounded,
            bound_words(one.control),
            one.finding,
            one.control.action,
        )
        for one in checked
    ]
    table = Table(
        "controls",
        "Declared bounds, and what the runs did",
        columns,
        tuple(rows),
        "Means over seeds. A broken bound of action void makes the arm's hypotheses inadmissible; so does "
        "one that could not be measured.",
    )
    return Section("controls", "Bounds on side effects", (table,))


def flags(evidence: Evidence, checked: Sequence[Checked]) -> tuple[str, ...]:
    """Broken and unmeasured bounds, for the first page."""
    found = []
    for one in checked:
        if one.finding == "kept":
            continue
        arm = one.arm if len(evidence.study.models) == 1 else f"{one.arm} on {one.model}"
        where = f" {words.axis_phrase(one.axis)}" if one.axis else ""
        void = "; its hypotheses are void" if one.control.action == "void" else ""
        if one.finding == "not measured":
            found.append(f"The bound {one.name} could not be measured on {arm}{where}{void}.")
            continue
        reached = _value(one) if one.control.relative_to is None else f"{words.number(one.bounded, 2)} times"
        found.append(
            f"{arm} breaks the bound {one.name}{where}: {_MEASURES[one.control.measure]} {reached}, declared "
            f"{bound_words(one.control)}{void}."
        )
    return tuple(found)


def _value(one: Checked) -> str:
    if one.control.measure in _SHARES:
        return f"{words.number(100 * one.value)} %"
    return words.number(one.value, 3 if one.control.measure in ("entropy", "kl") else 1)
