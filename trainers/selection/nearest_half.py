"""Of a pool of candidates, the prompts whose predicted success is nearest to one half.

A group in which about half of the completions are right teaches most: the variance of a binary reward is
largest there. What is predicted is known before the update is sampled and rests on other samples than those
that are trained on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from prereg.selections import HistoryPredictor, NearestHalfSelection, ScreeningPredictor
from trainers.draws import Draws, draw
from trainers.noise import sequence_key
from trainers.selection import Gathered, Outcome, Prediction, RewardsOf, SelectionMethod
from trainers.setting import Setting


@dataclass(frozen=True, slots=True)
class Counts:
    """Successes and failures of one prompt, as of an update."""

    successes: float
    failures: float
    step: int

    def at(self, step: int, discount: float) -> Counts:
        """The counts as they weigh at a later update."""
        factor = discount ** (step - self.step)
        return Counts(self.successes * factor, self.failures * factor, step)

    @property
    def total(self) -> float:
        """Samples, discounted."""
        return self.successes + self.failures


History = dict[str, Counts]
"""By prompt id."""


class NearestHalf(SelectionMethod):
    """Chooses by a prediction, and at random for a share of the update."""

    def __init__(self, setting: Setting, spec: NearestHalfSelection, rewards_of: RewardsOf) -> None:
        super().__init__(setting)
        self._spec = spec
        self._rewards_of = rewards_of
        self._history: History = {}

    def gather(self, step: int) -> Gathered:
        """Predict, choose, then sample the chosen; samples for the prediction are screening."""
        wanted = self.setting.spec.prompts_per_update
        pool = list(dict.fromkeys(self.in_turn(step, wanted * self._spec.pool_ratio)))
        screened = self._screened(step, pool)
        history = self._history_of(step, screened)
        ids = {i: self.setting.prompts[i].id for i in pool}
        counts = {name: history[name] for name in ids.values() if name in history}
        predicted = predictions(list(ids.values()), counts, self._spec.predictor.shrinkage)
        outcome = choose(
            predicted, wanted, self._spec.exploration,
            ties={name: sequence_key(self.setting.seed, "nearest half", step, name) for name in predicted},
            lots={name: sequence_key(self.setting.seed, "exploration", step, name) for name in predicted},
        )  # fmt: skip
        chosen = [i for i in pool if outcome[ids[i]] != "passed"]
        rollouts = draw(self.setting, step, "rollout", chosen, samples=self._group_size)
        logged = tuple(
            Prediction(name, p, counts[name].total if name in counts else 0.0, outcome[name])
            for name, p in predicted.items()
        )
        return Gathered(rollouts, screened, logged)

    def observe(self, gathered: Gathered) -> None:
        """Count what was sampled of each prompt."""
        if isinstance(self._spec.predictor, HistoryPredictor):
            for draws in (*gathered.others, gathered.rollouts):
                self._history = self._counted(self._history, draws)

    def state(self) -> dict[str, object]:
        """The counts of every prompt that was sampled, by id."""
        return {"history": {name: [c.successes, c.failures, c.step] for name, c in self._history.items()}}

    def load_state(self, state: dict[str, object]) -> None:
        """Take up the counts."""
        if state.keys() != {"history"}:
            raise KeyError(f"unknown selection state: {sorted(state)}")
        saved = cast(Mapping[str, list[float]], state["history"])
        self._history = {name: Counts(s, f, int(step)) for name, (s, f, step) in saved.items()}

    def _screened(self, step: int, pool: list[int]) -> tuple[Draws, ...]:
        """Samples that only the prediction needs; their groups are numbered behind the rollouts'."""
        predictor = self._spec.predictor
        if isinstance(predictor, ScreeningPredictor):
            asked, samples = pool, predictor.samples
        elif predictor.prior == "base_model" and step == 1:
            asked, samples = list(range(len(self.setting.prompts))), predictor.prior_samples
        else:
            return ()
        first_group = self.setting.spec.prompts_per_update
        return (draw(self.setting, step, "screening", asked, samples=samples, first_group=first_group),)

    def _history_of(self, step: int, screened: tuple[Draws, ...]) -> History:
        """What is known of each prompt at this update."""
        predictor = self._spec.predictor
        if isinstance(predictor, ScreeningPredictor):
            return self._counted({}, screened[0])
        known = {name: c.at(step, predictor.discount) for name, c in self._history.items()}
        for draws in screened:
            known = self._counted(known, draws)
        return known

    def _counted(self, history: History, draws: Draws) -> History:
        """`history` and the rewards of `draws`, groups on which the grader failed left out."""
        predictor = self._spec.predictor
        discount = predictor.discount if isinstance(predictor, HistoryPredictor) else 1.0
        result = dict(history)
        graded = draws.graded
        for i, reward in enumerate(self._rewards_of(draws.grades).tolist()):
            if graded[i]:
                name = draws.prompts[i].id
                old = result.get(name, Counts(0.0, 0.0, draws.step)).at(draws.step, discount)
                result[name] = Counts(old.successes + reward, old.failures + 1 - reward, draws.step)
        return result


def predictions(pool: list[str], counts: Mapping[str, Counts], shrinkage: float) -> dict[str, float]:
    """Predicted success of each candidate: (successes + m mu) / (samples + m).

    `counts` are those of the candidates, as they weigh now; mu is their pooled success (1/2 if there are
    none), and m the samples that it counts as.
    """
    total = sum(c.total for c in counts.values())
    mean = sum(c.successes for c in counts.values()) / total if total > 0 else 0.5
    nothing = Counts(0.0, 0.0, 0)
    return {
        name: (c.successes + shrinkage * mean) / (c.total + shrinkage)
        for name in pool
        for c in [counts.get(name, nothing)]
    }


def choose(
    predicted: Mapping[str, float], wanted: int, exploration: float, *, ties: Mapping[str, int],
    lots: Mapping[str, int],
) -> dict[str, Outcome]:  # fmt: skip
    """What becomes of each candidate: `explored` by lot, `nearest` to 1/2 among the rest, or `passed`.

    A share `exploration` of the wanted prompts, rounded to the nearest number, is drawn by lot from the whole
    pool. Predictions at equal distance go by `ties`. The smallest number wins.
    """
    by_lot = sorted(predicted, key=lambda name: (lots[name], name))[
        : int(np.floor(exploration * wanted + 0.5))
    ]
    rest = [name for name in predicted if name not in set(by_lot)]
    nearest = sorted(rest, key=lambda name: (round(abs(predicted[name] - 0.5), 12), ties[name], name))
    taken = set(nearest[: wanted - len(by_lot)])
    return {
        name: "explored" if name in set(by_lot) else "nearest" if name in taken else "passed"
        for name in predicted
    }
