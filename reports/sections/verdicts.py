"""Each hypothesis with its verdict, in words that can be quoted."""

from __future__ import annotations

from math import isnan

from prereg.hypotheses import Hypothesis
from prereg.stopping import GroupSequential
from prereg.testkinds import BinomialScoreboard, SignFlip
from reports import words
from reports.comparisons import Comparison, model_of
from reports.content import Estimate, ForestRow, HypothesisResult
from reports.decisions import sensitivity
from reports.intervals import Interval
from reports.looks import Standing
from reports.scoreboard import LEVEL, Score
from reports.scores import Evidence
from reports.sections.looks import spent_words, standing_words
from reports.verdicts import SHOWN, Outcome, Verdict

_SAID = {
    "CONFIRMED": "the claim is confirmed",
    "REFUTED": "the claim is refuted",
    "EQUIVALENT": "the claim of equivalence is confirmed",
    "NON_INFERIOR": "the claim of non-inferiority is confirmed",
    "INCONCLUSIVE": "the data do not decide the claim",
    "NOT_TESTED": "the claim was not tested",
    "INADMISSIBLE": "the claim cannot be judged",
}

_TESTS = {
    "paired_t": "paired t",
    "crossed_satterthwaite": "seeds × problems with Satterthwaite df",
    "sign_flip": "exact sign flips over seeds (the interval is the paired t's)",
    "tost": "two one-sided t tests (TOST)",
    "non_inferiority": "one-sided t test",
}
_P_NAMES = {
    "sign_flip": "sign-flip p",
    "tost": "TOST p",
    "binomial_scoreboard": "p (as if independent)",
}
_CRASH = {"resume": "", "exclude_pair": " (the seed of one that failed for good is left out of both arms)"}
_DIVERGENCE = {
    "include": "diverged runs are kept",
    "exclude_pair": "the seed of a diverged run is left out of both arms",
}
_COUNTED = {"NON_INFERIOR": "non-inferior", "NOT_TESTED": "not tested"}
_METHODS = {
    "holm": "Holm over the family",
    "fixed_sequence": "in the fixed sequence of the family",
    "graph": "by the graph of the family",
}
_ADJUSTED = {"holm": "Holm", "fixed_sequence": "sequence", "graph": "graph"}


def result(
    evidence: Evidence,
    hypothesis: Hypothesis,
    comparison: Comparison,
    verdict: Verdict,
    standing: Standing,
) -> HypothesisResult:
    """Everything the report says of one hypothesis."""
    look = standing_words(evidence.study, standing)
    return HypothesisResult(
        id=hypothesis.id,
        statement=hypothesis.statement,
        role=hypothesis.role,
        estimand=_estimand(evidence, hypothesis, comparison),
        test=_test(evidence, hypothesis, verdict),
        effect=comparison.effect,
        other=comparison.other,
        per_seed=tuple(zip(comparison.seeds, comparison.per_seed, strict=True)),
        score="" if verdict.score is None else _score(verdict.score),
        p=verdict.p,
        p_name=_p_name(hypothesis, over_looks=bool(standing.made)),
        p_adjusted=verdict.p_adjusted,
        adjusted_name=_adjusted_name(evidence, hypothesis),
        sensitivity=sensitivity(evidence.study, hypothesis, comparison),
        family=hypothesis.family,
        word=verdict.word,
        outcome=verdict.outcome,
        reasons=(*verdict.reasons, *comparison.missing),
        sentence=_sentence(evidence, hypothesis, comparison, verdict, look),
        means=_means(hypothesis, comparison),
        measured=_measured(evidence, hypothesis),
        look=look,
    )


def forest_row(hypothesis: Hypothesis, one: HypothesisResult) -> ForestRow | None:
    """The hypothesis's line on the first chart; None if it has no effect to show."""
    if one.effect is None:
        return None
    mark = other = None
    if hypothesis.margin is not None:
        mark = -hypothesis.margin
        other = hypothesis.margin if hypothesis.direction == "equivalent" else None
    elif hypothesis.smallest_effect > 0 and hypothesis.direction != "two_sided":
        mark = hypothesis.smallest_effect * (-1 if hypothesis.direction == "less" else 1)
    estimate = Estimate(one.effect.estimate, one.effect.low, one.effect.high)
    return ForestRow(one.id, estimate, mark, one.word, other)


def summary(results: tuple[HypothesisResult, ...]) -> str:
    """One sentence that counts the verdicts; deviated and unregistered ones with their outcomes."""
    if not results:
        return "The study registers no hypothesis: everything in this report is description."
    order: tuple[Outcome, ...] = (*SHOWN, "REFUTED", "INCONCLUSIVE", "NOT_TESTED", "INADMISSIBLE")
    counts = [(sum(one.outcome == outcome for one in results), outcome) for outcome in order]
    parts = tuple(f"{count} {_COUNTED.get(outcome, outcome.lower())}" for count, outcome in counts if count)
    noun = "hypothesis" if len(results) == 1 else "hypotheses"
    words_used = {one.word for one in results}
    if "UNREGISTERED" in words_used:
        return f"No result here is registered. By itself, of {len(results)} {noun}: {words.joined(parts)}."
    deviated = sum(one.word == "DEVIATED" for one in results)
    if 0 < deviated < len(results):
        verb = "deviates" if deviated == 1 else "deviate"
        return (
            f"Of {len(results)} {noun}, {deviated} {verb} from what was locked first. By themselves, of all: "
            f"{words.joined(parts)}."
        )
    if deviated:
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


