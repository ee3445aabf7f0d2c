"""What the gradient test predicted of each arm, beside what training gave at matched compute."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import numpy as np
from scipy.stats import spearmanr

from prereg.fields import Axis
from reports import words
from reports.content import Block, Column, Estimate, Prose, Section, Table, Value
from reports.inputs import GradientTest
from reports.intervals import paired_t
from reports.scores import Evidence, reading, score


def build(evidence: Evidence, tests: Sequence[GradientTest]) -> Section | None:
    """The section; None where no test was stored."""
    if not tests:
        return None
    blocks: list[Block] = [
        Prose(
            "The arms' signals were scored on one batch of one frozen policy: the gain is the inner "
            "product of the signal's gradient with the direction in which reward rises on other "
            "prompts. Beside it stands what training gave at matched compute. How well the one tells the "
            "other is itself a result, and no claim."
        )
    ]
    for number, test in enumerate(tests, 1):
        blocks += [_table(test, number), _beside(evidence, test, number)]
    return Section("gradient", "Predicted by the gradient test, and realised", tuple(blocks))


def _table(test: GradientTest, number: int) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            one.arm,
            one.gain,
            one.cosine,
            Estimate(one.versus_uniform, one.low, one.high),
            Estimate(one.placebo, one.placebo_low, one.placebo_high),
            one.within,
            one.between,
            one.per_1000_tokens,
            one.per_second,
        )
        for one in test.candidates
    ]
    begun = (
        "before any run of the study had begun"
        if test.runs_begun == 0
        else f"when {words.plural(test.runs_begun, 'run')} had begun: not a prediction made before training"
    )
    left = "".join(f" {arm} was not tested: {why}." for arm, why in test.left_out)
    return Table(
        f"gradient_test_{number}",
        f"Gradient test of {test.what}",
        (
            Column("arm", "Arm"),
            Column("gain", "Gain", "decimal", 4),
            Column("cosine", "Cosine", "decimal", 3),
            Column("versus_uniform", "Gain less uniform's", "estimate"),
            Column("placebo", "Permuted, less uniform's", "estimate"),
            Column("within", "Correlation within", "decimal", 3),
            Column("between", "Correlation between", "decimal", 3),
            Column("per_1000_tokens", "Gain a 1,000 tokens", "decimal", 5),
            Column("per_second", "Gain a device-second", "decimal", 4),
        ),
        tuple(rows),
        f"Made {test.made_at}, {begun}, on {words.plural(test.prompts, 'prompt')}. Intervals: 95 %, prompts "
        "resampled whole. Permuted (the placebo): each completion keeps its signal's values and loses their "
        "places, and the interval holds 95 % of the permutations; a credit that only moves advantage between "
        "a completion's tokens is left with 0, and what is left of others is not about tokens. Noise floor, "
        f"cos(v1, v2): {words.number(test.noise_floor, 3)}. "
        "Correlations are of signal and alignment, of tokens within completions and of completions' "
        f"means.{left}{''.join(f' Warning: {one}' for one in test.warnings)}",
    )


def _beside(evidence: Evidence, test: GradientTest, number: int) -> Table:
    """Predicted and realised differences to the tested arm, per update and at equal tokens."""
    budgets = evidence.study.budget.declared()
    base = next((one for one in test.candidates if one.arm == test.arm), None)
    rows: list[tuple[Value, ...]] = []
    pairs: dict[Axis, list[tuple[float, float]]] = {axis: [] for axis in budgets}
    for one in test.candidates:
        if base is None or one.arm == test.arm:
            continue
        predicted: dict[Axis, float | None] = {
            "updates": one.gain - base.gain,
            "generated_tokens": one.per_1000_tokens - base.per_1000_tokens,
            "device_seconds": None
            if one.per_second is None or base.per_second is None
            else one.per_second - base.per_second,
        }
        for axis in budgets:
            expected = predicted.get(axis)
            realised = _realised(evidence, test, one.arm, axis)
            rows.append((one.arm, words.axis_phrase(axis), expected, realised))
            if expected is not None and realised is not None and not isnan(realised.value):
                pairs[axis].append((expected, realised.value))
    return Table(
        f"gradient_realised_{number}",
        f"Predicted and realised, each less {test.arm}'s",
        (
            Column("arm", "Arm"),
            Column("matched_on", "Matched"),
            Column("predicted", "Predicted gain", "decimal", 5),
            Column("realised", "Realised, points", "estimate"),
        ),
        tuple(rows),
        "Predicted: gain an update, a 1,000 tokens, or a device-second, less that of the tested arm. "
        f"Realised: the difference in accuracy at the budget, mean over seeds with its {words.OVER_SEEDS}. "
        + " ".join(_rank_words(axis, found) for axis, found in pairs.items() if len(found) > 2),
    )


def _realised(evidence: Evidence, test: GradientTest, arm: str, axis: Axis) -> Estimate | None:
    differences = []
    for seed in evidence.study.seeds:
        values = []
        for name in (arm, test.arm):
            fact = evidence.run(test.model, name, seed)
            at = reading(evidence, fact.run_id, axis) if fact is not None else "never started"
            if fact is None or isinstance(at, str):
                return None
            values.append(score(evidence, fact.run_id, at.step))
        differences.append(values[0] - values[1])
    found = paired_t(np.array(differences))
    return Estimate(found.estimate, found.low, found.high)


def _rank_words(axis: Axis, pairs: Sequence[tuple[float, float]]) -> str:
    rank = float(spearmanr([x for x, _ in pairs], [y for _, y in pairs]).statistic)
    said = "not estimable" if isnan(rank) else words.number(rank, 2)
    return f"Rank correlation {words.axis_phrase(axis)}, over {len(pairs)} arms: {said}."
