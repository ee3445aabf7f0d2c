"""Adjusted p-values within a family, by Holm, by a fixed sequence and by a graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import isnan

import numpy as np

from prereg.graph import Graph, graph_of, left_over
from prereg.hypotheses import Family
from reports.inference import holm


def adjusted(family: Family, members: Sequence[str], p: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p-values by id: a member is rejected where its own is at most the family's alpha.

    A NaN is a member that could not be tested: it counts as if its p were 1, and stays NaN.
    """
    if family.method == "holm":
        return dict(zip(members, holm([p[name] for name in members]), strict=True))
    if family.method == "fixed_sequence":
        order = list(graph_of(family, members).weights)
        return dict(zip(order, fixed_sequence([p[name] for name in order]), strict=True))
    return by_graph(graph_of(family, members), p)


def fixed_sequence(p_values: Sequence[float]) -> list[float]:
    """The largest p so far, in the order of the sequence: a member waits for all before it."""
    p = np.asarray(p_values, dtype=np.float64)
    highest = np.maximum.accumulate(np.where(np.isnan(p), 1.0, p))
    return [float(value) for value in np.where(np.isnan(p), np.nan, highest)]


def by_graph(graph: Graph, p: Mapping[str, float]) -> dict[str, float]:
    """Bretz, Maurer, Brannath and Posch (2009), algorithm 2.

    The member whose p is smallest for its share goes first, and hands on its share.
    """
    counted = {name: 1.0 if isnan(p[name]) else p[name] for name in graph.weights}
    result: dict[str, float] = {}
    highest = 0.0
    while graph.weights:
        ratios = {
            name: counted[name] / weight if weight > 0 else float("inf")
            for name, weight in graph.weights.items()
        }
        first = min(ratios, key=lambda name: ratios[name])
        highest = max(highest, min(1.0, ratios[first]))
        result[first] = float("nan") if isnan(p[first]) else highest
        graph = graph.without(first)
    return result


def unreached(family: Family, members: Sequence[str], rejected: Collection[str]) -> tuple[str, ...]:
    """Members to which no part of alpha has come once the rejected ones have handed theirs on."""
    left = left_over(graph_of(family, members), rejected)
    return tuple(name for name, weight in left.weights.items() if weight == 0)
