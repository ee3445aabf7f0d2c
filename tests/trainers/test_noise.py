"""Counter-based noise: the right law, and a function of nothing but its key, position and token."""

from __future__ import annotations

import numpy as np
import torch
from scipy import stats

from trainers.noise import gumbel, permutation, sequence_key, uniform


def keys(count: int) -> torch.Tensor:
    return torch.tensor([sequence_key(1, "test", i) for i in range(count)])


def test_draws_follow_the_standard_gumbel_law() -> None:
    draws = gumbel(keys(100), range(20), 50).numpy().ravel()
    assert stats.kstest(draws, "gumbel_r").pvalue > 1e-3


def test_draws_do_not_depend_on_company_or_on_the_block_of_positions() -> None:
    whole = gumbel(keys(8), range(10), 17)
    assert torch.equal(gumbel(keys(8)[3:4], range(10), 17)[0], whole[3])
    assert torch.equal(gumbel(keys(8), range(6, 9), 17), whole[:, 6:9])


def test_neighbouring_keys_positions_and_tokens_are_uncorrelated() -> None:
    draws = gumbel(keys(200), range(30), 30).numpy()
    pairs = [(draws[1:], draws[:-1]), (draws[:, 1:], draws[:, :-1]), (draws[:, :, 1:], draws[:, :, :-1])]
    for a, b in pairs:
        r = np.corrcoef(a.ravel(), b.ravel())[0, 1]
        assert abs(r) < 5 / np.sqrt(a.size)


def test_largest_of_logprob_plus_noise_is_exact_sampling() -> None:
    law = torch.tensor([0.5, 0.3, 0.15, 0.05])
    chosen = (law.log() + gumbel(keys(20_000), [0], 4)[:, 0]).argmax(dim=1)
    counts = torch.bincount(chosen, minlength=4).numpy()
    assert stats.chisquare(counts, law.numpy() * 20_000).pvalue > 1e-3


def test_keys_tell_what_they_are_for_apart() -> None:
    assert sequence_key(1, "rollout", 2, "p") == sequence_key(1, "rollout", 2, "p")
    assert sequence_key(1, "rollout", 2, "p") != sequence_key(1, "rollout", 2, "q")
    assert sequence_key("a", "bc") != sequence_key("ab", "c")
    assert all(0 <= sequence_key(i) < 2**63 for i in range(1000))


def test_uniform_draws_follow_the_uniform_law() -> None:
    draws = uniform(keys(500).repeat_interleave(20), torch.arange(20).repeat(500)).numpy()
    assert stats.kstest(draws, "uniform").pvalue > 1e-3


def test_permutation_is_one_and_depends_on_its_parts() -> None:
    assert sorted(permutation(50, 1, "prompts", 0)) == list(range(50))
    assert permutation(50, 1, "prompts", 0).tolist() != permutation(50, 1, "prompts", 1).tolist()
    assert permutation(50, 1, "prompts", 0).tolist() == permutation(50, 1, "prompts", 0).tolist()
