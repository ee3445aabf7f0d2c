"""The built-in task: chains of additions and subtractions, answered by worked steps.

A problem is `5+5-1=`; its worked answer is `5+5=10,10-1=9,#9`. Difficulty is the number of operations:
`easy` has two, `medium` three, `hard` four, and `train` draws from all of them. Operands are digits and
every intermediate result lies between 0 and 99, so that a model of a hundred thousand parameters can
learn the task and still err.
"""

from __future__ import annotations

import hashlib
import itertools
import random

from harness.tasks.problems import TaskItem

OPERATIONS = {"easy": (2,), "medium": (3,), "hard": (4,), "train": (2, 3, 4)}
"""Numbers of operations of each split."""

TRAINING_FOLDS = 7
"""Of ten folds by hash, those whose problems may be trained on; benchmarks come from the other three."""


def generate(split: str, size: int, seed: int) -> list[TaskItem]:
    """`size` distinct problems of a split, in a fixed order that depends on (`split`, `seed`) alone.

    Problems fall into ten folds by a hash of `seed` and their text: `train` takes seven of them and the
    benchmarks the rest, so that splits of one seed never share a problem. Raises ValueError if the split
    has fewer distinct problems than asked for.
    """
    rng = random.Random(f"arithmetic/{split}/{seed}")  # noqa: S311 - a task, not a secret
    seen: set[str] = set()
    items: list[TaskItem] = []
    misses = 0
    while len(items) < size:
        problem = draw_problem(rng, rng.choice(OPERATIONS[split]))
        if problem in seen or (fold(problem, seed) < TRAINING_FOLDS) != (split == "train"):
            misses += 1
            if misses > 1000 + 200 * size:
                raise ValueError(f"the split {split!r} has fewer than {size} distinct problems")
            continue
        seen.add(problem)
        items.append(TaskItem(id=problem, problem=problem, answer=solve(problem)[-1]))
    return items


def draw_problem(rng: random.Random, operations: int) -> str:
    """A random chain with the given number of operations, its results all within 0..99."""
    value = rng.randint(1, 9)
    text = str(value)
    for _ in range(operations):
        operand = rng.randint(1, 9)
        sign = "+" if value < operand or (value + operand <= 99 and rng.random() < 0.5) else "-"
        value = value + operand if sign == "+" else value - operand
        text += f"{sign}{operand}"
    return text + "="


def fold(problem: str, seed: int) -> int:
    """The fold, 0..9, of a problem under a seed."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{problem}".encode()).digest()[:4], "big") % 10


def solve(problem: str) -> list[str]:
    """The intermediate results of a chain, the last of them the answer."""
    total, number, sign = 0, 0, 1
    results: list[str] = []
    for character in problem:
        if character.isdigit():
            number = number * 10 + int(character)
            continue
        total += sign * number
        results.append(str(total))
        number, sign = 0, (-1 if character == "-" else 1)
    return results


def worked_answer(problem: str) -> str:
    """The demonstration for a problem: every step, then the answer behind `#`."""
    results = solve(problem)
    steps: list[str] = []
    position = len(results[0])
    for before, after in itertools.pairwise(results):
        steps.append(f"{before}{problem[position : position + 2]}={after},")
        position += 2
    return "".join(steps) + f"#{results[-1]}"
