"""Levels that hypotheses of a family hold and hand on: the graphs of Bretz et al. (2009).

A member starts with a share of the family's alpha. When it is rejected it hands its share to the others along
the graph's transitions. Holm's method and a fixed sequence are graphs as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from prereg.hypotheses import Family

ROUNDING = 1e-9
"""By how much a sum of shares may exceed 1: three thirds written with a few digits are meant as a whole."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Shares of alpha, and which share of its level each member hands to each other when it is rejected."""

    weights: Mapping[str, float]
    transitions: Mapping[str, Mapping[str, float]]
    """By giver, then taker; a pair that is left out has 0."""

    def without(self, gone: str) -> Graph:
        """The graph after the rejection of a member (Bretz et al. 2009, algorithm 1)."""
        handed = self.transitions.get(gone, {})
        weights = {
            name: weight + self.weights[gone] * handed.get(name, 0.0)
            for name, weight in self.weights.items()
            if name != gone
        }
        transitions = {
            giver: _rerouted(giver, row, gone, handed) if gone in row else row
            for giver, row in self.transitions.items()
            if giver != gone
        }
        return Graph(weights, transitions)


def _rerouted(
    giver: str, row: Mapping[str, float], gone: str, handed: Mapping[str, float]
) -> dict[str, float]:
    """What went through the member that is gone goes straight on, as does what would have come back."""
    round_trip = row[gone] * handed.get(giver, 0.0)
    if 1 - round_trip < ROUNDING:
        return {}
    takers = [name for name in dict.fromkeys((*row, *handed)) if name not in (giver, gone)]
    return {
        taker: (row.get(taker, 0.0) + row[gone] * handed.get(taker, 0.0)) / (1 - round_trip)
        for taker in takers
    }


def holm_graph(members: Sequence[str]) -> Graph:
    """Holm's method: equal shares, and each hands on its share in equal parts."""
    count = len(members)
    handed = {giver: {taker: 1 / (count - 1) for taker in members if taker != giver} for giver in members}
    return Graph(dict.fromkeys(members, 1 / count), handed)


def sequence_graph(order: Sequence[str]) -> Graph:
    """A fixed sequence: the first holds everything, and each hands it to the next."""
    following = {one: {after: 1.0} for one, after in itertools.pairwise(order)}
    return Graph({name: float(place == 0) for place, name in enumerate(order)}, following)


def graph_of(family: Family, members: Sequence[str]) -> Graph:
    """The graph of a family whose hypotheses are `members`; a member that it does not name has share 0."""
    if family.method == "holm":
        return holm_graph(members)
    if family.method == "fixed_sequence":
        order = dict.fromkeys(name for name in (*family.order, *members) if name in members)
        return sequence_graph(list(order))
    weights = {name: family.weights.get(name, 0.0) for name in members}
    return Graph(weights, family.transitions)


def left_over(graph: Graph, rejected: Collection[str]) -> Graph:
    """The graph when all of `rejected` are; the order in which they go does not matter."""
    for name in sorted(rejected):
        graph = graph.without(name)
    return graph


def share_to_reach(graph: Graph, member: str) -> float:
    """The share of alpha at which a plan must be able to reject a member.

    Its own at the start; a member that starts with nothing has what it holds when all others are rejected.
    """
    if graph.weights[member] > 0:
        return graph.weights[member]
    return left_over(graph, [name for name in graph.weights if name != member]).weights[member]