def _measured(evidence: Evidence, hypothesis: Hypothesis) -> str:
    """What the effect is of: `mcpo less grpo, pass@4 on hard, at equal updates; claimed: greater`."""
    if isinstance(hypothesis.test, BinomialScoreboard):
        return ""
    names, every = _benchmarks(evidence, hypothesis), evidence.study.data.benchmarks
    over = "all benchmarks" if len(names) == len(every) > 1 else words.joined(names)
    return (
        f"{hypothesis.treatment} less {hypothesis.control}, {_metric(evidence, hypothesis)} on {over}, "
        f"{words.axis_phrase(hypothesis.matched_on)}; claimed: {hypothesis.direction.replace('_', '-')}"
    )


def _where(evidence: Evidence, hypothesis: Hypothesis) -> str:
    budget = evidence.study.budget.declared().get(hypothesis.matched_on)
    amount = "no budget declared" if budget is None else f"budget {words.compact(budget)}"
    return f"{words.axis_phrase(hypothesis.matched_on)} ({amount})"


def _estimand(evidence: Evidence, hypothesis: Hypothesis, comparison: Comparison) -> str:
    if isinstance(hypothesis.test, BinomialScoreboard):
        return (
            f"how many of {words.plural(len(hypothesis.test.predictions), 'prediction')} "
            f"({words.joined(hypothesis.test.predictions)}) come out right; a prediction is right when its "
            "observed effect lies on the stated side of its null, significant or not"
        )
    names = _benchmarks(evidence, hypothesis)
    several = len(set(evidence.study.weights(hypothesis.benchmarks).values())) > 1
    over = f"the {'weighted' if several else 'equally weighted'} mean of {words.joined(names)}"
    problems = "these problems" if hypothesis.population.problems == "fixed" else "problems like these"
    model = f" on {model_of(evidence, hypothesis)}" if len(evidence.study.models) > 1 else ""
    return (
        f"{hypothesis.treatment} minus {hypothesis.control}{model}, {_metric(evidence, hypothesis)} in "
        f"percentage points over {over if len(names) > 1 else names[0]}, {_where(evidence, hypothesis)}; "
        f"paired by seed, over training seeds on {problems}. Truncated answers count as wrong, interrupted "
        f"runs are resumed{_CRASH[hypothesis.intercurrent.crash]}, "
        f"{_DIVERGENCE[hypothesis.intercurrent.divergence]}.{_left_out(comparison)}"
    )


def _left_out(comparison: Comparison) -> str:
    """What the comparison does without, each by name."""
    out = f" Left out by the plan: {'; '.join(comparison.excluded)}." if comparison.excluded else ""
    return f"{out} On the complete pairs: {'; '.join(comparison.missing)}." if comparison.missing else out


def _test(evidence: Evidence, hypothesis: Hypothesis, verdict: Verdict) -> str:
    family = evidence.study.families.get(hypothesis.family or "")
    within = "" if family is None else f", {_METHODS[family.method]} {hypothesis.family}"
    if isinstance(hypothesis.test, BinomialScoreboard):
        return (
            "exact binomial, one-sided (greater), against one half by chance, as if predictions were "
            f"independent, which predictions about the same runs are not; at alpha {verdict.alpha:g}{within}"
        )
    alpha = f"alpha {verdict.alpha:g}{spent_words(evidence.study)}"
    return f"{_TESTS[hypothesis.test.kind]}{_null(hypothesis)}, at {alpha}{within}"


def _null(hypothesis: Hypothesis) -> str:
    bound = words.number(hypothesis.bound, _digits(hypothesis.bound))
    if hypothesis.direction == "equivalent":
        over = "over seeds and problems" if hypothesis.over_problems else "over seeds"
        return f" {over}, against a difference of {bound} points or more, either way"
    if hypothesis.direction == "non_inferior":
        over = "over seeds and problems" if hypothesis.over_problems else "over seeds"
        return f" {over}, against a loss of {bound} points or more"
    sides = "two-sided" if hypothesis.direction == "two_sided" else f"one-sided ({hypothesis.direction})"
    null = "no effect" if hypothesis.bound == 0 else f"an effect no larger than {bound} points"
    return f", {sides}, against {null}"


