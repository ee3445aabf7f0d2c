"""The refusals about tests, directions, margins, scoreboards and families: see `test_checks.py`."""

from __future__ import annotations

from prereg import checks
from prereg.checks import attainable, decisions, families, scoreboards

Change = tuple[str, str]


def first(direction: str, kind: str, more: str = "") -> Change:
    """Direction, test and further fields of the first hypothesis."""
    old = "direction: greater\n    test: {kind: paired_t}"
    return old, f"direction: {direction}\n    test: {{kind: {kind}}}" + (f"\n    {more}" if more else "")


def seeds(count: int) -> Change:
    return "seeds: [1, 2, 3]", f"seeds: {list(range(1, count + 1))}"


def family(*lines: str) -> tuple[Change, ...]:
    """Both hypotheses in one family `f`, of a fixed sequence or a graph."""
    return (
        ("updates\n    direction", "updates\n    family: f\n    direction"),
        ("tokens\n    direction", "tokens\n    family: f\n    direction"),
        ("seeds: [1", "".join(["families:\n  f:\n", *(f"    {line}\n" for line in lines), "seeds: [1"])),
    )


def scoreboard(predictions: str, more: str = "") -> Change:
    """A scoreboard before the two hypotheses, at equal updates."""
    board = (
        "  - id: board\n    statement: Most come out right.\n    treatment: new\n    control: base\n"
        "    matched_on: updates\n    direction: greater\n"
        f"    test: {{kind: binomial_scoreboard, predictions: {predictions}}}\n"
    )
    return "  - id: first", board + (f"    {more}\n" if more else "") + "  - id: first"


PREDICTION = "hypotheses.0.test.predictions"

DECISION_REFUSALS: list[tuple[checks.Rule, tuple[Change, ...], str, str]] = [
    (
        decisions.direction_fits_test,
        (first("equivalent", "paired_t", "margin: 1"),),
        "hypotheses.0.direction",
        "decided by one of `tost`",
    ),
    (
        decisions.direction_fits_test,
        (first("greater", "non_inferiority"),),
        "hypotheses.0.direction",
        "It decides `non_inferior`",
    ),
    (
        decisions.margin_is_stated,
        (first("equivalent", "tost"),),
        "hypotheses.0.direction",
        "needs a `margin`",
    ),
    (
        decisions.margin_is_stated,
        (first("non_inferior", "non_inferiority"),),
        "hypotheses.0.direction",
        "would not matter",
    ),
    (
        decisions.margin_has_a_use,
        (first("two_sided", "paired_t", "margin: 1"),),
        "hypotheses.0.margin",
        "no meaning for the direction `two_sided`",
    ),
    (
        decisions.margin_replaces_smallest_effect,
        (first("equivalent", "tost", "margin: 1\n    smallest_effect: 2"),),
        "hypotheses.0.smallest_effect",
        "the `margin` decides",
    ),
    (
        scoreboards.known_predictions,
        (scoreboard("[first, secnd]"),),
        f"{PREDICTION}.1",
        "Did you mean `second`?",
    ),
    (scoreboards.known_predictions, (scoreboard("[board]"),), f"{PREDICTION}.0", "itself a scoreboard"),
    (scoreboards.known_predictions, (scoreboard("[first, first]"),), f"{PREDICTION}.1", "named twice"),
    (
        scoreboards.predictions_have_even_odds,
        (
            scoreboard("[first]"),
            ("direction: greater\n    test: {kind: p", "direction: two_sided\n    test: {kind: p"),
        ),
        f"{PREDICTION}.0",
        "not even by chance",
    ),
    (
        scoreboards.predictions_share_the_contrast,
        (scoreboard("[first, second]"),),
        f"{PREDICTION}.1",
        "matched_on `generated_tokens`",
    ),
    (
        scoreboards.predictions_differ,
        (scoreboard("[first, second]"),),
        f"{PREDICTION}.1",
        "same metric and benchmarks as `first`",
    ),
    (
        scoreboards.predictions_differ,
        (scoreboard("[first]"), first("greater", "paired_t", "gate: second")),
        f"{PREDICTION}.0",
        "waits for `second`",
    ),
    (
        scoreboards.scoreboard_measures_nothing_itself,
        (scoreboard("[first]", "benchmarks: [easy]"),),
        "hypotheses.0.benchmarks",
        "state it in the predictions",
    ),
    (
        families.fields_fit_the_method,
        family("order: [first, second]"),
        "families.f.order",
        "set `method: fixed_sequence`",
    ),
    (
        families.sequence_names_its_members_once,
        family("method: fixed_sequence", "order: [first, first, second]"),
        "families.f.order.1",
        "stands 2 times",
    ),
    (
        families.sequence_names_its_members_once,
        family("method: fixed_sequence", "order: [first]"),
        "families.f.order",
        "leaves out `second`",
    ),
    (
        families.sequence_names_its_members_once,
        family("method: fixed_sequence", "order: [first, second, third]"),
        "families.f.order.2",
        "no member",
    ),
    (
        families.graph_weights_fit,
        family("method: graph", "weights: {first: 0.7, second: 0.4}"),
        "families.f.weights",
        "sum to 1.1",
    ),
    (
        families.graph_weights_fit,
        family("method: graph", "weights: {first: 0.7}"),
        "families.f.weights",
        "leave out `second`",
    ),
    (
        families.graph_weights_fit,
        family("method: graph", "weights: {first: 0.7, second: 0.1, secnd: 0.1}"),
        "families.f.weights.secnd",
        "Did you mean `second`?",
    ),
    (
        families.graph_transitions_fit,
        family("method: graph", "weights: {first: 0.5, second: 0.5}", "transitions: {first: {first: 1}}"),
        "families.f.transitions.first.first",
        "to itself",
    ),
    (
        families.graph_transitions_fit,
        family(
            "method: graph",
            "weights: {first: 0.5, second: 0.5}",
            "transitions: {first: {second: 1, scond: 1}}",
        ),
        "families.f.transitions.first",
        "hands on 2 times its level",
    ),
    (
        families.graph_transitions_fit,
        family("method: graph", "weights: {first: 0.5, second: 0.5}", "transitions: {frst: {second: 1}}"),
        "families.f.transitions.frst",
        "Did you mean `first`?",
    ),
    (
        attainable.alpha_is_attainable,
        (first("two_sided", "sign_flip"), seeds(5)),
        "hypotheses.0.test",
        "below 0.0625, and `first` needs 0.05",
    ),
    (
        attainable.alpha_is_attainable,
        (*family("method: holm"), first("greater", "sign_flip"), seeds(5)),
        "hypotheses.0.test",
        "needs 0.025 (alpha 0.05, corrected for its family)",
    ),
    (
        attainable.alpha_is_attainable,
        (scoreboard("[first, second]"),),
        "hypotheses.0.test",
        "Name at least 5 predictions",
    ),
    (
        attainable.alpha_is_attainable,
        family("method: graph", "weights: {first: 1, second: 0}"),
        "hypotheses.1.family",
        "can ever reach `second`",
    ),
    (
        attainable.flips_can_be_counted,
        (first("greater", "sign_flip"), seeds(41)),
        "hypotheses.0.test",
        "found 41",
    ),
    (
        attainable.flips_can_be_counted,
        (first("greater", "paired_t", "sensitivity: [{kind: sign_flip}]"), seeds(41)),
        "hypotheses.0.sensitivity.0",
        "up to 40 seeds",
    ),
]
"""The rule, the changes, the field it is reported at, and words of the message and the hint."""
