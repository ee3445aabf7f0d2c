"""What is under test: the arms, each as its difference from the shared trainer, and how numbers are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prereg.stopping import GroupSequential, stopping_rule
from prereg.study import Arm, Study
from reports import words
from reports.content import Block, Column, Listing, Prose, Section, Table, Value
from reports.scores import Evidence
from reports.sections.common import average_name

_MARGIN = (
    "A claim about a margin is tested against a difference of that size. The interval printed is the one at "
    "1 - 2 alpha: it lies within the margin exactly where the test passes before a correction. Arms "
    "that come near each other are not thereby equivalent: few noisy seeds always come near."
)
_TEST_WORDS = {
    "tost": _MARGIN,
    "non_inferiority": _MARGIN,
    "sign_flip": (
        "The sign-flip test counts all flips of the signs of the paired differences; it needs no normal "
        "law. The interval beside it is the paired t's."
    ),
    "wild_bootstrap": (
        "The wild bootstrap (Webb's weights, null imposed) is a sensitivity analysis: with three seeds it "
        "hardly ever rejects."
    ),
    "binomial_scoreboard": (
        "A scoreboard counts predictions whose observed effect lies on the stated side of their null. Its "
        "binomial p takes them for independent; predictions about the same runs are not, and then it is too "
        "small."
    ),
}


def build(evidence: Evidence) -> Section:
    """The section."""
    study = evidence.study
    arms = Table(
        "arms",
        "The arms",
        (
            Column("arm", "Arm"),
            Column("role", "Role"),
            Column("difference", "Differs from the shared trainer in"),
            Column("description", "Description"),
        ),
        tuple(
            (name, arm.role, "; ".join(_differences(arm)) or "nothing", arm.description or "")
            for name, arm in study.arms.items()
        ),
    )
    rows: list[tuple[Value, ...]] = [
        (
            name,
            one.samples,
            one.max_new_tokens,
            one.temperature,
            one.top_p,
            study.weights()[name],
            one.grader.kind,
        )
        for name, one in study.data.benchmarks.items()
    ]
    benchmarks = Table(
        "benchmarks",
        "The benchmarks",
        (
            Column("benchmark", "Benchmark"),
            Column("samples", "Samples a problem", "integer"),
            Column("cap", "Token cap", "integer"),
            Column("temperature", "Temperature", "decimal", 2),
            Column("top_p", "Top-p", "decimal", 2),
            Column("weight", "Weight", "decimal", 3),
            Column("grader", "Grader"),
        ),
        tuple(rows),
    )
    trainer = Table(
        "trainer",
        "The shared trainer",
        (Column("setting", "Setting"), Column("value", "Value")),
        tuple(tuple(line.split(" = ", 1)) for line in flat(study.trainer.model_dump(mode="json"))),
        collapsed=True,
    )
    blocks: list[Block] = [arms, benchmarks, trainer]
    if study.exploratory:
        blocks += [Prose("Announced as exploratory, without a claim:"), Listing(study.exploratory)]
    return Section("design", "What was compared", tuple(blocks))


def methods(evidence: Evidence) -> Section:
    """How the numbers of the report are made, in a few sentences."""
    return Section(
        "methods",
        "How the numbers are made",
        (
            Listing(
                (
                    f"{average_name(evidence)} is the mean over a problem's samples, then over problems, "
                    "then over benchmarks by their weights. pass@k is 1 - C(n-c, k) / C(n, k), from "
                    "integers; it is not estimable where k exceeds the number of samples.",
                    "A training run gives all benchmarks at once, so the training seed is the unit of "
                    "replication. Differences between arms are paired by seed.",
                    "The paired t interval is mean +- t sd / sqrt(seeds) and speaks of new training seeds "
                    "on these problems. The crossed interval adds the variance over problems, with "
                    "Satterthwaite's degrees of freedom, and speaks of new problems as well.",
                    "These intervals hold the truth as often as they say if seeds are normal; the crossed "
                    "one at 95 % then holds it in 93 % of studies with three seeds. If the paired "
                    "differences of seeds are strongly skewed (exponential), intervals at 95 % hold it in 89 "
                    "to 94 % of studies with three to ten seeds.",
                    "Every printed interval is two-sided, at 95 % unless it says otherwise, also beside a "
                    "one-sided test; the verdict follows the test's p. A one-sided p below 0.05 can "
                    "therefore stand beside an interval that just includes the null.",
                    "Arms are read at a budget by the step rule: the last policy whose cost lies within "
                    "it. Nothing is interpolated in a verdict, and nothing is read beyond what was run.",
                    *_test_words(evidence.study),
                    *_look_words(evidence.study),
                    "A hypothesis is CONFIRMED if its p, adjusted within its family, is at most "
                    "alpha; REFUTED if the opposite test is; INCONCLUSIVE otherwise. A missing run, "
                    "reading or grade makes it INADMISSIBLE, and an inadmissible member still counts in "
                    "its family.",
                )
            ),
        ),
    )


def _test_words(study: Study) -> tuple[str, ...]:
    """How the less usual tests of a study work, a few sentences for each that it uses."""
    kinds = {h.test.kind for h in study.hypotheses} | {
        s.kind for h in study.hypotheses for s in h.sensitivity
    }
    return tuple(dict.fromkeys(text for kind, text in _TEST_WORDS.items() if kind in kinds))


def _look_words(study: Study) -> tuple[str, ...]:
    """How planned looks are allowed for."""
    if not isinstance(study.stopping, GroupSequential):
        return ()
    return (
        f"{stopping_rule(study.stopping)} Dividing by the shares is a weighted Bonferroni correction: all "
        "looks together err no more often than one test at alpha, whatever the test. An interval at a look "
        "of share w is at the level 1 - w x 5 % (1 - 2 w alpha beside a margin), not at 95 %.",
    )


def _differences(arm: Arm) -> list[str]:
    """What the arm sets differently, its seeds included."""
    moved = [f"seed_offset = {arm.seed_offset}"] if arm.seed_offset else []
    return [*flat(arm.trainer), *moved]


def flat(settings: Mapping[str, Any], prefix: str = "") -> list[str]:
    """`a.b = 1` for each leaf of nested settings, in their order."""
    lines: list[str] = []
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            lines += flat(value, f"{name}.")
        elif isinstance(value, list | tuple):
            lines.append(f"{name} = {', '.join(map(str, value)) or 'none'}")
        else:
            lines.append(f"{name} = {'none' if value is None else value}")
    return lines


def summary_line(evidence: Evidence) -> str:
    """Arms, seeds, models and benchmarks in one line."""
    study = evidence.study
    parts = (
        words.plural(len(study.arms), "arm"),
        words.plural(len(study.seeds), "paired seed"),
        *([words.plural(len(study.models), "model")] if len(study.models) > 1 else []),
        words.plural(len(study.data.benchmarks), "benchmark"),
    )
    return words.joined(parts)
