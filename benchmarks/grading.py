"""Answers graded a second on published problem sets, beside math-verify called plainly in one process.

Needs the folder that HARNESS_REAL_DATA names, with the files that the tests on real data read; without it,
it says so
and measures nothing. Every problem gets three completions: its own gold answer and those of two other
problems, each
in a box behind a sentence. Both sides grade the same pairs, and no pair twice, so that nothing is won by
remembering verdicts.
"""

from __future__ import annotations

import os
import random
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.measuring import Document, held, interleaved, ratios, run_alone

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
ROUNDS = 3
WORKERS = 2
PROBLEMS = 100
"""Problems of each kind that are drawn, at most."""

Pairs = list[tuple[str, str]]
"""Gold answers and completions."""


def measure() -> Document:
    """Medians of wall seconds for the same answers, and how many of the verdicts differ."""
    folder = os.environ.get("HARNESS_REAL_DATA")
    if folder is None:
        return {"skipped": "HARNESS_REAL_DATA names no folder with published problem sets", "held": []}
    found: Document = {"what": "seconds to grade completions with a boxed answer", "held": []}
    for kind, names, least in (("integers", INTEGERS, 20.0), ("expressions", EXPRESSIONS, 1.8)):
        pairs = _pairs(Path(folder), names, whole=kind == "integers")
        found[kind] = _compared(pairs)
        speedup = 1 / found[kind]["ours_by_theirs"]["median"]
        found["held"] += [
            held(f"times as many {kind} a second as math-verify", speedup, at_least=least),
            held(f"own gold answers of {kind} not graded correct", found[kind]["own_gold_lost"], at_most=0),
        ]
    return found


def _pairs(folder: Path, names: dict[str, str], *, whole: bool) -> Pairs:
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
    drawn = rng.sample(golds, min(PROBLEMS, len(golds)))
    pairs = [(gold, answer) for gold in drawn for answer in (gold, *rng.sample(golds, 2))]
    return [(g, f"Adding up, the answer is $\\boxed{{{a}}}$.") for g, a in dict.fromkeys(pairs)]


def _compared(pairs: Pairs) -> Document:
    from harness.grading.math import MathGrader
    from prereg.sources import MathGrader as Spec

    plain: list[bool] = []
    ours: list[bool] = []
    graders = iter([MathGrader(Spec(kind="math"), workers=WORKERS) for _ in range(ROUNDS + 1)])
    timings = interleaved(
        {"math-verify": partial(_plainly, pairs, plain), "ours": lambda: _ours(next(graders), pairs, ours)},
        ROUNDS,
    )
    last = slice(-len(pairs), None)
    mine, theirs = ours[last], plain[last]
    own = [completion.endswith(f"\\boxed{{{gold}}}$.") for gold, completion in pairs]
    walls = {name: timing.wall for name, timing in timings.items()}
    return {
        "answers": len(pairs),
        "answers_a_second": {name: len(pairs) / median(wall) for name, wall in walls.items()},
        **{name: timing.summary() for name, timing in timings.items()},
        "ours_by_theirs": ratios(walls["ours"], walls["math-verify"]),
        "workers": WORKERS,
        "own_gold_lost": sum(is_own and not right for is_own, right in zip(own, mine, strict=True)),
        "own_gold_lost_by_math_verify": sum(is_own and not r for is_own, r in zip(own, theirs, strict=True)),
        "differing": [
            {"gold": gold[:80], "completion": text[-80:], "ours": a, "math-verify": b}
            for (gold, text), a, b in zip(pairs, mine, theirs, strict=True) if a != b
        ],
    }  # fmt: skip


def _ours(grader: object, pairs: Pairs, verdicts: list[bool]) -> None:
    from harness.grading.math import MathGrader

    assert isinstance(grader, MathGrader)
    golds, texts = [gold for gold, _ in pairs], [text for _, text in pairs]
    verdicts += [grade.state == "correct" for grade in grader(golds, texts, [True] * len(pairs))]
    grader.close()


def _plainly(pairs: Pairs, verdicts: list[bool]) -> None:
    """What a training loop without any of this would do; it begins each round with an empty cache, as we
    do."""
    from math_verify import parse, verify
    from math_verify.parser import parse_latex_cached

    parse_latex_cached.cache_clear()
    for gold, text in pairs:
        verdicts.append(bool(verify(parse(f"\\boxed{{{gold}}}"), parse(text))))


if __name__ == "__main__":
    run_alone(measure)
