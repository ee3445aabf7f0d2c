"""The methods of each arm: combinations that would compute something else than their names say."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.problems import Problem
from prereg.rewards import Continuations, McAdvantageReward, StepValues, UniformBoundaries
from prereg.selections import NearestHalfSelection
from prereg.source import LoadedStudy
from prereg.sources import BuiltinTask
from prereg.trainer import Trainer
from prereg.yamltree import Where

Fault = tuple[Where, str, str | None]
"""Path within the trainer, message, hint."""


def faults(trainer: Trainer) -> Iterator[Fault]:
    """What does not fit together in one trainer's methods. Everything else composes."""
    reward = trainer.reward
    if not isinstance(reward, StepValues):
        return
    one_step = isinstance(reward.boundaries, UniformBoundaries) and reward.boundaries.steps == 1
    if one_step and reward.shuffled:
        message = "a completion of one step is the same in any order: the placebo would be the method"
        yield ("reward", "shuffled"), message, "Use more steps, or leave out `shuffled`."
    sampled_root = isinstance(reward.estimator, Continuations) and reward.estimator.root == "continuations"
    if sampled_root and not isinstance(reward, McAdvantageReward):
        message = (
            f"`{reward.kind}` does not use the value of the bare prompt, so it would be paid for nothing"
        )
        yield ("reward", "estimator", "root"), message, "Leave out `root`."


def pool_fits_the_training_set(loaded: LoadedStudy) -> Iterator[Problem]:
    """A pool of candidates needs as many prompts; a file without `limit` is counted when a run begins."""
    source = loaded.study.data.training.source
    size = source.size if isinstance(source, BuiltinTask) else source.limit
    for name in loaded.study.arms:
        trainer = loaded.study.trainer_of(name)
        pool = candidates(trainer)
        if size is not None and pool > size and isinstance(trainer.selection, NearestHalfSelection):
            message = (
                f"arm `{name}` chooses from {pool} candidates an update ({trainer.prompts_per_update} "
                f"prompts x pool_ratio {trainer.selection.pool_ratio}), but only {size} prompts are there"
            )
            own = ("arms", name, "trainer", "selection")
            where = own if own in loaded.positions.values else ("trainer", "selection")
            yield loaded.problem(message, *where, hint="Lower `pool_ratio`, or train on more prompts.")


def candidates(trainer: Trainer) -> int:
    """Different prompts that an update looks at."""
    selection = trainer.selection
    ratio = selection.pool_ratio if isinstance(selection, NearestHalfSelection) else 1
    return trainer.prompts_per_update * ratio
