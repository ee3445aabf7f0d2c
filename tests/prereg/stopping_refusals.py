"""The refusals about planned looks: see `test_checks.py`."""

from __future__ import annotations

from prereg import checks
from prereg.checks import stopping
from tests.prereg.decision_refusals import Change, first


def looks(*planned: tuple[int, float], seeds: int = 5) -> tuple[Change, ...]:
    """A group-sequential plan with these looks, each its seeds and its share."""
    listed = ", ".join(f"{{seeds: {after}, share: {share}}}" for after, share in planned)
    names = list(range(1, seeds + 1))
    plan = f"stopping: {{kind: group_sequential, looks: [{listed}]}}\nseeds: {names}"
    return (("seeds: [1, 2, 3]", plan),)


STOPPING_REFUSALS: list[tuple[checks.Rule, tuple[Change, ...], str, str]] = [
    (
        stopping.looks_rise,
        looks((3, 0.2), (3, 0.2), (5, 0.6)),
        "stopping.looks.1.seeds",
        "after 3 seeds, the one before it after 3",
    ),
    (
        stopping.looks_end_with_all_seeds,
        looks((3, 0.2), (4, 0.8)),
        "stopping.looks.1.seeds",
        "Write `seeds: 5` here, or list 4 seeds under `seeds`",
    ),
    (
        stopping.looks_have_two_seeds,
        looks((1, 0.2), (5, 0.8)),
        "stopping.looks.0.seeds",
        "Look after two seeds or more",
    ),
    (
        stopping.shares_fit,
        looks((3, 0.5), (5, 0.6)),
        "stopping.looks",
        "sum to 1.1: together they would spend more than alpha",
    ),
    (
        stopping.looks_can_decide,
        # All 8 flips of 3 seeds: no p below .125, and a fifth of .05 is asked for. 8 seeds can give 1 / 256.
        (*looks((3, 0.2), (8, 0.8), seeds=8), first("greater", "sign_flip")),
        "stopping.looks.0",
        "on 3 seeds cannot give a p below 0.125, and `hypotheses.0` (`first`) needs 0.01 at this look",
    ),
    (
        stopping.looks_can_decide,
        # All 64 flips of 6 seeds: 1 / 64 is below .05, and above the fifth of it that is left for the end.
        (*looks((4, 0.2), (6, 0.2), seeds=6), first("greater", "sign_flip")),
        "stopping.looks.1",
        "use `paired_t`",
    ),
]
"""The rule, the changes, the field it is reported at, and words of the message and the hint."""
