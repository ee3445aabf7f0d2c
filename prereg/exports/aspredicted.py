"""The answers to the questions of AsPredicted."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.exports.answers import Answer, about_the_lock, data_seen, left_out, measured, runs_planned
from prereg.lock import Lock
from prereg.planned import missing_words
from prereg.show import part_of_plan
from prereg.stopping import stopping_rule
from prereg.study import Study

FORM = "AsPredicted"


def answers(study: Study, lock: Lock | None) -> tuple[Answer, ...]:
    """One answer for each question, in the form's order."""
    return tuple(Answer("", question, text) for question, text in _answers(study, lock))


def _answers(study: Study, lock: Lock | None) -> Iterator[tuple[str, str]]:
    collected = {
        "nothing": "No, no data have been collected for this study yet.",
        "pilot_runs": "No, no data have been collected for this study yet.",
        "some_results": "It's complicated; see question 8.",
        "all_results": "Yes, data have been collected; see question 8.",
    }
    yield "1) Have any data been collected for this study already?", collected[study.data_status.seen]
    claims = "\n".join(f"- {h.id}: {h.statement}" for h in study.hypotheses)
    yield "2) What's the main question being asked or hypothesis being tested?", claims or study.title
    outcomes = "\n".join(f"- {h.id}: {measured(study, h)}" for h in study.hypotheses)
    yield "3) Key dependent variable(s), and how they are measured", outcomes or "Accuracy on each benchmark."
    yield (
        "4) How many and which conditions?",
        (f"{len(study.arms)} arms; every training seed is run under each.\n{part_of_plan(study, 'arms')}"),
    )
    yield "5) Exactly which analyses?", part_of_plan(study, "claims")
    yield (
        "6) Outliers, and rules for excluding observations",
        f"{left_out(study)}\n{missing_words(study.missing)}",
    )
    yield (
        "7) How many observations, or what determines the sample size?",
        (
            f"{runs_planned(study)} {stopping_rule(study.stopping) or 'The number is fixed.'}\n"
            "Each run ends when every budget is reached:\n"
            f"{part_of_plan(study, 'budget')}"
        ),
    )
    more = [data_seen(study), *(f"- Looked at without a claim: {text}" for text in study.exploratory)]
    yield "8) Anything else?", "\n".join([*more, about_the_lock(lock)])
    yield "9) Name", study.title
    yield "10) Type of project", "Experiment"
