"""How many of several predictions came out right, counted from the comparisons of their hypotheses.

A prediction is right when its observed effect lies strictly on the stated side of its own null: above 0,
above the smallest effect where that is to be exceeded, or above a loss of the margin. At those nulls each is
right half the time. Whether a prediction was significant does not matter here; it has its own verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prereg.hypotheses import Hypothesis
from prereg.study import Study
from prereg.testkinds import BinomialScoreboard
from reports.binomial import at_least, at_most, clopper_pearson
from reports.comparisons import Comparison

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Score:
    """k right of m predictions, with the interval of Clopper and Pearson for the share."""

    right: tuple[str, ...]
    """Ids of the predictions that came out right."""
    wrong: tuple[str, ...]
    low: float
    high: float

    @property
    def of(self) -> int:
        """The number of predictions."""
        return len(self.right) + len(self.wrong)

    @property
    def p(self) -> float:
        """One-sided p of the null that chance decides: this many right, or more."""
        return at_least(len(self.right), self.of)

    @property
    def p_against(self) -> float:
        """One-sided p of this many right, or fewer."""
        return at_most(len(self.right), self.of)


def score_of(
    study: Study, board: Hypothesis, comparisons: Mapping[str, Comparison]
) -> Score | tuple[str, ...]:
    """The score of a scoreboard, or the reasons why there is none.

    `comparisons` has one for every prediction. One that is inadmissible makes the whole count so: a count
    over those that happen to be there is another hypothesis.
    """
    assert isinstance(board.test, BinomialScoreboard)
    by_id = {h.id: h for h in study.hypotheses}
    right, wrong, reasons = [], [], []
    for name in dict.fromkeys(board.test.predictions):
        effect = comparisons[name].effect if name in comparisons else None
        if effect is None:
            reasons.append(f"its prediction {name} has no admissible comparison")
        elif came_out(by_id[name], effect.estimate):
            right.append(name)
        else:
            wrong.append(name)
    if reasons:
        return tuple(reasons)
    limits = clopper_pearson(len(right), len(right) + len(wrong), LEVEL)
    return Score(tuple(right), tuple(wrong), *limits)


def came_out(prediction: Hypothesis, effect: float) -> bool:
    """Whether an observed effect lies on the stated side of a prediction's null; on the null is wrong."""
    if prediction.direction == "less":
        return effect < -prediction.bound
    return effect > (-prediction.bound if prediction.direction == "non_inferior" else prediction.bound)
