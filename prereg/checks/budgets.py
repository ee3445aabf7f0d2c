"""Budgets: every comparison needs one on its axis, and it must be one that can be read."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.fields import AXES
from prereg.problems import Problem
from prereg.source import LoadedStudy


def some_budget(loaded: LoadedStudy) -> Iterator[Problem]:
    """A run ends when all budgets are reached, so there must be one."""
    if not loaded.study.budget.declared():
        axes = ", ".join(f"`{axis}`" for axis in AXES)
        yield loaded.problem(
            "no budget is declared: a run would never end", "budget", hint=f"Set one of {axes}."
        )


def matched_axis_has_budget(loaded: LoadedStudy) -> Iterator[Problem]:
    """Arms are read where the budget of the matched axis is spent."""
    declared = loaded.study.budget.declared()
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        if hypothesis.matched_on not in declared:
            message = (
                f"hypothesis `{hypothesis.id}` is matched on `{hypothesis.matched_on}`, which has no budget"
            )
            have = ", ".join(f"`{axis}`" for axis in declared) or "no axis"
            hint = f"Set `budget.{hypothesis.matched_on}`; there is a budget on {have}."
            yield loaded.problem(message, "hypotheses", index, "matched_on", hint=hint)


def time_is_measured(loaded: LoadedStudy) -> Iterator[Problem]:
    """A claim about time needs measured time; the counted clock is for rehearsals, which are pilots."""
    study = loaded.study
    if study.kind == "pilot" or study.budget.clock != "counted":
        return
    for index, hypothesis in enumerate(study.hypotheses):
        if hypothesis.matched_on == "device_seconds":
            message = (
                f"hypothesis `{hypothesis.id}` is about device time, but the clock is `counted`, not measured"
            )
            hint = "Set `budget.clock: device`, or `kind: pilot` for a rehearsal."
            yield loaded.problem(message, "hypotheses", index, "matched_on", hint=hint)


def budget_holds_an_update(loaded: LoadedStudy) -> Iterator[Problem]:
    """A budget below the fewest tokens that one update can cost would be read at the start policy."""
    study = loaded.study
    budget = study.budget.generated_tokens
    for name in study.arms:
        trainer = study.trainer_of(name)
        fewest = trainer.prompts_per_update * trainer.samples_per_prompt
        if budget is not None and budget < fewest:
            message = (
                f"{budget} generated tokens hold no update of arm `{name}`: its {fewest} completions "
                f"have at least one token each"
            )
            yield loaded.problem(message, "budget", "generated_tokens", hint="Raise the budget.")
