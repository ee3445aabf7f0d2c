"""What a plan demands of a test: the level that its family leaves it, and the smallest p it can give."""

from __future__ import annotations

import itertools

from prereg.graph import graph_of, share_to_reach
from prereg.hypotheses import Hypothesis
from prereg.study import Study
from prereg.testkinds import BinomialScoreboard, SignFlip


def members_of(study: Study, family: str) -> tuple[str, ...]:
    """Ids of the hypotheses of a family, in the study's order."""
    return tuple(h.id for h in study.hypotheses if h.family == family)


def waits_for(study: Study) -> dict[str, tuple[str, ...]]:
    """The hypotheses that must be confirmed before each may be tested: its gate, and the one before it in a
    fixed sequence."""
    before = {h.id: [h.gate] if h.gate is not None else [] for h in study.hypotheses}
    for name, family in study.families.items():
        if family.method == "fixed_sequence":
            members = members_of(study, name)
            order = list(dict.fromkeys(member for member in family.order if member in members))
            for one, after in itertools.pairwise(order):
                before[after].append(one)
    return {name: tuple(dict.fromkeys(gates)) for name, gates in before.items()}


def share_of_alpha(study: Study, hypothesis: Hypothesis) -> float:
    """The share of alpha that must suffice a hypothesis, whatever the other members give.

    1 without a family and in a fixed sequence, 1 / members by Holm, and by the graph otherwise.
    """
    family = study.families.get(hypothesis.family or "")
    if family is None or hypothesis.family is None:
        return 1.0
    return share_to_reach(graph_of(family, members_of(study, hypothesis.family)), hypothesis.id)


def smallest_p(hypothesis: Hypothesis, seeds: int) -> float:
    """The smallest p that the test can give, however clear the data; 0 where there is no such floor."""
    if isinstance(hypothesis.test, SignFlip):
        return 2.0 ** -(seeds - (hypothesis.direction == "two_sided"))
    if isinstance(hypothesis.test, BinomialScoreboard):
        return 2.0 ** -len(set(hypothesis.test.predictions))
    return 0.0
