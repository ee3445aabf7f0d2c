"""Selection: nearest-half against brute force, filtering, and what may and may not be looked at."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.trainers.tree import TreeMeter, completion, setting_of
from trainers.draws import charge
from trainers.engines import Sampling
from trainers.selection import Gathered, SelectionMethod, build_selection
from trainers.selection.nearest_half import Counts, choose, predictions
from trainers.setting import Setting
from trainers.types import Completion, Grade, Prompt, Request

SIZE = 40
RATES = {f"q{i}": i / (SIZE - 1) for i in range(SIZE)}
"""Success rates of the prompts, known."""


@dataclass
class RateEngine:
    """A completion of a prompt is right with the prompt's rate, by the request's own noise."""

    seen: list[Request]

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        self.seen.extend(requests)
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> Completion:
        draw = np.random.default_rng(request.key).random()
        return completion([1 if draw < request.token_ids[0] / (SIZE - 1) else 2])

    def texts(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        return [str(list(ids)) for ids in sequences]

    def sync(self) -> None:
        pass

    def rest(self) -> None:
        """Nothing."""


def grader(golds: list[str], texts: list[str], finished: list[bool]) -> list[Grade]:
    return [Grade("correct" if text.startswith("1") else "incorrect", None) for text in texts]


def method_of(selection: dict[str, Any], prompts: int = 4, seed: int = 0) -> tuple[SelectionMethod, Setting]:
    setting = setting_of(prompts_per_update=prompts, samples_per_prompt=4, selection=selection)
    setting.prompts = [Prompt(name, (i,), "") for i, name in enumerate(RATES)]
    setting.engine, setting.grader, setting.seed = RateEngine([]), grader, seed

    def rewards_of(grades: Sequence[Grade]) -> Any:
        return np.array([float(g.state == "correct") for g in grades])

    return build_selection(setting.spec.selection, setting, rewards_of), setting


def chosen(gathered: Gathered) -> list[str]:
    return list(dict.fromkeys(p.id for p in gathered.rollouts.prompts))


def test_predictions_by_hand() -> None:
    counts = {"a": Counts(3.0, 1.0, 0), "b": Counts(0.0, 4.0, 0)}
    # The pool's mean is 3 of 8. Two samples' worth of it: (3 + .75)/6, (0 + .75)/6, and .375 for the unseen.
    assert predictions(["a", "b", "c"], counts, shrinkage=2.0) == pytest.approx(
        {"a": 3.75 / 6, "b": 0.75 / 6, "c": 0.375}
    )
    assert predictions(["c"], {}, shrinkage=2.0) == {"c": 0.5}


def test_counts_fade() -> None:
    faded = Counts(4.0, 2.0, step=3).at(5, discount=0.5)
    assert (faded.successes, faded.failures, faded.step) == (1.0, 0.5, 5)


@pytest.mark.parametrize("wanted", [1, 3, 5])
def test_nearest_half_against_brute_force_on_known_rates(wanted: int) -> None:
    rng = np.random.default_rng(wanted)
    predicted = {f"p{i}": float(p) for i, p in enumerate(rng.integers(0, 9, 8) / 8)}
    order = {name: int(k) for name, k in zip(predicted, rng.permutation(8), strict=True)}
    outcome = choose(predicted, wanted, 0.0, ties=order, lots=order)
    taken = {name for name, word in outcome.items() if word == "nearest"}

    def badness(names: tuple[str, ...]) -> tuple[list[float], list[int]]:
        ranked = sorted((abs(predicted[n] - 0.5), order[n]) for n in names)
        return [d for d, _ in ranked], [o for _, o in ranked]

    best = min(itertools.combinations(predicted, wanted), key=lambda c: sorted(
        (abs(predicted[n] - 0.5), order[n]) for n in c))  # fmt: skip
    assert badness(tuple(taken)) == badness(best)
    assert len(taken) == wanted


def test_a_share_is_drawn_by_lot_whatever_is_predicted() -> None:
    predicted = {"far": 0.0, "near": 0.5, "also": 0.45, "hard": 0.1}
    lots = {"far": 0, "near": 1, "also": 2, "hard": 3}
    outcome = choose(predicted, 2, 0.5, ties=dict.fromkeys(predicted, 0), lots=lots)
    assert outcome == {"far": "explored", "near": "nearest", "also": "passed", "hard": "passed"}


def test_history_finds_the_middle_of_a_pool_with_known_rates() -> None:
    method, _ = method_of({"kind": "nearest_half", "pool_ratio": 5, "exploration": 0.25})
    late: list[str] = []
    for step in range(1, 81):
        gathered = method.gather(step)
        method.observe(gathered)
        if step > 60:
            late.extend(p.prompt_id for p in gathered.predictions if p.outcome == "nearest")
    distances = [abs(RATES[name] - 0.5) for name in late]
    # Uniform choice has a mean distance of 1/4.
    assert np.mean(distances) < 0.15


def test_predictions_are_made_of_earlier_updates_alone() -> None:
    spec = {"kind": "nearest_half", "pool_ratio": 3, "predictor": {"kind": "history", "discount": 0.9}}
    method, _ = method_of(spec)
    past: list[Gathered] = []
    for step in range(1, 9):
        gathered = method.gather(step)
        counts: dict[str, Counts] = {}
        for earlier in past:
            for prompt, grade in zip(earlier.rollouts.prompts, earlier.rollouts.grades, strict=True):
                right, weight = float(grade.state == "correct"), 0.9 ** (step - earlier.rollouts.step)
                old = counts.get(prompt.id, Counts(0.0, 0.0, step))
                counts[prompt.id] = Counts(
                    old.successes + weight * right, old.failures + weight * (1 - right), step
                )
        pool = [p.prompt_id for p in gathered.predictions]
        known = {name: counts[name] for name in pool if name in counts}
        expected = predictions(pool, known, shrinkage=4.0)
        assert {p.prompt_id: p.predicted for p in gathered.predictions} == pytest.approx(expected)
        method.observe(gathered)
        past.append(gathered)


def test_gathering_twice_gives_the_same_and_observing_changes_the_next() -> None:
    method, _ = method_of({"kind": "nearest_half"})
    fresh, _ = method_of({"kind": "nearest_half"})
    first, again = method.gather(1), method.gather(1)
    assert first.predictions == again.predictions
    assert chosen(first) == chosen(again)
    method.observe(first)
    # Within an epoch no prompt is a candidate twice; the third pool of 16 begins the second epoch of 40.
    assert method.gather(2).predictions == fresh.gather(2).predictions
    assert method.gather(3).predictions != fresh.gather(3).predictions


def test_a_resumed_selection_equals_one_that_went_on() -> None:
    whole, _ = method_of({"kind": "nearest_half"})
    for step in (1, 2, 3):
        whole.observe(whole.gather(step))
    resumed, _ = method_of({"kind": "nearest_half"})
    resumed.load_state(whole.state())
    assert resumed.gather(4).predictions == whole.gather(4).predictions
    with pytest.raises(KeyError):
        resumed.load_state({})


@pytest.mark.parametrize(
    ("predictor", "screened"),
    [
        ({"kind": "screening", "samples": 3}, 12 * 3),
        ({"kind": "history", "prior": "base_model", "prior_samples": 2}, 80),
    ],
)
def test_what_is_screened_is_apart_from_what_is_trained_on_and_is_charged(
    predictor: dict[str, Any], screened: int
) -> None:
    method, setting = method_of({"kind": "nearest_half", "pool_ratio": 3, "predictor": predictor})
    gathered = method.gather(1)
    assert [d.purpose for d in gathered.others] == ["screening"]
    assert len(gathered.others[0].completions) == screened
    engine = setting.engine
    assert isinstance(engine, RateEngine)
    assert len({r.key for r in engine.seen}) == len(engine.seen) == screened + 16
    for draws in (gathered.rollouts, *gathered.others):
        charge(setting, draws)
    assert isinstance(setting.meter, TreeMeter)
    assert setting.meter.counted == {("generate", "rollout"): 16, ("generate", "screening"): screened}


def test_a_base_model_prior_is_paid_once_and_remembered() -> None:
    method, _ = method_of({"kind": "nearest_half", "predictor": {"kind": "history", "prior": "base_model"}})
    first = method.gather(1)
    method.observe(first)
    assert len(first.others) == 1
    assert method.gather(2).others == ()
    assert all(p.evidence > 3 for p in method.gather(2).predictions)


def test_filtering_discards_groups_without_a_signal_and_draws_others() -> None:
    method, _ = method_of({"kind": "filter_homogeneous", "max_rounds": 6}, prompts=6)
    gathered = method.gather(1)
    kept, (discarded,) = gathered.rollouts, gathered.others
    assert len(set(kept.groups)) == 6
    for draws, differ in ((kept, True), (discarded, False)):
        for group in set(draws.groups):
            rewards = {g.state for g, name in zip(draws.grades, draws.groups, strict=True) if name == group}
            assert (len(rewards) > 1) == differ
    assert not set(kept.groups) & set(discarded.groups)
    uniform, _ = method_of({"kind": "uniform"}, prompts=6)
    first_round = {p.id for d in (kept, discarded) for p, g in zip(d.prompts, d.groups, strict=True) if g < 6}
    assert first_round == set(chosen(uniform.gather(1)))


def test_at_the_cap_groups_without_a_signal_fill_the_update() -> None:
    method, setting = method_of({"kind": "filter_homogeneous", "max_rounds": 2})
    setting.grader = lambda golds, texts, finished: [Grade("incorrect", None) for _ in texts]
    gathered = method.gather(1)
    assert sorted(set(gathered.rollouts.groups)) == [0, 1, 2, 3]
    assert sorted(set(gathered.others[0].groups)) == [4, 5, 6, 7]


def test_uniform_selection_uses_every_prompt_once_an_epoch() -> None:
    method, _ = method_of({"kind": "uniform"}, prompts=8)
    for epoch in (0, 1):
        used = [name for step in range(1, 6) for name in chosen(method.gather(5 * epoch + step))]
        assert sorted(used) == sorted(RATES)
