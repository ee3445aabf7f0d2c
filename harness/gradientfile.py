"""The study's file of gradient tests, and what the report takes from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from prereg.problems import Problem, Refused
from reports.inputs import CandidateGain, GradientTest

START = "start"
"""The checkpoint of the policy before its first update."""


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


def gradient_tests(path: Path) -> tuple[GradientTest, ...]:
    """The stored tests as the report takes them. Raises Refused if the file is damaged."""
    try:
        return tuple(_test(one) for one in read_predictions(path))
    except (KeyError, TypeError) as error:
        raise Refused(Problem(f"a stored gradient test lacks {error}", file=str(path))) from None


def _test(one: dict[str, Any]) -> GradientTest:
    return GradientTest(
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
    versus = row["versus_uniform"]
    return CandidateGain(
        arm=arm,
        gain=row["gain"],
        cosine=row["cosine"],
        versus_uniform=versus["estimate"],
        low=versus["low"],
        high=versus["high"],
        placebo=row["placebo"]["mean"],
        within=row["within"],
        between=row["between"],
        per_1000_tokens=row["gain_per_1000_tokens"],
        per_second=row["gain_per_device_second"],
    )