def _sentence(
    evidence: Evidence, hypothesis: Hypothesis, comparison: Comparison, verdict: Verdict, look: str
) -> str:
    effect = comparison.effect
    said = _said(hypothesis, verdict)
    if verdict.outcome in ("NOT_TESTED", "INADMISSIBLE"):
        return f"{_head(verdict)}{said}: {_first(verdict.reasons)}."
    p = _p_words(evidence, hypothesis, verdict)
    if verdict.score is not None:
        return f"{_head(verdict)}{_score(verdict.score, f'{p}, as if independent')}; {said}."
    if effect is None:
        return f"{_head(verdict)}{said}: {_first(verdict.reasons)}."
    where = _where(evidence, hypothesis)
    size = words.number(abs(effect.estimate))
    way = "above" if effect.estimate >= 0 else "below"
    metric = _metric(evidence, hypothesis)
    body = (
        f"{where[0].upper()}{where[1:]}, {hypothesis.treatment} scored {size} points {way} "
        f"{hypothesis.control} on {metric} ({words.interval_text(effect)}; {method_line(effect)}; "
        f"{p}); {said}{f'; {look}' if look else ''}."
    )
    return f"{_head(verdict)}{body}"


def _said(hypothesis: Hypothesis, verdict: Verdict) -> str:
    """What follows for the claim; a test that nobody registered confirms and refutes nothing."""
    if verdict.outcome in ("NOT_TESTED", "INADMISSIBLE"):
        return _SAID[verdict.outcome]
    if verdict.word == "UNREGISTERED":
        return "the claim was not registered, so this neither confirms nor refutes it"
    alone = "by the statistics alone, " if verdict.word == "DEVIATED" else ""
    return f"{alone}{_within_margin(hypothesis, verdict.outcome) or _SAID[verdict.outcome]}"


def _within_margin(hypothesis: Hypothesis, outcome: Outcome) -> str | None:
    """What follows for a claim about a margin: to come near is not to be shown equivalent."""
    margin = f"{words.number(hypothesis.bound, _digits(hypothesis.bound))} points"
    if hypothesis.direction == "equivalent":
        return {
            "EQUIVALENT": f"shown equivalent within {margin}",
            "REFUTED": f"shown to differ by more than {margin}: the claim of equivalence is refuted",
        }.get(outcome, f"not shown equivalent within {margin}")
    if hypothesis.direction == "non_inferior":
        return {
            "NON_INFERIOR": f"shown to lose less than {margin}",
            "REFUTED": f"shown to lose more than {margin}: the claim of non-inferiority is refuted",
        }.get(outcome, f"not shown non-inferior by a margin of {margin}")
    return None


def _score(score: Score, *more: str) -> str:
    """`5 of 6 predictions came out right (83.3 %, Clopper–Pearson 95 % interval 35.9 % to 99.6 %)`.

    `more` follows within the parentheses.
    """
    right = len(score.right)
    interval = (
        f"{words.number(100 * right / score.of)} %, Clopper{words.DASH}Pearson {100 * LEVEL:g} % interval "
        f"{words.number(100 * score.low)} % to {words.number(100 * score.high)} %"
    )
    wrong = (f"wrong: {words.joined(score.wrong)}",) if score.wrong else ()
    inside = "; ".join((interval, *wrong, *more))
    return f"{right} of {words.plural(score.of, 'prediction')} came out right ({inside})"


def _digits(value: float) -> int:
    """One decimal, or as many as a declared number has, up to four."""
    return next((digits for digits in (1, 2, 3) if round(value, digits) == value), 4)


def _head(verdict: Verdict) -> str:
    if verdict.word == "UNREGISTERED":
        return "Not registered: "
    return "Deviates from the lock: " if verdict.word == "DEVIATED" else ""


def _first(reasons: tuple[str, ...]) -> str:
    if not reasons:
        return "no reason was recorded"
    more = len(reasons) - 1
    return reasons[0] if not more else f"{reasons[0]} (and {words.plural(more, 'further reason')})"


def _p_words(evidence: Evidence, hypothesis: Hypothesis, verdict: Verdict) -> str:
    if isnan(verdict.p):
        return "p not estimable"
    kind = {"two_sided": "two-sided p", "equivalent": "TOST p"}.get(hypothesis.direction, "one-sided p")
    if isinstance(hypothesis.test, SignFlip):
        kind = f"{kind.removesuffix('p')}sign-flip p"
    if isinstance(evidence.study.stopping, GroupSequential):
        kind = f"{kind} over the looks"
    text = words.p_equation(verdict.p, kind)
    name = _adjusted_name(evidence, hypothesis)
    return f"{text}, {words.p_equation(verdict.p_adjusted, name)}" if name else text


def _p_name(hypothesis: Hypothesis, *, over_looks: bool) -> str:
    """What stands before p on the first page: with the margin or effect that it is about, if not 0."""
    name = _P_NAMES.get(hypothesis.test.kind, "p") + (" over the looks" if over_looks else "")
    if isinstance(hypothesis.test, BinomialScoreboard) or hypothesis.bound == 0:
        return name
    bound = f"{words.number(hypothesis.bound, _digits(hypothesis.bound))} points"
    about = {"equivalent": f"a margin of {bound}", "non_inferior": f"a loss of {bound}"}
    return f"against {about.get(hypothesis.direction, f'an effect of {bound}')} · {name}"


def _adjusted_name(evidence: Evidence, hypothesis: Hypothesis) -> str:
    family = evidence.study.families.get(hypothesis.family or "")
    return "" if family is None else f"{_ADJUSTED[family.method]}-adjusted p"


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
