"""Each hypothesis with its verdict, in words that can be quoted."""

from __future__ import annotations

from math import isnan

from prereg.hypotheses import CrossedSatterthwaite, Hypothesis
from reports import words
from reports.comparisons import Comparison, model_of
from reports.content import Estimate, ForestRow, HypothesisResult
from reports.intervals import Interval
from reports.scores import Evidence
from reports.verdicts import Verdict

_SAID = {
    "CONFIRMED": "the claim is confirmed",
    "REFUTED": "the claim is refuted",
    "INCONCLUSIVE": "the data do not decide the claim",
    "NOT_TESTED": "the claim was not tested",
    "INADMISSIBLE": "the claim cannot be judged",
}


def result(
    evidence: Evidence, hypothesis: Hypothesis, comparison: Comparison, verdict: Verdict
) -> HypothesisResult:
    """Everything the report says of one hypothesis."""
    return HypothesisResult(
        id=hypothesis.id,
        statement=hypothesis.statement,
        role=hypothesis.role,
        estimand=_estimand(evidence, hypothesis),
        test=_test(hypothesis, verdict),
        effect=comparison.effect,
        other=comparison.other,
        per_seed=tuple(zip(comparison.seeds, comparison.per_seed, strict=True)),
        p=verdict.p,
        p_adjusted=verdict.p_adjusted,
        family=hypothesis.family,
        word=verdict.word,
        outcome=verdict.outcome,
        reasons=verdict.reasons,
        sentence=_sentence(evidence, hypothesis, comparison, verdict),
        means=_means(hypothesis, comparison),
    )


def forest_row(hypothesis: Hypothesis, one: HypothesisResult) -> ForestRow | None:
    """The hypothesis's line on the first chart; None if it has no effect to show."""
    if one.effect is None:
        return None
    mark = None
    if hypothesis.smallest_effect > 0 and hypothesis.direction != "two_sided":
        mark = hypothesis.smallest_effect * (-1 if hypothesis.direction == "less" else 1)
    estimate = Estimate(one.effect.estimate, one.effect.low, one.effect.high)
    return ForestRow(one.id, estimate, mark, one.word)


def summary(results: tuple[HypothesisResult, ...]) -> str:
    """One sentence that counts the verdicts; deviated and unregistered ones with their outcomes."""
    if not results:
        return "The study registers no hypothesis: everything in this report is description."
    names = {"NOT_TESTED": "not tested"}
    order = ("CONFIRMED", "REFUTED", "INCONCLUSIVE", "NOT_TESTED", "INADMISSIBLE")
    counts = [(sum(one.outcome == outcome for one in results), outcome) for outcome in order]
    parts = tuple(f"{count} {names.get(outcome, outcome.lower())}" for count, outcome in counts if count)
    noun = "hypothesis" if len(results) == 1 else "hypotheses"
    words_used = {one.word for one in results}
    if "UNREGISTERED" in words_used:
        return f"No result here is registered. By itself, of {len(results)} {noun}: {words.joined(parts)}."
    if "DEVIATED" in words_used:
        return (
            f"The study deviates from its lock. By itself, of {len(results)} {noun}: {words.joined(parts)}."
        )
    return f"Of {len(results)} registered {noun}: {words.joined(parts)}."


def _benchmarks(evidence: Evidence, hypothesis: Hypothesis) -> tuple[str, ...]:
    return tuple(evidence.study.weights(hypothesis.benchmarks))


def _metric(evidence: Evidence, hypothesis: Hypothesis) -> str:
    names = _benchmarks(evidence, hypothesis)
    samples = tuple(evidence.study.data.benchmarks[name].samples for name in names)
    return words.metric_name(hypothesis.metric, samples)


def _where(evidence: Evidence, hypothesis: Hypothesis) -> str:
    budget = evidence.study.budget.declared().get(hypothesis.matched_on)
    amount = "no budget declared" if budget is None else f"budget {words.compact(budget)}"
    return f"{words.axis_phrase(hypothesis.matched_on)} ({amount})"


