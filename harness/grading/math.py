"""Mathematical grading: math-verify on the last balanced box, in processes that can be killed."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from harness.grading.boxes import last_box
from harness.grading.kinds import ask, bare_gold, usable
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

REMEMBERED = 100_000
"""Verdicts that are kept: the same answer to the same problem is common, and is graded once."""

_SELF_TEST = (
    ("\\frac{1}{2}", "0.5", "auto", "correct"),
    ("2(x+1)", "2x+2", "expression", "correct"),
    ("2(x+1)", "2x+1", "auto", "incorrect"),
    ("(1,2,3)", "(3,1,2)", "tuple", "incorrect"),
    ("\\{1,2,3\\}", "3,1,2", "set", "correct"),
    ("(1,2)", "1<x\\le 2", "interval", "incorrect"),
    ("y=2x", "y-2x=0", "equation", "correct"),
    ("1", "\\frac{", "auto", "unparseable"),
)
"""Gold, answer, kind and state, compared when the grader starts."""

_STATES = {CORRECT, INCORRECT, UNPARSEABLE, LIMIT}


class MathGrader(Grader):
    """Whether the last balanced `\\boxed{}` of a completion is mathematically equal to the gold answer.

    What plain arithmetic or the comparison of texts can tell is told at once. Everything else is compared in
    a worker process within `timeout_seconds` of wall time and `memory_mb` of memory; an answer that is too
    large, or whose worker had to be killed, is `limit`, and one on which the algebra fails is `grader_error`.

    Raises Refused if the self-test fails, e.g. because the memory limit is too low to start with.
    """

    def __init__(self, spec: MathSpec, workers: int | None = None) -> None:
        packages = ("math-verify", "latex2sympy2_extended", "sympy")
        versions = " ".join(f"{name}={version(name)}" for name in packages)
        limits = f"timeout={spec.timeout_seconds:g}s memory={spec.memory_mb}MiB"
        self.version = f"math-3 answer_type={spec.answer_type} {versions} {limits} {SETTINGS}"
        self._kind = spec.answer_type
        self._pool = Pool(workers or min(2, os.cpu_count() or 1), spec.timeout_seconds, spec.memory_mb)
        self._known: OrderedDict[tuple[str, str], str] = OrderedDict()
        try:
            self._self_test(spec)
        except BaseException:
            self.close()
            raise

    def grade(self, gold: Sequence[str], completions: Sequence[str], finished: Sequence[bool]) -> list[Grade]:
        pairs = [
            (g, (last_box(completion) if whole else None) or "")
            for g, completion, whole in zip(gold, completions, finished, strict=True)
        ]
        states = self._states(list(dict.fromkeys(pairs)))
        return [Grade(states[pair], shortened(pair[1]) if pair[1] else None) for pair in pairs]

    def unreadable(self, gold: Sequence[str]) -> dict[int, str]:
        found: dict[int, str] = {}
        asked: dict[int, dict[str, Any]] = {}
        for i, one in enumerate(gold):
            reason, request = usable(one, self._kind)
            if reason is not None:
                found[i] = f"the gold answer {reason}"
            elif request is not None:
                asked[i] = request
        states = self._pool.run(list(asked.values()))
        for i, state in zip(asked, states, strict=True):
            if state != CORRECT:
                what = "as mathematics" if self._kind == "auto" else f"as an answer of type {self._kind}"
                found[i] = f"the gold answer {shortened(bare_gold(gold[i]))!r} cannot be read {what}"
        return dict(sorted(found.items()))

    def close(self) -> None:
        self._pool.close()

    @property
    def killed(self) -> int:
        """Worker processes that had to be killed or died."""
        return self._pool.killed

    def _states(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """The state of every pair of gold answer and answer, all of them different."""
        states: dict[tuple[str, str], str] = {}
        asked: dict[tuple[str, str], dict[str, Any]] = {}
        for pair in pairs:
            if (known := self._known.get(pair)) is not None:
                self._known.move_to_end(pair)
                states[pair] = known
                continue
            state, request = ask(*pair, self._kind)
            if state is not None:
                states[pair] = state
            elif request is not None:
                asked[pair] = request
        for pair, state in zip(asked, self._run(list(asked.values())), strict=True):
            states[pair] = state
            # A limit of time depends on how busy the machine is: the next answer like it gets its own time.
            if state in (CORRECT, INCORRECT, UNPARSEABLE):
                self._remember(pair, state)
        return states

    def _remember(self, pair: tuple[str, str], state: str) -> None:
        self._known[pair] = state
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def _run(self, requests: Sequence[dict[str, Any]]) -> list[str]:
        try:
            states = self._pool.run(requests)
        except WorkerError:
            # The grader started once, so the machine is short of something: nothing is known of the answers.
            return [GRADER_ERROR] * len(requests)
        return [state if state in _STATES else GRADER_ERROR for state in states]

    def _self_test(self, spec: MathSpec) -> None:
        try:
            states = self._pool.run([{"gold": g, "answer": a, "kind": k} for g, a, k, _ in _SELF_TEST])
        except WorkerError as error:
            states = [str(error)]
        if states != [state for *_, state in _SELF_TEST]:
            hint = f"It has {spec.memory_mb} MiB and {spec.timeout_seconds:g} s an answer; it may need more."
            raise Refused(Problem(f"the math grader fails its self-test: {', '.join(states)}", hint=hint))
