"""The study's file of gradient tests, and what the report takes from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from prereg.problems import Problem, Refused
from reports.inputs import CandidateGain, GradientTest

START = "start"
"""The checkpoint of the policy before its first update."""

FLOOR = 1 / 3
"""Noise floor r below which the sum of the halves is mostly noise: the share 2 r / (1 + r) of its squared
length that both have in common is then below one half (Spearman and Brown)."""


def read_predictions(path: Path) -> list[dict[str, Any]]:
    """The stored tests, oldest first. Raises Refused if the file is damaged."""
    if not path.is_file():
        return []
    try:
        tests: list[dict[str, Any]] = json.loads(path.read_bytes())["tests"]
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(Problem(f"the stored gradient tests cannot be read: {error}", file=str(path))) from None
    return tests


def asked_words(test: dict[str, Any]) -> str:
    """`grpo (small, seed 1) at the start`."""
    where = "at the start" if test["checkpoint"] == START else f"at the budget in {test['checkpoint']}"
    return f"{test['arm']} ({test['model']}, seed {test['seed']}) {where}"


def permuted_less_uniform(row: dict[str, Any]) -> dict[str, float]:
    """Mean, low and high of the placebo: what a candidate's permuted signal gains over uniform credit."""
    if "permuted_less_uniform" in row:
        found: dict[str, float] = row["permuted_less_uniform"]
        return found
    # A file of an earlier version has the gain itself.
    uniform = row["gain"] - row["versus_uniform"]["estimate"]
    return {name: value - uniform for name, value in row["placebo"].items()}


def warnings_of(test: dict[str, Any]) -> tuple[str, ...]:
    """What in a test's own guards speaks against reading its gains, in sentences."""
    said = []
    if test["noise_floor"] < FLOOR:
        said.append(
            "The direction is mostly noise: its halves agree only to cos(v1, v2) = "
            f"{test['noise_floor']:.3f}. Below 1/3, less than half of its squared length is common to both. "
            "Ask for more direction prompts."
        )
    rows = test["candidates"]
    uniform = test.get("uniform_gain_by_half")
    if uniform and (unsure := [name for name, row in rows.items() if _within_noise(row, uniform)]):
        said.append(
            "The halves of the direction differ by more than the gain less uniform's that they measure "
            f"(of uniform credit: its gain): {', '.join(unsure)}. Take these numbers for noise."
        )
    failed = [name for name, row in rows.items() if row["gain"] * (row.get("negative_control") or 0.0) > 0]
    if failed:
        said.append(
            "The negative control failed: a step of the policy along -c has the sign of the gain along c: "
            f"{', '.join(failed)}. The gain is too small for the step, or wrong."
        )
    return tuple(said)


def _within_noise(row: dict[str, Any], uniform: list[float]) -> bool:
    """Whether the two halves of the direction differ by more than what they find on average."""
    gains = row["gain_by_half"]
    first, second = (gain - other for gain, other in zip(gains, uniform, strict=True))
    if first == second == 0:
        first, second = gains
    return bool(abs(first - second) > abs(first + second) / 2)


def gradient_tests(path: Path) -> tuple[GradientTest, ...]:
    """The stored tests as the report takes them. Raises Refused if the file is damaged."""
    try:
        return tuple(_test(one) for one in read_predictions(path))
    except (KeyError, TypeError) as error:
        raise Refused(Problem(f"a stored gradient test lacks {error}", file=str(path))) from None


def _test(one: dict[str, Any]) -> GradientTest:
    return GradientTest(
        warnings=warnings_of(one),
        what=asked_words(one),
        arm=one["arm"],
        model=one["model"],
        made_at=one["made_at"],
        runs_begun=one["runs_begun"],
        prompts=one["prompts"],
        noise_floor=one["noise_floor"],
        candidates=tuple(_candidate(arm, row) for arm, row in one["candidates"].items()),
        left_out=tuple(one["left_out"].items()),
    )


def _candidate(arm: str, row: dict[str, Any]) -> CandidateGain:
    versus, permuted = row["versus_uniform"], permuted_less_uniform(row)
    return CandidateGain(
        arm=arm,
        gain=row["gain"],
        cosine=row["cosine"],
        versus_uniform=versus["estimate"],
        low=versus["low"],
        high=versus["high"],
        placebo=permuted["mean"],
        placebo_low=permuted["low"],
        placebo_high=permuted["high"],
        within=row["within"],
        between=row["between"],
        per_1000_tokens=row["gain_per_1000_tokens"],
        per_second=row["gain_per_device_second"],
    )