def _estimand(evidence: Evidence, hypothesis: Hypothesis) -> str:
    names = _benchmarks(evidence, hypothesis)
    several = len(set(evidence.study.weights(hypothesis.benchmarks).values())) > 1
    over = f"the {'weighted' if several else 'equally weighted'} mean of {words.joined(names)}"
    problems = "these problems" if hypothesis.population.problems == "fixed" else "problems like these"
    model = f" on {model_of(evidence, hypothesis)}" if len(evidence.study.models) > 1 else ""
    return (
        f"{hypothesis.treatment} minus {hypothesis.control}{model}, {_metric(evidence, hypothesis)} in "
        f"percentage points over {over if len(names) > 1 else names[0]}, {_where(evidence, hypothesis)}; "
        f"paired by seed, over training seeds on {problems}. Truncated answers count as wrong, interrupted "
        "runs are resumed, diverged runs are kept."
    )


def _test(hypothesis: Hypothesis, verdict: Verdict) -> str:
    name = (
        "seeds × problems with Satterthwaite df"
        if isinstance(hypothesis.test, CrossedSatterthwaite)
        else "paired t"
    )
    sides = "two-sided" if hypothesis.direction == "two_sided" else f"one-sided ({hypothesis.direction})"
    null = "no effect"
    if hypothesis.decision == "exceeds_smallest_effect":
        null = f"an effect no larger than {words.number(hypothesis.smallest_effect)} points"
    family = f", Holm over the family {hypothesis.family}" if hypothesis.family else ""
    return f"{name}, {sides}, against {null}, at alpha {verdict.alpha:g}{family}"


def _sentence(evidence: Evidence, hypothesis: Hypothesis, comparison: Comparison, verdict: Verdict) -> str:
    effect = comparison.effect
    said = _said(verdict)
    if effect is None or verdict.outcome in ("NOT_TESTED", "INADMISSIBLE"):
        return f"{_head(verdict)}{said}: {_first(verdict.reasons)}."
    where = _where(evidence, hypothesis)
    size = words.number(abs(effect.estimate))
    way = "above" if effect.estimate >= 0 else "below"
    metric = _metric(evidence, hypothesis)
    body = (
        f"{where[0].upper()}{where[1:]}, {hypothesis.treatment} scored {size} points {way} "
        f"{hypothesis.control} on {metric} ({words.interval_text(effect)}; {method_line(effect)}; "
        f"{_p_words(hypothesis, verdict)}); {said}."
    )
    return f"{_head(verdict)}{body}"


def _said(verdict: Verdict) -> str:
    """What follows for the claim; a test that nobody registered confirms and refutes nothing."""
    if verdict.outcome in ("NOT_TESTED", "INADMISSIBLE"):
        return _SAID[verdict.outcome]
    if verdict.word == "UNREGISTERED":
        return "the claim was not registered, so this neither confirms nor refutes it"
    return f"{'by the statistics alone, ' if verdict.word == 'DEVIATED' else ''}{_SAID[verdict.outcome]}"


def _head(verdict: Verdict) -> str:
    if verdict.word == "UNREGISTERED":
        return "Not registered: "
    return "Deviates from the lock: " if verdict.word == "DEVIATED" else ""


def _first(reasons: tuple[str, ...]) -> str:
    if not reasons:
        return "no reason was recorded"
    more = len(reasons) - 1
    return reasons[0] if not more else f"{reasons[0]} (and {words.plural(more, 'further reason')})"


def _p_words(hypothesis: Hypothesis, verdict: Verdict) -> str:
    if isnan(verdict.p):
        return "p not estimable"
    sides = "two-sided" if hypothesis.direction == "two_sided" else "one-sided"
    text = f"{sides} {words.p_equation(verdict.p)}"
    return f"{text}, {words.p_equation(verdict.p_adjusted, 'Holm-adjusted p')}" if hypothesis.family else text


def _means(hypothesis: Hypothesis, comparison: Comparison) -> str:
    if comparison.effect is None:
        return ""
    one, other = comparison.treatment_updates, comparison.control_updates
    return (
        f"{hypothesis.treatment} {words.number(comparison.treatment_mean)} % after {_updates(one)}; "
        f"{hypothesis.control} {words.number(comparison.control_mean)} % after {_updates(other)}"
    )


def _updates(counts: tuple[int, ...]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,} updates" if low == high else f"{low:,} to {high:,} updates"


def interval_line(interval: Interval) -> str:
    """An interval with its method, its df and what it speaks of."""
    return f"{words.interval_text(interval)} ({method_line(interval)})"


def method_line(interval: Interval) -> str:
    """How an interval was made and what it speaks of."""
    return f"{interval.method}, df {words.df_text(interval.df)}, for {interval.generalises_to}"
