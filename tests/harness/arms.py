"""An arm for each method, with the fewest settings that make it do something on the built-in task."""

from __future__ import annotations

from typing import Any

STEPS = {"kind": "text", "separators": [","]}
"""The built-in task writes a comma behind each worked step."""


def dense(kind: str, **fields: Any) -> dict[str, Any]:
    """The `reward` section of a dense reward with two continuations a prefix."""
    estimator = {"kind": "continuations", "count": 2}
    return {"kind": kind, "boundaries": STEPS, "estimator": estimator, **fields}


METHODS: dict[str, dict[str, Any]] = {
    "grpo": {},
    "mc_advantage": {"reward": dense("mc_advantage")},
    "mc_value_soft": {"reward": dense("mc_value_soft")},
    "mc_value_hard": {"reward": dense("mc_value_hard"), "credit": {"kind": "margin"}},
    "prefix_tree": {"reward": dense("mc_advantage", estimator={"kind": "prefix_tree"})},
    "placebo": {"reward": dense("mc_advantage", shuffled=True, groups="informative")},
    "prime": {"reward": {"kind": "implicit_prm", "learning_rate": 1e-3}},
    "format": {"reward": {"kind": "format_only"}},
    "entropy": {"credit": {"kind": "entropy", "denominator": "all"}},
    "nearest_half": {"selection": {"kind": "nearest_half"}},
    "screened": {"selection": {"kind": "nearest_half", "predictor": {"kind": "screening", "samples": 2}}},
    "prior": {
        "selection": {
            "kind": "nearest_half",
            "predictor": {"kind": "history", "prior": "base_model", "prior_samples": 2},
        }
    },
    "filtered": {
        "selection": {"kind": "filter_homogeneous"},
        "reward": dense("mc_advantage"),
        "credit": {"kind": "entropy"},
    },
}
"""The `trainer` difference of each."""

CHARGED: dict[str, set[str]] = {
    "mc_advantage": {"continuation"}, "mc_value_soft": {"continuation"}, "mc_value_hard": {"continuation"},
    "placebo": {"continuation"}, "screened": {"screening"}, "prior": {"screening"},
    "filtered": {"discarded", "continuation"},
}  # fmt: skip
"""The purposes, besides rollouts, for which a method generates tokens."""


def arms(*names: str) -> dict[str, Any]:
    """The `arms` section of a study with these methods."""
    return {name: {"role": "treatment", "trainer": METHODS[name]} for name in names}
