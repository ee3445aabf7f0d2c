"""When a study ends: after a fixed number of seeds, or at one of several looks that its plan declares."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from prereg.fields import Count, Section


class Look(Section):
    """One planned look at the results."""

    seeds: Count
    """The look is made on the first so many seeds of the study's list, in both arms of each hypothesis."""
    share: Annotated[float, Field(ge=0.001, le=1)]
    """Part of each hypothesis' alpha that is spent at this look: a thousandth at least."""


class FixedSeeds(Section):
    """Every seed is run, and results are judged once."""

    kind: Literal["fixed"] = "fixed"


class GroupSequential(Section):
    """Results are judged at declared looks, and a hypothesis that one decides needs no further seeds.

    At each look the test must reach its own share of alpha, so that all looks together err no more often than
    one test at alpha (docs/statistics.md).
    """

    kind: Literal["group_sequential"]
    looks: Annotated[tuple[Look, ...], Field(min_length=1)]
    """In the order of their seeds, the last after all of them. The shares sum to at most 1."""


Stopping = Annotated[FixedSeeds | GroupSequential, Field(discriminator="kind")]
"""When a study ends."""


def looks_of(stopping: FixedSeeds | GroupSequential, seeds: int) -> tuple[Look, ...]:
    """The looks of a plan with so many seeds: those that it declares, or one at the end with all of alpha."""
    if isinstance(stopping, GroupSequential):
        return stopping.looks
    return (Look(seeds=seeds, share=1.0),)


def stopping_rule(stopping: FixedSeeds | GroupSequential) -> str:
    """When a study with these looks ends, in words; empty where the number of seeds is fixed."""
    if not isinstance(stopping, GroupSequential):
        return ""
    looks = ", ".join(
        f"look {number} after {look.seeds} seeds at {100 * look.share:.3g} % of alpha"
        for number, look in enumerate(stopping.looks, start=1)
    )
    return (
        f"Looks, planned: {looks}. A p counts divided by its look's share. A hypothesis is decided at the "
        "first look that shows or refutes it, and needs no further seeds; when all are decided, the study "
        "stops."
    )
