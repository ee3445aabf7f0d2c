"""The answers to OSF's standard form, the OSF Preregistration (Bowman et al., doi:10.31222/osf.io/epgjd)."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.exports.answers import Answer, about_the_lock, data_seen, left_out, measured, runs_planned
from prereg.lock import Lock
from prereg.planned import missing_words
from prereg.show import part_of_plan
from prereg.stopping import stopping_rule
from prereg.study import Study

FORM = "OSF Preregistration"


def answers(study: Study, lock: Lock | None) -> tuple[Answer, ...]:
    """One answer for each question, in the form's order."""
    return tuple(
        Answer(section, question, text)
        for section, parts in (
            ("Study Information", _information(study)),
            ("Design Plan", _design(study)),
            ("Sampling Plan", _sampling(study)),
            ("Variables", _variables(study)),
            ("Analysis Plan", _analysis(study)),
            ("Other", iter([("Other", about_the_lock(lock))])),
        )
        for question, text in parts
    )


def _information(study: Study) -> Iterator[tuple[str, str]]:
    yield "Title", study.title
    yield "Authors", ", ".join(study.authors)
    yield "Description", study.description or study.title
    claims = [f"- {h.id}: {h.statement} ({_direction(h.direction)})" for h in study.hypotheses]
    yield "Hypotheses", "\n".join(claims) or "None: nothing is claimed."


def _design(study: Study) -> Iterator[tuple[str, str]]:
    yield "Study type", "Experiment: every training seed is run under every arm."
    yield "Blinding", "No blinding is involved: training, sampling and grading are done by programs."
    yield (
        "Is there any additional blinding in this study?",
        (
            "Verdicts follow from the locked plan and the ledger by a program. Looks at results "
            "before all runs are complete are recorded."
        ),
    )
    yield "Study design", part_of_plan(study, "arms") + "\n\n" + part_of_plan(study, "data")
    yield (
        "Randomization",
        (
            "Arms are not assigned at random but crossed with the seeds: the same seed gives every "
            "arm the same prompts in the same order, and the same sampling noise."
        ),
    )


def _sampling(study: Study) -> Iterator[tuple[str, str]]:
    existing = {
        "nothing": "Registration prior to creation of data",
        "pilot_runs": "Registration prior to creation of data",
        "some_results": "Registration prior to analysis of the data",
        "all_results": "Registration following analysis of the data",
    }
    yield "Existing data", existing[study.data_status.seen]
    yield "Explanation of existing data", data_seen(study)
    yield (
        "Data collection procedures",
        (
            "Each run trains one arm from one base model with one seed until every budget is "
            "reached, and is "
            "evaluated at each:\n" + part_of_plan(study, "budget")
        ),
    )
    yield "Sample size", runs_planned(study)
    yield "Sample size rationale", _rationale(study)
    yield (
        "Stopping rule",
        (
            f"{stopping_rule(study.stopping) or 'The number of runs is fixed.'} Beyond that, no run is "
            "stopped, added or left out for its results; a run that is cut off is resumed at its last commit."
        ),
    )


def _variables(study: Study) -> Iterator[tuple[str, str]]:
    yield "Manipulated variables", part_of_plan(study, "arms")
    lines = [f"- {h.id}: {measured(study, h)}" for h in study.hypotheses]
    yield "Measured variables", "\n".join(lines) or "Accuracy on every benchmark, at every budget."
    weights = ", ".join(f"{name} {share:.3g}" for name, share in study.weights().items())
    yield "Indices", f"Means over benchmarks are weighted: {weights}."


def _analysis(study: Study) -> Iterator[tuple[str, str]]:
    yield "Statistical models", part_of_plan(study, "claims")
    yield "Transformations", "None. Accuracies are differences in percentage points, paired by seed."
    alphas = [f"- {h.id}: alpha {h.alpha:g}, {_direction(h.direction)}" for h in study.hypotheses]
    families = [f"- Family {name}: {f.method}, alpha {f.alpha:g}" for name, f in study.families.items()]
    yield "Inference criteria", "\n".join([*alphas, *families]) or "No test is made."
    yield "Data exclusion", left_out(study)
    yield "Missing data", missing_words(study.missing)
    yield "Exploratory analysis", "\n".join(f"- {text}" for text in study.exploratory) or "None is planned."


def _rationale(study: Study) -> str:
    lines = []
    for h in study.hypotheses:
        if h.power is not None:
            known = "; known to be underpowered" if h.acknowledge_underpowered else ""
            lines.append(
                f"- {h.id}: expected {h.power.effect:+g} points, standard deviation over seeds "
                f"{h.power.sd:g} points{known}"
            )
    return "\n".join(lines) or "No effect was assumed; the number of seeds is what could be run."


def _direction(direction: str) -> str:
    words = {"two_sided": "two-sided", "non_inferior": "non-inferiority", "equivalent": "equivalence"}
    return words.get(direction, f"one-sided, {direction}")
