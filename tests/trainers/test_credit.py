"""Credit: each completion's mean is kept, and no completion's credit depends on another's."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from prereg.problems import Refused
from prereg.trainer import EntropyCredit, MarginCredit, ShuffledCredit, UniformCredit
from trainers.credit import build_credit
from trainers.credit.installed import Installed
from trainers.noise import sequence_key
from trainers.segments import Segments
from trainers.statistics import TokenStatistics

LENGTHS = [3, 11, 1, 6]
SPECS = [
    UniformCredit(),
    MarginCredit(low=0.2, high=0.8, floor=0.1),
    ShuffledCredit(low=0.2, high=0.8, floor=0.1),
    EntropyCredit(kind="entropy", share=0.2),
]


def statistics(margin: torch.Tensor) -> TokenStatistics:
    """Statistics of tokens with these margins, whose entropies fall as margins rise."""
    return TokenStatistics(torch.zeros_like(margin), 1 - margin, margin)


def margins(seed: int = 0) -> torch.Tensor:
    return torch.rand(sum(LENGTHS), generator=torch.Generator().manual_seed(seed))


def keys(count: int = len(LENGTHS)) -> torch.Tensor:
    return torch.tensor([sequence_key("credit", i) for i in range(count)])


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.kind)
def test_mean_over_each_completion_is_one(spec: object) -> None:
    segments = Segments.of(LENGTHS)
    multipliers = build_credit(spec).multipliers(statistics(margins()), segments, keys())  # type: ignore[arg-type]
    assert segments.mean(multipliers).tolist() == pytest.approx([1.0] * 4, rel=1e-5)


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.kind)
def test_credit_of_a_completion_is_the_same_alone_and_in_any_company(spec: object) -> None:
    method = build_credit(spec)  # type: ignore[arg-type]
    together = method.multipliers(statistics(margins()), Segments.of(LENGTHS), keys()).split(LENGTHS)
    for i, alone in enumerate(margins().split(LENGTHS)):
        found = method.multipliers(statistics(alone), Segments.of([LENGTHS[i]]), keys()[i : i + 1])
        torch.testing.assert_close(found, together[i], rtol=1e-6, atol=1e-7)


def test_normalising_over_the_batch_would_not_keep_a_completions_mean() -> None:
    method = build_credit(MarginCredit())
    scores = method.scores(margins())  # type: ignore[attr-defined]
    over_batch = scores / scores.mean()
    assert Segments.of(LENGTHS).mean(over_batch).tolist() != pytest.approx([1.0] * 4, rel=1e-2)


def test_margin_scores_by_hand() -> None:
    method = build_credit(MarginCredit(low=0.2, high=0.8, floor=0.1))
    scores = method.scores(torch.tensor([0.0, 0.2, 0.5, 0.8, 1.0]))  # type: ignore[attr-defined]
    assert scores.tolist() == pytest.approx([1.0, 1.0, 0.55, 0.1, 0.1])
    found = method.multipliers(statistics(torch.tensor([0.0, 0.5, 1.0])), Segments.of([3]), keys(1))
    assert found.tolist() == pytest.approx([1 / 0.55, 1.0, 0.1 / 0.55], rel=1e-5)


def test_shuffled_permutes_the_scores_within_each_completion_only() -> None:
    guided = build_credit(MarginCredit()).multipliers(statistics(margins()), Segments.of(LENGTHS), keys())
    placebo = build_credit(ShuffledCredit()).multipliers(statistics(margins()), Segments.of(LENGTHS), keys())
    assert not torch.equal(guided, placebo)
    for a, b in zip(guided.split(LENGTHS), placebo.split(LENGTHS), strict=True):
        torch.testing.assert_close(a.sort().values, b.sort().values)


def test_a_floor_of_one_is_uniform_credit() -> None:
    found = build_credit(MarginCredit(floor=1.0)).multipliers(
        statistics(margins()), Segments.of(LENGTHS), keys()
    )
    assert found.tolist() == pytest.approx([1.0] * sum(LENGTHS))


def entropy_multipliers(entropy: list[float], lengths: list[int], **fields: object) -> list[float]:
    method = build_credit(EntropyCredit(kind="entropy", **fields))  # type: ignore[arg-type]
    values = torch.tensor(entropy)
    given = TokenStatistics(torch.zeros_like(values), values, torch.zeros_like(values))
    found: list[float] = method.multipliers(given, Segments.of(lengths), keys(len(lengths))).tolist()
    return found


def test_entropy_credit_keeps_the_most_uncertain_share_of_each_completion() -> None:
    entropy = [0.1, 0.9, 0.2, 0.9, 0.3, 0.0, 5.0, 6.0, 7.0, 8.0, 1.0, 2.0]
    found = entropy_multipliers(entropy, [5, 1, 6], share=0.2)
    # One of five (the earlier of the two at 0.9), the only one of one, two of six: 1.2 rounded up.
    assert found == pytest.approx([0, 5, 0, 0, 0, 1, 0, 0, 3, 3, 0, 0])


def test_ranking_over_the_batch_would_make_a_completions_credit_depend_on_another() -> None:
    quiet, loud = [0.1, 0.2, 0.3, 0.4, 0.5], [5.0, 6.0, 7.0, 8.0, 9.0]
    alone = entropy_multipliers(quiet, [5], share=0.2)
    assert entropy_multipliers(quiet + loud, [5, 5], share=0.2)[:5] == alone == [0, 0, 0, 0, 5]
    over_batch = torch.tensor(quiet + loud).topk(2).indices.tolist()
    assert all(place >= 5 for place in over_batch)  # the quiet completion would get nothing


def test_the_denominator_of_entropy_credit_is_a_factor_of_five_at_a_fifth() -> None:
    entropy = [float(i) for i in range(20)]
    kept = entropy_multipliers(entropy, [10, 10], share=0.2, denominator="kept")
    over_all = entropy_multipliers(entropy, [10, 10], share=0.2, denominator="all")
    assert kept == pytest.approx([5 * value for value in over_all])
    assert sum(over_all) == 4


class Given:
    """An installed method that gives what it was made with."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def multipliers(self, statistics: TokenStatistics, segments: Segments, keys: torch.Tensor) -> Any:
        return self.given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (torch.full((4,), 10.0), r"the 3 tokens of a completion multipliers of mean 10; .* mean of 1"),
        (torch.tensor([1.0, 1.0, 1.0, 0.9]), r"the 1 tokens of a completion multipliers of mean 0.9"),
        # A mean of 1 over the batch, and of no completion.
        (torch.tensor([1.2, 1.2, 1.2, 0.4]), r"mean 0.4"),
        (torch.ones(3), r"shape \(3,\) for 2 completions; expected: one multiplier a token, shape \(4,\)"),
        (torch.ones(4, 1), r"shape \(4, 1\)"),
        (torch.tensor([1.0, float("nan"), 1.0, 1.0]), r"1 of 4 multipliers that are not finite"),
        ([1.0, 1.0, 1.0, 1.0], r"gave a list; expected: a tensor"),
    ],
)
def test_an_installed_credit_that_breaks_its_promise_is_named(given: Any, message: str) -> None:
    credit = Installed("mine", Given(given))
    with pytest.raises(Refused, match=f"the credit method `mine` .*{message}"):
        credit.multipliers(statistics(torch.zeros(4)), Segments.of([3, 1]), keys(2))


def test_an_installed_credit_is_taken_as_float32_without_its_gradient() -> None:
    given = torch.tensor([0.5, 1.0, 1.5, 1.0], dtype=torch.float64, requires_grad=True)
    found = Installed("mine", Given(given)).multipliers(
        statistics(torch.zeros(4)), Segments.of([3, 1]), keys(2)
    )
    assert found.tolist() == [0.5, 1.0, 1.5, 1.0]
    assert found.dtype == torch.float32
    assert not found.requires_grad
