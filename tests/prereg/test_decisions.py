"""What the lock accepts of tests, margins, scoreboards and families, and what it says of their power."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

from prereg import checks
from prereg.checks import power
from prereg.problems import Refused
from prereg.show import render_plan
from prereg.source import parse_study
from tests.prereg.decision_refusals import Change, family, first, scoreboard, seeds
from tests.prereg.studies import changed, loaded

WITHIN = "margin: 1\n    population: {problems: sampled}"


@pytest.mark.parametrize(
    "changes",
    [
        (first("equivalent", "tost", "margin: 0.5"),),
        (first("equivalent", "tost", WITHIN),),
        (first("non_inferior", "non_inferiority", WITHIN),),
        (first("greater", "sign_flip"), seeds(5)),
        (first("two_sided", "sign_flip"), seeds(6)),
        (*family("method: holm"), first("greater", "sign_flip"), seeds(6)),
        (
            *family("method: fixed_sequence", "order: [second, first]"),
            first("greater", "sign_flip"),
            seeds(5),
        ),
        family("method: graph", "weights: {first: 1, second: 0}", "transitions: {first: {second: 1}}"),
        (first("greater", "paired_t", "sensitivity: [{kind: wild_bootstrap}, {kind: sign_flip}]"),),
    ],
)
def test_what_is_accepted(changes: tuple[Change, ...]) -> None:
    assert checks.problems(loaded(*changes)) == ()


def five_predictions() -> tuple[Change, ...]:
    """Five predictions at equal updates, on one benchmark or both, and a scoreboard over them."""
    text = changed()
    one = text[text.index("  - id: first") : text.index("  - id: second")]
    more = "".join(
        one.replace("id: first", f"id: p{place}").replace("    test", f"    {field}\n    test")
        for place, field in enumerate(
            (
                "benchmarks: [easy]",
                "benchmarks: [hard]",
                "metric: {kind: pass, k: 2}",
                "metric: {kind: pass, k: 4}",
            )
        )
    )
    return (("  - id: second", f"{more}  - id: second"), scoreboard("[first, p0, p1, p2, p3]"))


def test_a_scoreboard_of_five_predictions_is_accepted_and_shown() -> None:
    study = loaded(*five_predictions())
    assert checks.problems(study) == ()
    plan = render_plan(study.study)
    assert "how many of the 5 predictions `first`, `p0`, `p1`, `p2`, `p3` come out right" in plan
    assert "as if predictions were independent" in plan


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ((first("equivalent", "wild_bootstrap", "margin: 1"),), "found `wild_bootstrap`, expected"),
        ((first("equivalent", "tost", "margin: 0"),), "more than 0"),
        (family("method: graph", "weights: {first: 1.5, second: 0}"), "at most 1"),
        (
            family("method: graph", "weights: {first: 1, second: 0}", "transitions: {first: {second: -0.1}}"),
            "at least 0",
        ),
        ((scoreboard("[]"),), "not empty"),
        ((first("greater", "paired_t", "strata: 3"),), "unknown key `strata`"),
    ],
)
def test_what_is_not_even_read(changes: tuple[Change, ...], words: str) -> None:
    with pytest.raises(Refused, match=r"study\.yaml:\d+:\d+") as refused:
        loaded(*changes)
    assert words in str(refused.value)


def test_a_fixed_sequence_and_a_gate_can_close_a_circle() -> None:
    sequence = family("method: fixed_sequence", "order: [second, first]")
    gate = ("tokens\n    family: f", "tokens\n    family: f\n    gate: first")
    (only,) = checks.problems(loaded(*sequence, gate))
    assert "`first` -> `second` -> `first`" in only.message


def test_the_plan_in_words_names_the_margin_the_sensitivity_and_the_family() -> None:
    plan = render_plan(
        loaded(first("equivalent", "tost", "margin: 0.5\n    sensitivity: [{kind: wild_bootstrap}]")).study
    )
    assert "the treatment is equivalent; the null is a difference of 0.5 percentage points or more" in plan
    assert "deciding nothing: wild bootstrap" in plan
    sequence = render_plan(loaded(*family("method: fixed_sequence", "order: [second, first]")).study)
    assert "fixed sequence: `second`, then `first`, each only if those before it were confirmed" in sequence
    graph = family("method: graph", "weights: {first: 0.8, second: 0.2}", "transitions: {first: {second: 1}}")
    assert "shares `first` 0.8, `second` 0.2; a confirmed one hands on `first` to `second` 1" in render_plan(
        loaded(*graph).study
    )


def simulated(effect: float, margin: float, count: int, equivalent: bool) -> float:
    """Share of 40,000 normal studies (sd 1) whose mean lies t standard errors within the margin."""
    draws = np.random.default_rng(11).normal(effect, 1.0, (40_000, count))
    mean, se = draws.mean(1), draws.std(1, ddof=1) / count**0.5
    reach = student.isf(0.05, count - 1) * se
    above = mean - reach > -margin
    return float((above & (mean + reach < margin) if equivalent else above).mean())


@pytest.mark.parametrize(
    ("effect", "margin", "count"), [(0.0, 1.5, 5), (0.4, 1.5, 5), (-0.3, 1.0, 8), (0.0, 0.5, 3)]
)
def test_power_of_equivalence_and_of_non_inferiority_agree_with_a_simulation(
    effect: float, margin: float, count: int
) -> None:
    for direction, equivalent in (("equivalent", True), ("non_inferior", False)):
        found = power.paired_t_power(effect, 1, count, 0.05, direction, margin)
        assert found == pytest.approx(simulated(effect, margin, count, equivalent), abs=0.01)


def test_tost_power_is_not_that_of_one_of_its_tests() -> None:
    """The plausible wrong one takes the nearer bound alone, and promises far more with few seeds."""
    both = power.paired_t_power(0, 1, 5, 0.05, "equivalent", 1.0)
    one = power.paired_t_power(0, 1, 5, 0.05, "non_inferior", 1.0)
    assert one - both > 0.2


@pytest.mark.parametrize(
    ("method", "refused"),
    [
        (("method: holm",), True),
        (("method: fixed_sequence", "order: [first, second]"), False),
        (("method: graph", "weights: {first: 1, second: 0}", "transitions: {first: {second: 1}}"), False),
        (("method: graph", "weights: {first: 0.5, second: 0.5}"), True),
    ],
)
def test_power_is_that_at_the_level_which_the_family_leaves(method: tuple[str, ...], refused: bool) -> None:
    """Three seeds, one-sided: an effect of 2.3 sd has a power of 0.80 at .05 and of 0.56 at .025."""
    assumed = first("greater", "paired_t", "power: {effect: 2.3, sd: 1}")
    found = checks.problems(loaded(*family(*method), assumed))
    assert [problem.path for problem in found] == ([("hypotheses", 0, "power")] if refused else [])


def rich() -> str:
    """A study that uses every test and both families, unchanged by `changed`."""
    text = changed(*five_predictions())
    more = """\
  - id: same
    statement: No different.
    treatment: new
    control: base
    matched_on: updates
    direction: equivalent
    margin: 0.5
    test: {kind: tost}
    family: g
  - id: flips
    statement: Higher.
    treatment: new
    control: base
    matched_on: updates
    direction: greater
    test: {kind: sign_flip}
    sensitivity: [{kind: wild_bootstrap, replicates: 999}]
    family: g
  - id: last
    statement: Higher.
    treatment: new
    control: base
    matched_on: updates
    direction: greater
    test: {kind: paired_t}
    family: s
    gate: same
families:
  s: {method: fixed_sequence, order: [last]}
  g:
    method: graph
    weights: {same: 0.2, flips: 0.8}
    transitions: {same: {flips: 1}, flips: {same: 0.5}}
"""
    return text.replace("seeds: [1, 2, 3]", "seeds: [1, 2, 3, 4, 5]") + more


def test_a_damaged_plan_is_refused_with_a_place_or_is_valid_and_never_a_crash() -> None:
    text = rich()
    assert checks.problems(parse_study(text.encode(), Path("study.yaml"))) == ()
    rng = random.Random(7)
    words = re.findall(r"[\w.]+", text)
    for _ in range(150):
        damaged = text
        for _ in range(rng.randint(1, 3)):
            found = rng.choice(list(re.finditer(r"[\w.]+", damaged)))
            damaged = (
                damaged[: found.start()] + rng.choice([*words, "-1", "1e9", "{}"]) + damaged[found.end() :]
            )
        try:
            found_problems = checks.problems(parse_study(damaged.encode(), Path("study.yaml")))
        except Refused as refused:
            found_problems = refused.problems
        assert all(problem.line is not None for problem in found_problems), damaged
