"""Dense rewards on a tree whose values are known: advantages by hand, expectations by enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from prereg.trainer import Trainer
from tests.trainers.tree import (
    PAIRS,
    PROMPT,
    RIGHT,
    VALUES,
    TreeEngine,
    TreeMeter,
    chance,
    completion,
    group_of,
    setting_of,
    tree_grader,
)  # fmt: skip
from trainers.draws import Draws, joined
from trainers.reward import Scored, build_reward
from trainers.reward.dense import grpo_rows
from trainers.setting import Setting
from trainers.types import Grade

STEPS = {"kind": "text", "separators": [","]}
"""Behind every token of the tree stands a comma, so a completion has the steps [first], [second], [end]."""


def scored(rollouts: Draws, **reward: Any) -> tuple[Scored, Setting]:
    reward = {"boundaries": STEPS, "rescaled": False, **reward}
    if reward.get("estimator", {}).get("kind") != "prefix_tree":
        reward["estimator"] = {"kind": "continuations", "count": 8, **reward.get("estimator", {})}
    setting = setting_of(reward=reward, advantage={"baseline": "leave_one_out", "scale": "none"})
    return build_reward(setting.spec.reward, setting).score(rollouts), setting


def rows(found: Scored) -> list[list[float]]:
    return [row.tolist() for row in found.tokens]


def test_mc_advantage_is_the_value_behind_a_step_less_the_value_before_it() -> None:
    found, _ = scored(group_of((1, 1), (3, 2)), kind="mc_advantage")
    # Root: the other's outcome. (1, 1): V = 0 -> 1/2 -> 1 -> 1. (3, 2): V = 1 -> 0 -> 0 -> 0.
    assert rows(found) == [[0.5, 0.5, 0.0], [-1.0, 0.0, 0.0]]
    assert found.signal.tolist() == [True, True]
    assert (found.factor, found.mean_steps) == (1.0, 3.0)


def test_a_separator_that_never_occurs_leaves_one_step_and_nothing_to_value() -> None:
    group = group_of((1, 1), (3, 2))
    found, _ = scored(group, kind="mc_advantage", boundaries={"kind": "text", "separators": ["|"]})
    assert found.mean_steps == 1.0
    assert found.continued is None
    assert rows(found) == [[1.0] * 3, [-1.0] * 3]


def test_mc_advantage_sums_to_the_outcome_less_the_value_of_the_prompt() -> None:
    found, _ = scored(group_of((1, 1), (2, 2), (1, 2), (3, 1)), kind="mc_advantage")
    sums = [sum(row) for row in rows(found)]
    assert sums == pytest.approx([1 - 1 / 3, 1 - 1 / 3, 0 - 2 / 3, 0 - 2 / 3], abs=1e-6)


def test_the_root_by_continuations_has_the_exact_value_of_the_prompt() -> None:
    found, _ = scored(group_of((1, 1), (3, 2)), kind="mc_advantage", estimator={"root": "continuations"})
    assert rows(found) == [[0.0, 0.5, 0.0], [-0.5, 0.0, 0.0]]
    assert found.continued is not None
    assert found.continued.boundaries.count(0) == 8  # once for the group, and not once a completion


def test_mc_value_soft_by_hand() -> None:
    found, _ = scored(group_of((1, 1), (3, 2)), kind="mc_value_soft")
    # Step values 1/2, 1, 1 and 0, 0, 0, of mean 5/12. Later values of the first, centred, over 3 steps:
    # (5/2 - 15/12)/3 = 5/12, (2 - 10/12)/3 = 7/18, (1 - 5/12)/3 = 7/36; outcome advantages 1 and -1.
    assert rows(found)[0] == pytest.approx([1 + 5 / 12, 1 + 7 / 18, 1 + 7 / 36], abs=1e-6)
    assert rows(found)[1] == pytest.approx([-1 - 5 / 12, -1 - 5 / 18, -1 - 5 / 36], abs=1e-6)


def test_mc_value_hard_by_hand_at_the_price_of_soft() -> None:
    found, setting = scored(group_of((1, 1), (3, 2)), kind="mc_value_hard")
    # Values 1, 1, 1 and 0, 0, 0, of mean 1/2.
    assert rows(found)[0] == pytest.approx([1 + 1 / 2, 1 + 1 / 3, 1 + 1 / 6], abs=1e-6)
    assert rows(found)[1] == pytest.approx([-1 - 1 / 2, -1 - 1 / 3, -1 - 1 / 6], abs=1e-6)
    _, soft = scored(group_of((1, 1), (3, 2)), kind="mc_value_soft")
    assert tokens(setting) == tokens(soft) > 0


def test_a_shared_prefix_is_continued_once() -> None:
    found, setting = scored(group_of((1, 1), (1, 2)), kind="mc_advantage")
    # Prefixes: (1), (1, 1), (1, 2). Eight continuations of 2, 1 and 1 tokens: the end is a token.
    assert tokens(setting) == 8 * 2 + 8 * 1 + 8 * 1
    assert rows(found) == [[0.5, 0.5, 0.0], [-0.5, -0.5, 0.0]]
    assert found.continued is not None
    assert list(dict.fromkeys(zip(found.continued.draws.samples, found.continued.kept, strict=True))) == [
        (0, 1), (0, 2), (1, 2),
    ]  # fmt: skip


def test_all_prefixes_of_an_update_are_continued_in_one_call() -> None:
    rollouts = joined([group_of((1, 1), (3, 2)), group_of((2, 1), (2, 2), group=1)])
    _, setting = scored(rollouts, kind="mc_advantage")
    engine = setting.engine
    assert isinstance(engine, TreeEngine)
    assert engine.calls == 1
    assert len({request.key for request in engine.asked}) == len(engine.asked)


def test_a_truncated_continuation_scores_nothing_and_is_charged() -> None:
    setting = setting_of(
        max_new_tokens=2, reward={"kind": "mc_advantage", "boundaries": STEPS, "rescaled": False,
                                  "estimator": {"kind": "continuations", "count": 8}},
        advantage={"baseline": "leave_one_out", "scale": "none"},
    )  # fmt: skip
    cut = [completion((1, 1), "length"), completion((2, 2), "length")]
    grades = tree_grader(["", ""], [c.text for c in cut], [False, False])
    rollouts = Draws(1, "rollout", [PROMPT] * 2, [0, 0], [0, 1], cut, grades)
    found = build_reward(setting.spec.reward, setting).score(rollouts)
    # One token is left behind each prefix, and a finished answer needs two: nothing can be right.
    assert found.continued is not None
    assert {c.finish_reason for c in found.continued.draws.completions} == {"length"}
    assert not np.concatenate(found.tokens).any()
    assert tokens(setting) == 2 * 8 * 1 != 0  # a charge that left them out would be 0


def tokens(setting: Setting) -> int:
    meter = setting.meter
    assert isinstance(meter, TreeMeter)
    return meter.counted["score", "continuation"]


def expected_gradient(**reward: Any) -> np.ndarray[Any, Any]:
    """E[sum over tokens of A x d log p(token)] over all groups of two, by the logits of both choices."""
    total = np.zeros(3 + 3 * 2)
    for pairs in itertools.product(PAIRS, repeat=2):
        found, _ = scored(group_of(*pairs), **reward)
        weight = chance(pairs[0]) * chance(pairs[1])
        for pair, row in zip(pairs, rows(found), strict=True):
            total += weight * (row[0] * score_of_first(pair) + row[1] * score_of_second(pair)) / 2
    return total


def score_of_first(pair: tuple[int, int]) -> np.ndarray[Any, Any]:
    """d log p(first) / d logits of the first choice, then of the second choice behind each first."""
    gradient = np.zeros(9)
    gradient[:3] = -np.array([0.5, 0.25, 0.25])
    gradient[pair[0] - 1] += 1
    return gradient


def score_of_second(pair: tuple[int, int]) -> np.ndarray[Any, Any]:
    gradient = np.zeros(9)
    place = 3 + 2 * (pair[0] - 1)
    gradient[place : place + 2] = -0.5
    gradient[place + pair[1] - 1] += 1
    return gradient


def exact_gradient() -> np.ndarray[Any, Any]:
    """d E[R] by the definition: sum over completions of p x R x d log p."""
    return sum(
        (chance(p) * (p in RIGHT) * (score_of_first(p) + score_of_second(p)) for p in PAIRS), np.zeros(9)
    )


@pytest.mark.parametrize("estimator", ["continuations", "prefix_tree"])
def test_the_expected_update_of_mc_advantage_is_the_exact_policy_gradient(estimator: str) -> None:
    found = expected_gradient(kind="mc_advantage", estimator={"kind": estimator})
    assert found == pytest.approx(exact_gradient(), abs=1e-6)
    assert np.abs(exact_gradient()).max() > 0.1


def test_a_tree_whose_values_count_the_completion_itself_would_be_biased() -> None:
    """The wrong twin: a node's value as the mean over all members that pass, the scored one included."""
    total = np.zeros(9)
    for pairs in itertools.product(PAIRS, repeat=2):
        weight = chance(pairs[0]) * chance(pairs[1])
        results = [float(p in RIGHT) for p in pairs]
        for i, pair in enumerate(pairs):
            values = [results[1 - i]]
            for kept in (1, 2):
                values.append(
                    float(
                        np.mean([r for r, p in zip(results, pairs, strict=True) if p[:kept] == pair[:kept]])
                    )
                )
            steps = np.diff([*values, results[i]])
            total += weight * (steps[0] * score_of_first(pair) + steps[1] * score_of_second(pair)) / 2
    assert total != pytest.approx(exact_gradient(), abs=1e-3)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_expected_advantages_are_differences_of_exact_values(pair: tuple[int, int]) -> None:
    """Over the other member of the group, the first step's expected advantage is V(first) - V(prompt)."""
    first = sum(
        chance(other) * rows(scored(group_of(pair, other), kind="mc_advantage")[0])[0][0] for other in PAIRS
    )
    assert first == pytest.approx(VALUES[pair[:1]] - VALUES[()], abs=1e-6)


