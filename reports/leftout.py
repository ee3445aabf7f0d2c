"""The seeds that a comparison does without: left out by a rule of the plan, or missing."""

from __future__ import annotations

from collections.abc import Collection

from prereg.hypotheses import Hypothesis
from reports.inputs import RunFact
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


def is_missing(evidence: Evidence, run: RunFact) -> bool:
    """Whether the plan goes without a run: it failed, and is not tried again."""
    goes_without = evidence.study.missing.pairs == "complete_cases"
    return goes_without and run.state == "failed" and run.for_good


def missing_pairs(
    evidence: Evidence, hypothesis: Hypothesis, model: str, excluded: Collection[int]
) -> dict[int, str]:
    """The pairs that failed for good and that the plan's `complete_cases` goes without, each in words.

    A run that was never started, was cut off or failed once can still be made. To count it as missing would
    let whoever looks at results stop when they please.
    """
    found: dict[int, str] = {}
    for seed in evidence.study.seeds:
        for arm in (hypothesis.treatment, hypothesis.control):
            fact = evidence.run(model, arm, seed)
            if fact is not None and is_missing(evidence, fact) and seed not in excluded:
                words = f"the pair of seed {seed} is missing: {fact.run_id} failed for good{fact.why}"
                found.setdefault(seed, words)
    return found


def too_few(evidence: Evidence, pairs: int) -> str | None:
    """Why so few pairs are not enough for the plan, or None."""
    rule = evidence.study.missing
    fewest = rule.at_least or (2 if rule.pairs == "complete_cases" else 0)
    if pairs >= fewest:
        return None
    are = "is" if pairs == 1 else "are"
    return f"the plan asks for at least {fewest} complete pairs, and {pairs} {are} there"
