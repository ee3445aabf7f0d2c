"""Mathematical grading: math-verify on the last balanced box, in processes that can be killed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from harness.grading.boxes import last_box, plain_integer, too_large
from harness.grading.math_worker import SETTINGS
from harness.grading.pool import Pool, WorkerError
from harness.grading.protocol import (
    CORRECT,
    GRADER_ERROR,
    INCORRECT,
    LIMIT,
    UNPARSEABLE,
    Grader,
    shortened,
)
from prereg.problems import Problem, Refused
from prereg.sources import MathGrader as MathSpec
from trainers.types import Grade

_SELF_TEST = (
    ("\\frac{1}{2}", "0.5", "correct"),
    ("2(x+1)", "2x+2", "correct"),
    ("2(x+1)", "2x+1", "incorrect"),
    ("(1,2,3)", "(3,1,2)", "incorrect"),
)
"""Gold, answer and state, compared when the grader starts."""

_STATES = {CORRECT, INCORRECT, UNPARSEABLE, LIMIT}


class MathGrader(Grader):
    """Whether the last balanced `\\boxed{}` of a completion is mathematically equal to the gold answer.

    Two plain integers are compared as digits, at once. Everything else is compared in a worker process
    within `timeout_seconds` of wall time and `memory_mb` of memory; an answer that is too large, or whose
    worker had to be killed, is `limit`, and one on which the algebra fails is `grader_error`.

    Raises Refused if the self-test fails, e.g. because the memory limit is too low to start with.
    """

    def __init__(self, spec: MathSpec) -> None:
        packages = ("math-verify", "latex2sympy2_extended", "sympy")
        versions = " ".join(f"{name}={version(name)}" for name in packages)
        limits = f"timeout={spec.timeout_seconds:g}s memory={spec.memory_mb}MiB"
        self.version = f"math-1 {versions} {limits} {SETTINGS}"
        self._pool = Pool(min(2, os.cpu_count() or 1), spec.timeout_seconds, spec.memory_mb)
        try:
            self._self_test(spec)
        except BaseException:
            self.close()
            raise

    def grade(self, gold: Sequence[str], completions: Sequence[str], finished: Sequence[bool]) -> list[Grade]:
        pairs = [
            (bare_gold(g), (last_box(completion) if whole else None) or "")
            for g, completion, whole in zip(gold, completions, finished, strict=True)
        ]
        verdicts = {pair: _at_once(*pair) for pair in pairs}
        open_pairs = [pair for pair, verdict in verdicts.items() if verdict is None]
        states = self._run([{"gold": expected, "answer": answer} for expected, answer in open_pairs])
        for pair, state in zip(open_pairs, states, strict=True):
            verdicts[pair] = Grade(state, shortened(pair[1]))
        return [verdict for pair in pairs if (verdict := verdicts[pair]) is not None]

    def unreadable(self, gold: Sequence[str]) -> dict[int, str]:
        bare = [bare_gold(g) for g in gold]
        found = {i: f"the gold answer is {why}" for i, g in enumerate(bare) if (why := too_large(g))}
        asked = [i for i, g in enumerate(bare) if i not in found and plain_integer(g) is None]
        states = self._pool.run([{"gold": bare[i], "answer": None} for i in asked])
        for i, state in zip(asked, states, strict=True):
            if state != CORRECT:
                found[i] = f"the gold answer {shortened(bare[i])!r} cannot be read as mathematics"
        return dict(sorted(found.items()))

    def close(self) -> None:
        self._pool.close()

    def _run(self, requests: Sequence[dict[str, Any]]) -> list[str]:
        try:
            states = self._pool.run(requests)
        except WorkerError:
            # The grader started once, so the machine is short of something: nothing is known of the answers.
            return [GRADER_ERROR] * len(requests)
        return [state if state in _STATES else GRADER_ERROR for state in states]

    def _self_test(self, spec: MathSpec) -> None:
        try:
            states = self._pool.run([{"gold": g, "answer": a} for g, a, _ in _SELF_TEST])
        except WorkerError as error:
            states = [str(error)]
        if states != [state for *_, state in _SELF_TEST]:
            hint = f"It has {spec.memory_mb} MiB and {spec.timeout_seconds:g} s an answer; it may need more."
            raise Refused(Problem(f"the math grader fails its self-test: {', '.join(states)}", hint=hint))


def bare_gold(gold: str) -> str:
    """A gold answer without the box and the dollar signs that some data sets leave around it."""
    box = last_box(gold)
    text = (gold if box is None else box).strip()
    inner = text.strip("$")
    return inner.strip() if text.startswith("$") and text.endswith("$") and "$" not in inner else text


def _at_once(gold: str, answer: str) -> Grade | None:
    """The verdict where no algebra is needed; an empty answer is none."""
    if not answer:
        return Grade(UNPARSEABLE, None)
    recorded = shortened(answer)
    expected, found = plain_integer(gold), plain_integer(answer)
    if expected is not None and found is not None:
        return Grade(CORRECT if expected == found else INCORRECT, recorded)
    if too_large(gold):
        return Grade(GRADER_ERROR, recorded)
    if too_large(answer):
        return Grade(LIMIT, recorded)
    return None