def test_the_prefix_tree_by_hand_costs_nothing() -> None:
    found, setting = scored(
        group_of((1, 1), (1, 2), (3, 1)), kind="mc_advantage", estimator={"kind": "prefix_tree"}
    )
    # (1, 1): root (0 + 0)/2; behind 1 the other's 0; then alone: its own 1 less the last shared 0.
    # (1, 2): root (1 + 0)/2; behind 1 the other's 1; then 0 less 1. (3, 1): 0 less the root's 1/2.
    assert rows(found) == [[0.0, 1.0, 1.0], [0.5, -1.0, -1.0], [-0.5, -0.5, -0.5]]
    assert isinstance(setting.meter, TreeMeter)
    assert setting.meter.counted == {}
    assert found.continued is None


def test_shuffled_steps_are_the_same_steps_in_another_order_and_the_same_twice() -> None:
    group = group_of((1, 1), (3, 2), (2, 1), (1, 2))
    plain, _ = scored(group, kind="mc_advantage")
    one, _ = scored(group, kind="mc_advantage", shuffled=True)
    two, _ = scored(group, kind="mc_advantage", shuffled=True)
    assert [sorted(r) for r in rows(one)] == [sorted(r) for r in rows(plain)]
    assert rows(one) != rows(plain)
    assert rows(one) == rows(two)


