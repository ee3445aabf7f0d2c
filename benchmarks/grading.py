"""Answers graded a second on published problem sets, beside math-verify called plainly in one process.

Needs the folder that HARNESS_REAL_DATA names, with the files that the tests on real data read; without it,
it says so and measures nothing. Every problem gets three completions: its own gold answer and those of two
other problems, each in a box behind a sentence. Both sides grade the same pairs, and no pair twice, so that
nothing is won by remembering verdicts.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measuring import Document, held, interleaved, ratios, run_alone

if TYPE_CHECKING:
    from harness.grading.math import MathGrader

INTEGERS = {
    "aime24": "aime24",
    "aime25": "aime25",
    "aime26": "aime26",
    "amc23": "amc23",
    "gsm8k": "gsm8k_test",
}
EXPRESSIONS = {
    "math500": "math500",
    "minerva_math": "minerva_math",
    "olympiadbench": "olympiadbench",
    "hmmt25": "hmmt25",
}
ROUNDS = 5
WORKERS = 2
PROBLEMS = 100
"""Problems of each kind that a round draws, at most."""

Pairs = list[tuple[str, str]]
"""Gold answers and completions."""


def measure() -> Document:
    """Medians of wall seconds for the same answers, and how many of the verdicts differ."""
    folder = os.environ.get("HARNESS_REAL_DATA")
    if folder is None:
        return {"skipped": "HARNESS_REAL_DATA names no folder with published problem sets", "held": []}
    found: Document = {"what": "seconds to grade completions with a boxed answer", "held": []}
    for kind, names, least in (("integers", INTEGERS, 20.0), ("expressions", EXPRESSIONS, 1.8)):
        found[kind] = _compared(_rounds(Path(folder), names, whole=kind == "integers"))
        speedup = 1 / found[kind]["ours_by_theirs"]["median"]
        found["held"] += [
            held(f"times as many {kind} a second as math-verify", speedup, at_least=least),
            held(f"own gold answers of {kind} not graded correct", found[kind]["own_gold_lost"], at_most=0),
        ]
    return found


def _rounds(folder: Path, names: dict[str, str], *, whole: bool) -> list[Pairs]:
    """The pairs of each round and of the warm-up before them, from problems of its own."""
    from harness.grading.boxes import plain_integer
    from harness.grading.kinds import bare_gold
    from harness.tasks.resolve import load_task
    from prereg.sources import NamedTask

    golds: list[str] = []
    for name, file in names.items():
        source = NamedTask.model_validate({"kind": "named", "name": name, "path": f"benchmarks/{file}.jsonl"})
        golds += [bare_gold(item.answer) for item in load_task(source, folder).items]
    # Each set of the second kind has problems whose answers are whole numbers: they are of the first kind.
    golds = [gold for gold in golds if (plain_integer(gold) is not None) is whole]
    rng = random.Random(7)
    rng.shuffle(golds)
    size = min(PROBLEMS, len(golds) // (ROUNDS + 1))
    drawn = [golds[k * size : (k + 1) * size] for k in range(ROUNDS + 1)]
    # Pairs that occur in an earlier round are left out, so that no round wins by what another remembers.
    seen: set[tuple[str, str]] = set()
    found = []
    for own in drawn:
        pairs = [(gold, answer) for gold in own for answer in (gold, *rng.sample(golds, 2))]
        fresh = [pair for pair in dict.fromkeys(pairs) if pair not in seen]
        seen |= set(fresh)
        found.append([(g, f"Adding up, the answer is $\\boxed{{{a}}}$.") for g, a in fresh])
    return found


def _compared(rounds: list[Pairs]) -> Document:
    """One grader for all rounds, as in a run: its processes are warm, and so is math-verify's."""
    from harness.grading.math import MathGrader
    from prereg.sources import MathGrader as Spec

    plain: list[bool] = []
    ours: list[bool] = []
    theirs_next, ours_next = iter(rounds), iter(rounds)
    with MathGrader(Spec(kind="math"), workers=WORKERS) as grader:
        timings = interleaved(
            {
                "math-verify": lambda: _plainly(next(theirs_next), plain),
                "ours": lambda: _ours(grader, next(ours_next), ours),
            },
            ROUNDS,
        )
    pairs = [pair for own in rounds for pair in own]
    own = [completion.endswith(f"\\boxed{{{gold}}}$.") for gold, completion in pairs]
    walls = {name: timing.wall for name, timing in timings.items()}
    timed = sum(len(own) for own in rounds[1:])
    return {
        "answers": len(pairs),
        "answers_a_second": {name: timed / sum(wall) for name, wall in walls.items()},
        **{name: timing.summary() for name, timing in timings.items()},
        "ours_by_theirs": ratios(walls["ours"], walls["math-verify"]),
        "workers": WORKERS,
        "own_gold_lost": sum(is_own and not right for is_own, right in zip(own, ours, strict=True)),
        "own_gold_lost_by_math_verify": sum(is_own and not r for is_own, r in zip(own, plain, strict=True)),
        "differing": [
            {"gold": gold[:80], "completion": text[-80:], "ours": a, "math-verify": b}
            for (gold, text), a, b in zip(pairs, ours, plain, strict=True) if a != b
        ],
    }  # fmt: skip


def _ours(grader: MathGrader, pairs: Pairs, verdicts: list[bool]) -> None:
    golds, texts = [gold for gold, _ in pairs], [text for _, text in pairs]
    verdicts += [grade.state == "correct" for grade in grader(golds, texts, [True] * len(pairs))]


def _plainly(pairs: Pairs, verdicts: list[bool]) -> None:
    """What a training loop without any of this would do."""
    from math_verify import parse, verify

    for gold, text in pairs:
        verdicts.append(bool(verify(parse(f"\\boxed{{{gold}}}"), parse(text))))


if __name__ == "__main__":
    run_alone(measure)
