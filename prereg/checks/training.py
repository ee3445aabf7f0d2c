"""The trainer of each arm: fields that need each other, and schedules that fit the comparison."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.checks import methods
from prereg.problems import Problem
from prereg.source import LoadedStudy
from prereg.sources import BuiltinTask
from prereg.trainer import MarginCredit, ShuffledCredit, Trainer


def arms_are_consistent(loaded: LoadedStudy) -> Iterator[Problem]:
    """The fields of each arm's trainer fit together.

    What is wrong already in the shared trainer is reported once, there; the rest at the arm that causes it.
    """
    study = loaded.study
    shared = list(_faults(study.trainer))
    found = {name: list(_faults(study.trainer_of(name))) for name in study.arms}
    for path, message, hint in shared:
        if any((path, message, hint) in faults for faults in found.values()):
            yield loaded.problem(message, "trainer", *path, hint=hint)
    for name, faults in found.items():
        for fault in faults:
            if fault not in shared:
                path, message, hint = fault
                yield loaded.problem(message, "arms", name, "trainer", *path, hint=hint)


def _faults(trainer: Trainer) -> Iterator[methods.Fault]:
    loss, credit = trainer.loss, trainer.credit
    if loss.aggregation == "constant" and loss.constant is None:
        hint = "Add `constant:`, the denominator in tokens a sequence."
        yield ("loss", "aggregation"), "the aggregation `constant` needs `constant`", hint
    if loss.aggregation != "constant" and loss.constant is not None:
        hint = "Remove it, or set `aggregation: constant`."
        yield (
            ("loss", "constant"),
            f"`constant` has no meaning for the aggregation `{loss.aggregation}`",
            hint,
        )
    if isinstance(credit, MarginCredit | ShuffledCredit) and credit.low >= credit.high:
        message = f"`low` must be below `high`, found {credit.low:g} and {credit.high:g}"
        yield ("credit", "low"), message, "Margins below `low` score 1, above `high` they score `floor`."
    yield from methods.faults(trainer)
    completions = trainer.prompts_per_update * trainer.samples_per_prompt
    if completions % trainer.optimizer_steps_per_update:
        message = (
            f"{completions} completions an update ({trainer.prompts_per_update} prompts x "
            f"{trainer.samples_per_prompt} samples) cannot be split into "
            f"{trainer.optimizer_steps_per_update} equal mini-batches"
        )
        yield ("optimizer_steps_per_update",), message, "Choose a number that divides the completions."
    if trainer.micro_batch_tokens <= trainer.max_new_tokens:
        message = (
            f"a micro-batch of {trainer.micro_batch_tokens} tokens does not hold a prompt with a completion "
            f"of {trainer.max_new_tokens} tokens"
        )
        yield ("micro_batch_tokens",), message, "Raise it above the longest prompt and completion together."


def schedule_axis_has_budget(loaded: LoadedStudy) -> Iterator[Problem]:
    """A schedule is a function of the spent share of a budget, so there must be one on its axis."""
    declared = loaded.study.budget.declared()
    for name in loaded.study.arms:
        schedule = loaded.study.trainer_of(name).optimizer.schedule
        if (schedule.kind != "constant" or schedule.warmup > 0) and schedule.axis not in declared:
            message = f"the learning rate of arm `{name}` follows `{schedule.axis}`, which has no budget"
            hint = f"Set `budget.{schedule.axis}`, or let the schedule follow an axis with a budget."
            yield loaded.problem(message, *_schedule_path(loaded, name), "axis", hint=hint)


def decay_follows_the_matched_axis(loaded: LoadedStudy) -> Iterator[Problem]:
    """Arms whose learning rate decays on one axis can be compared only on it.

    On any other axis they are read before or after the end of the decay, at points that differ by arm. A
    warm-up alone is accepted: it is over long before a budget is read.
    """
    study = loaded.study
    for index, hypothesis in enumerate(study.hypotheses):
        for arm in dict.fromkeys((hypothesis.control, hypothesis.treatment)):
            if arm not in study.arms:
                continue
            schedule = study.trainer_of(arm).optimizer.schedule
            if schedule.kind != "constant" and schedule.axis != hypothesis.matched_on:
                message = (
                    f"hypothesis `{hypothesis.id}` is matched on `{hypothesis.matched_on}`, but the learning "
                    f"rate of arm `{arm}` decays on `{schedule.axis}`"
                )
                hint = "Match on the axis of the decay, or use a constant learning rate."
                yield loaded.problem(message, "hypotheses", index, "matched_on", hint=hint)


def prompts_enough_for_an_update(loaded: LoadedStudy) -> Iterator[Problem]:
    """An update draws different prompts, so there must be as many.

    A file without `limit` is counted by the harness, when it reads it for the lock.
    """
    source = loaded.study.data.training.source
    builtin = isinstance(source, BuiltinTask)
    size = source.size if isinstance(source, BuiltinTask) else source.limit
    for name in loaded.study.arms:
        prompts = loaded.study.trainer_of(name).prompts_per_update
        if size is not None and prompts > size:
            message = f"arm `{name}` needs {prompts} prompts an update, but only {size} are there"
            hint = "Take more problems, or fewer prompts an update."
            field = "size" if builtin else "limit"
            yield loaded.problem(message, "data", "training", "source", field, hint=hint)


def _schedule_path(loaded: LoadedStudy, arm: str) -> tuple[str, ...]:
    """Where an arm's schedule is written: its own difference, or the shared trainer."""
    own = ("arms", arm, "trainer", "optimizer", "schedule")
    return own if own in loaded.positions.values else ("trainer", "optimizer", "schedule")