@pytest.mark.parametrize("kind", ["mc_advantage", "mc_value_soft", "mc_value_hard"])
def test_advantages_are_scaled_to_the_mean_size_of_grpos(kind: str) -> None:
    group = group_of((1, 1), (3, 2), (2, 1), (1, 2))
    found, setting = scored(group, kind=kind, rescaled=True)
    plain, _ = scored(group, kind=kind)
    wanted = np.abs(np.concatenate(grpo_rows(group, setting.spec.advantage))).mean()
    assert np.abs(np.concatenate(found.tokens)).mean() == pytest.approx(wanted, rel=1e-6)
    assert found.factor is not None
    assert found.factor != 1.0
    np.testing.assert_allclose(
        np.concatenate(found.tokens), found.factor * np.concatenate(plain.tokens), rtol=1e-6
    )


def test_where_grpo_has_no_signal_a_rescaled_method_has_none() -> None:
    right = group_of((1, 1), (2, 2))
    found, _ = scored(right, kind="mc_advantage", rescaled=True)
    assert found.factor == 0.0
    assert not found.signal.any()
    plain, _ = scored(right, kind="mc_advantage")
    assert plain.signal.any()  # the values differ within the completions


def test_only_informative_groups_are_continued_where_the_study_says_so() -> None:
    rollouts = joined([group_of((1, 1), (2, 2)), group_of((1, 1), (3, 2), group=1)])
    found, _ = scored(rollouts, kind="mc_advantage", groups="informative")
    assert found.continued is not None
    assert set(found.continued.draws.groups) == {1}
    assert found.signal.tolist() == [False, False, True, True]


def test_a_group_whose_continuation_could_not_be_graded_is_left_out_and_not_scored_zero() -> None:
    rollouts = joined([group_of((1, 1), (3, 2)), group_of((2, 1), (3, 1), group=1)])
    reward = {"kind": "mc_advantage", "boundaries": STEPS, "rescaled": False}
    setting = setting_of(reward=reward)

    def failing(golds: list[str], texts: list[str], finished: list[bool]) -> list[Grade]:
        grades = tree_grader(golds, texts, finished)
        return [
            Grade("grader_error", None) if t.startswith("2,1") else g
            for t, g in zip(texts, grades, strict=True)
        ]

    setting.grader = failing
    found = build_reward(setting.spec.reward, setting).score(rollouts)
    assert found.signal.tolist() == [True, True, False, False]
    assert not np.concatenate(found.tokens[2:]).any()


def test_format_only_rewards_the_form_and_never_the_value() -> None:
    setting = setting_of(reward={"kind": "format_only"})
    method = build_reward(setting.spec.reward, setting)
    states = ["correct", "incorrect", "unparseable", "limit", "grader_error"]
    assert method.rewards([Grade(s, None) for s in states]).tolist() == [1, 1, 0, 0, 0]


def test_the_outcome_reward_is_unchanged_by_all_this() -> None:
    setting = setting_of()
    found = build_reward(Trainer().reward, setting).score(group_of((1, 1), (3, 2)))
    assert rows(found) == [[1.0] * 3, [-1.0] * 3]
    assert found.factor is None
