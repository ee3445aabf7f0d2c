"""Questions of a registry with the answers that a plan gives, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from prereg.hypotheses import Hypothesis
from prereg.lock import Lock
from prereg.planned import exclusion_words, reserve_words
from prereg.show import AXIS_WORDS
from prereg.study import Study


@dataclass(frozen=True, slots=True)
class Answer:
    """One question of a form."""

    section: str
    """Part of the form; empty where it has no parts."""
    question: str
    answer: str


def as_markdown(title: str, answers: Sequence[Answer]) -> str:
    """A page to paste from: a heading a question, the answer below it."""
    lines = [f"# {title}", ""]
    section = ""
    for one in answers:
        if one.section != section:
            section = one.section
            lines += [f"## {section}", ""]
        lines += [f"### {one.question}", "", one.answer, ""]
    return "\n".join(lines)


def as_json(form: str, answers: Sequence[Answer]) -> str:
    """The same for programs: the form's name, and a list of section, question and answer."""
    document = {"form": form, "answers": [asdict(one) for one in answers]}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def about_the_lock(lock: Lock | None) -> str:
    """What binds the answers to a plan; they themselves bind nothing."""
    if lock is None:
        return "The plan is not locked yet: these answers are a draft."
    text = (
        f"These answers are an extract. What binds is the locked plan with the SHA-256 {lock.sha256}, made "
        f"{lock.created} by the clock of its machine."
    )
    if lock.amends is not None:
        amends = lock.amends
        text += (
            f" It is amendment {amends.number}, of the lock {amends.previous}, for this reason: "
            f"{amends.reason} Known by then: {amends.known}."
        )
    return text


def data_seen(study: Study) -> str:
    """What the authors say they had seen, and their pilots."""
    status = study.data_status
    seen = {
        "nothing": "No results of the planned runs, or of runs like them, had been seen.",
        "pilot_runs": "Pilot runs had been seen; none of the planned runs.",
        "some_results": "Some results of the planned runs had been seen.",
        "all_results": "All results of the planned runs had been seen.",
    }[status.seen]
    pilots = [f"- {text}" for text in status.pilots]
    if status.pilot_seeds:
        pilots.append(f"- Seeds of pilots, not used again: {', '.join(map(str, status.pilot_seeds))}.")
    return "\n".join([seen, *pilots])


def measured(study: Study, hypothesis: Hypothesis) -> str:
    """The outcome of a hypothesis, in words."""
    metric = hypothesis.metric
    name = f"pass@{metric.k}" if metric.kind == "pass" else "avg@n: mean accuracy over samples"
    names = ", ".join(study.weights(hypothesis.benchmarks))
    return f"{name}, over {names}, in percentage points, {AXIS_WORDS[hypothesis.matched_on][0]}"


def runs_planned(study: Study) -> str:
    """How many runs, and why so many."""
    arms, models, seeds = len(study.arms), len(study.models), len(study.seeds)
    text = (
        f"{_count(arms * models * seeds, 'run')}: {_count(arms, 'arm')} x {_count(models, 'model')} x "
        f"{_count(seeds, 'training seed')} "
        f"({', '.join(map(str, study.seeds))}), paired across arms. The unit of replication is the seed."
    )
    return f"{text} {reserve_words(study)}".rstrip()


def left_out(study: Study) -> str:
    """Which runs are left out, by which rules."""
    rules = [h.intercurrent for h in study.hypotheses]
    diverged = any(rule.divergence == "exclude_pair" for rule in rules)
    unless = ", unless the analysis of a hypothesis leaves its seed out" if diverged else ""
    lines = [
        f"No run is excluded for its score. A run whose loss stops being finite stays, and is named{unless}. "
        "One that is cut off is resumed. An answer that is cut at its cap counts as wrong."
    ]
    if any(rule.crash == "exclude_pair" for rule in rules):
        lines.append("- The analysis of a hypothesis leaves out the seed of a run that failed for good.")
    lines += [f"- Left out of both arms by {exclusion_words(rule)}." for rule in study.exclusions]
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
