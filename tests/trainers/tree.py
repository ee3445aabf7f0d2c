"""A two-step problem whose state values are known exactly, with everything that a reward method touches.

A completion is two tokens and an end: first 1, 2 or 3, then 1 or 2. The policy takes the first with chances
1/2, 1/4, 1/4 and the second with 1/2 each. `RIGHT` says which pairs are right, so that the value of the
prompt is 1/2 x 1/2 + 1/4 x 1 + 1/4 x 0 = 1/2, and of the prefixes 1, 2, 3: 1/2, 1, 0.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from prereg.trainer import Trainer
from trainers.draws import Draws
from trainers.engines import Sampling
from trainers.flops import ModelShape
from trainers.setting import Setting
from trainers.types import Completion, Grade, Prompt, Request

END = 9
FIRST = {1: 0.5, 2: 0.25, 3: 0.25}
SECOND = {1: 0.5, 2: 0.5}
RIGHT = {(1, 1), (2, 1), (2, 2)}
VALUES = {(): 0.5, (1,): 0.5, (2,): 1.0, (3,): 0.0}
PROMPT = Prompt("p", (7,), "")


def chance(pair: tuple[int, int]) -> float:
    """Of a completion."""
    return FIRST[pair[0]] * SECOND[pair[1]]


PAIRS = list(itertools.product(FIRST, SECOND))


class TreeMeter:
    """Counts tokens by phase and purpose."""

    def __init__(self) -> None:
        self.counted: dict[tuple[str, str | None], int] = {}

    @contextmanager
    def phase(self, name: str, purpose: str | None = None) -> Iterator[None]:
        yield

    def count(
        self, phase: str, purpose: str | None, *, generated: int = 0, prompt: int = 0, flops: float = 0.0
    ) -> None:
        self.counted[phase, purpose] = self.counted.get((phase, purpose), 0) + generated


class TreeEngine:
    """Continues a prefix by the policy's own law: every K-th continuation takes the K-th branch in turn.

    With K a multiple of four, the share of right answers among them is the value of the prefix exactly. A
    cap below what is left cuts a continuation off.
    """

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.calls = 0

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        self.calls += 1
        turn: dict[tuple[int, ...], int] = {}
        found = []
        for request in requests:
            self.asked.append(request)
            number = turn.get(request.token_ids, 0)
            turn[request.token_ids] = number + 1
            found.append(self._continue(request, number, sampling))
        return found

    def _continue(self, request: Request, number: int, sampling: Sampling) -> Completion:
        kept = request.token_ids[len(PROMPT.token_ids) :]
        first = kept[0] if kept else (1, 1, 2, 3)[number // 2 % 4]
        whole = (first, number % 2 + 1, END)
        cap = min(request.max_new_tokens or sampling.max_new_tokens, sampling.max_new_tokens)
        new = whole[len(kept) :][:cap]
        return completion(new, "stop" if new[-1] == END else "length")

    def texts(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        return ["".join(str(t) + "," for t in ids if t != END) for ids in sequences]

    def sync(self) -> None:
        pass

    def rest(self) -> None:
        """Nothing."""


def completion(tokens: Sequence[int], finish: Any = "stop") -> Completion:
    """A completion of these tokens."""
    ids = np.array(tokens, dtype=np.int32)
    text = "".join(str(t) + "," for t in tokens if t != END)
    return Completion(ids, np.zeros(len(ids), dtype=np.float32), text, finish)


def tree_grader(golds: list[str], texts: list[str], finished: list[bool]) -> list[Grade]:
    """Right if the pair is, and the completion was finished."""
    grades = []
    for text, complete in zip(texts, finished, strict=True):
        pair = tuple(int(t) for t in text.split(",") if t)
        state = "unparseable" if not complete else "correct" if pair in RIGHT else "incorrect"
        grades.append(Grade(state, text))
    return grades


def setting_of(**trainer: Any) -> Setting:
    """A setting on the tree; its policy is never asked."""
    fields = {"max_new_tokens": 3, "samples_per_prompt": 2, "prompts_per_update": 1, **trainer}
    spec = Trainer.model_validate_json(json.dumps(fields))
    shape = ModelShape(1, 1, 0, 1, 1)
    policy: Any = SimpleNamespace()
    return Setting(spec, policy, TreeEngine(), [PROMPT], tree_grader, TreeMeter(), 0, shape)


def group_of(*pairs: tuple[int, int], group: int = 0, step: int = 1) -> Draws:
    """One group of completions of the prompt, graded."""
    completions = [completion((*pair, END)) for pair in pairs]
    grades = tree_grader([""] * len(pairs), [c.text for c in completions], [True] * len(pairs))
    return Draws(
        step,
        "rollout",
        [PROMPT] * len(pairs),
        [group] * len(pairs),
        list(range(len(pairs))),
        completions,
        grades,
    )
