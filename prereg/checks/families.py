"""Families and gates: in what order hypotheses are tested, and at which shared error rate."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.problems import Problem
from prereg.source import LoadedStudy


def gates_have_no_cycle(loaded: LoadedStudy) -> Iterator[Problem]:
    """Following the gates from any hypothesis must come to an end, or it could never be tested."""
    gates = {h.id: h.gate for h in loaded.study.hypotheses if h.gate is not None}
    reported: set[str] = set()
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        walk: list[str] = [hypothesis.id]
        while walk[-1] in gates and gates[walk[-1]] not in walk:
            walk.append(gates[walk[-1]])
        if gates.get(walk[-1]) == hypothesis.id and hypothesis.id not in reported:
            reported |= set(walk)
            circle = " -> ".join(f"`{name}`" for name in (*walk, hypothesis.id))
            message = f"the gates form a circle: {circle}"
            yield loaded.problem(
                message, "hypotheses", index, "gate", hint="None of them could ever be tested."
            )


def families_are_used(loaded: LoadedStudy) -> Iterator[Problem]:
    """A family without members corrects nothing: its name was probably mistyped."""
    used = {hypothesis.family for hypothesis in loaded.study.hypotheses}
    for name in loaded.study.families:
        if name not in used:
            hint = f"Write `family: {name}` in its hypotheses, or remove it."
            yield loaded.problem(
                f"no hypothesis belongs to the family `{name}`", "families", name, hint=hint, at_key=True
            )


def members_share_the_alpha(loaded: LoadedStudy) -> Iterator[Problem]:
    """The error rate of a family is one number, so its members may not state another."""
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        family = loaded.study.families.get(hypothesis.family or "")
        if family is not None and hypothesis.alpha != family.alpha:
            message = (
                f"hypothesis `{hypothesis.id}` has alpha {hypothesis.alpha}, "
                f"its family `{hypothesis.family}` {family.alpha}"
            )
            hint = "Write the family's alpha in both places."
            yield loaded.problem(message, "hypotheses", index, "alpha", hint=hint)
