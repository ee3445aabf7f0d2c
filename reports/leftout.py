"""The seeds that a comparison does without: left out by a rule of the plan, or missing."""

from __future__ import annotations

from collections.abc import Collection

from prereg.hypotheses import Hypothesis
from reports.scores import Evidence


def left_out(evidence: Evidence, hypothesis: Hypothesis, model: str) -> dict[int, str]:
    """The seeds that the plan leaves out of both arms, each with the first rule or event, in words."""
    rule = hypothesis.intercurrent
    found: dict[int, str] = {}
    for seed in evidence.study.seeds:
        for arm in (hypothesis.treatment, hypothesis.control):
            fact = evidence.run(model, arm, seed)
            if fact is None:
                continue
            if (excluded := evidence.as_run.excluded.get(fact.run_id)) is not None:
                found.setdefault(seed, f"seed {seed}: {arm} by the rule {excluded}")
            if rule.divergence == "exclude_pair" and fact.diverged:
                found.setdefault(seed, f"seed {seed}: {arm} diverged")
            if rule.crash == "exclude_pair" and fact.state == "failed":
                found.setdefault(seed, f"seed {seed}: {arm} failed")
    return found


def missing_pairs(
    evidence: Evidence, hypothesis: Hypothesis, model: str, excluded: Collection[int]
) -> dict[int, str]:
    """The pairs that failed and that the plan's `complete_cases` goes without, each in words.

    A run that was never started, or was cut off, can still be made. To count it as missing would let whoever
    looks at results stop when they please.
    """
    if evidence.study.missing.pairs != "complete_cases":
        return {}
    found: dict[int, str] = {}
    for seed in evidence.study.seeds:
        for arm in (hypothesis.treatment, hypothesis.control):
            fact = evidence.run(model, arm, seed)
            if fact is not None and fact.state == "failed" and seed not in excluded:
                note = f" ({fact.note})" if fact.note else ""
                found.setdefault(seed, f"the pair of seed {seed} is missing: {fact.run_id} failed{note}")
    return found


def too_few(evidence: Evidence, pairs: int) -> str | None:
    """Why so few pairs are not enough for the plan, or None."""
    fewest = evidence.study.missing.at_least
    if fewest is None or pairs >= fewest:
        return None
    are = "is" if pairs == 1 else "are"
    return f"the plan asks for at least {fewest} complete pairs, and {pairs} {are} there"
