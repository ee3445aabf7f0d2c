"""Families and gates: in what order hypotheses are tested, and at which shared error rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from prereg.explain import did_you_mean
from prereg.graph import ROUNDING
from prereg.levels import members_of, waits_for
from prereg.problems import Problem
from prereg.source import LoadedStudy


def gates_have_no_cycle(loaded: LoadedStudy) -> Iterator[Problem]:
    """Following the gates from any hypothesis must come to an end, or it could never be tested.

    The hypothesis before another in a fixed sequence gates it as well.
    """
    before = waits_for(loaded.study)
    reported: set[str] = set()
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        circle = _way_back(before, hypothesis.id)
        if circle and hypothesis.id not in reported:
            reported |= set(circle)
            shown = " -> ".join(f"`{name}`" for name in circle)
            field = "gate" if hypothesis.gate is not None else "family"
            hint = "None of them could ever be tested: remove one of these gates, or reorder the sequence."
            yield loaded.problem(f"the gates form a circle: {shown}", "hypotheses", index, field, hint=hint)


def _way_back(before: Mapping[str, tuple[str, ...]], start: str) -> tuple[str, ...]:
    """The way along gates from a hypothesis back to it; empty if there is none."""
    seen: set[str] = set()
    waiting: list[tuple[str, ...]] = [(start,)]
    while waiting:
        walk = waiting.pop()
        for name in before.get(walk[-1], ()):
            if name == start:
                return (*walk, start)
            if name not in seen:
                seen.add(name)
                waiting.append((*walk, name))
    return ()


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


def fields_fit_the_method(loaded: LoadedStudy) -> Iterator[Problem]:
    """`order` belongs to a fixed sequence, `weights` and `transitions` to a graph."""
    for name, family in loaded.study.families.items():
        for field, method in (("order", "fixed_sequence"), ("weights", "graph"), ("transitions", "graph")):
            if getattr(family, field) and family.method != method:
                message = f"`{field}` has no meaning for the method `{family.method}`"
                hint = f"Remove it, or set `method: {method}`."
                yield loaded.problem(message, "families", name, field, hint=hint)


def sequence_names_its_members_once(loaded: LoadedStudy) -> Iterator[Problem]:
    """The order of a fixed sequence holds each member exactly once."""
    for name, family in loaded.study.families.items():
        if family.method != "fixed_sequence":
            continue
        members = members_of(loaded.study, name)
        hint = f"`order` must hold each of {_listed(members)} once." if members else None
        for member, count in Counter(family.order).items():
            place = family.order.index(member)
            if member not in members:
                message = f"`{member}` is no member of the family `{name}`"
                yield loaded.problem(message, "families", name, "order", place, hint=hint)
            elif count > 1:
                last = len(family.order) - 1 - family.order[::-1].index(member)
                message = f"`{member}` stands {count} times in the order of the family `{name}`"
                yield loaded.problem(message, "families", name, "order", last, hint=hint)
        if missing := [member for member in members if member not in family.order]:
            message = f"the order of the family `{name}` leaves out {_listed(missing)}"
            yield loaded.problem(message, "families", name, "order", hint=hint)


def graph_weights_fit(loaded: LoadedStudy) -> Iterator[Problem]:
    """The weights of a graph are those of its members, and share out at most the whole alpha."""
    for name, family in loaded.study.families.items():
        if family.method != "graph":
            continue
        members = members_of(loaded.study, name)
        path = ("families", name, "weights")
        for member in family.weights:
            if member not in members:
                hint = did_you_mean(member, members)
                message = f"`{member}` is no member of the family `{name}`"
                yield loaded.problem(message, *path, member, hint=hint, at_key=True)
        if missing := [member for member in members if member not in family.weights]:
            hint = "Give each member its share of alpha; 0 for one that waits for others."
            yield loaded.problem(
                f"the weights of the family `{name}` leave out {_listed(missing)}", *path, hint=hint
            )
        if (total := sum(family.weights.values())) > 1 + ROUNDING:
            message = f"the weights of the family `{name}` sum to {total:g}, more than its alpha"
            yield loaded.problem(message, *path, hint="Together they may be 1 at most.")


def graph_transitions_fit(loaded: LoadedStudy) -> Iterator[Problem]:
    """A transition leads from one member to another, and no member hands on more than it has."""
    for name, family in loaded.study.families.items():
        if family.method != "graph":
            continue
        members = members_of(loaded.study, name)
        for giver, takers in family.transitions.items():
            path = ("families", name, "transitions", giver)
            for member, where in ((giver, path), *((taker, (*path, taker)) for taker in takers)):
                if member not in members:
                    message = f"`{member}` is no member of the family `{name}`"
                    hint = did_you_mean(member, members)
                    yield loaded.problem(message, *where, hint=hint, at_key=True)
            if giver in takers:
                message = f"`{giver}` hands a share to itself"
                hint = "A member that was rejected needs no level any more."
                yield loaded.problem(message, *path, giver, hint=hint, at_key=True)
            if (total := sum(takers.values())) > 1 + ROUNDING:
                message = f"`{giver}` hands on {total:g} times its level"
                yield loaded.problem(message, *path, hint="Its transitions may sum to 1 at most.")


def _listed(names: Collection[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
