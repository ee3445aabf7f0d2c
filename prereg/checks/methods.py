"""The methods of each arm: combinations that would compute something else than their names say."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.problems import Problem
from prereg.rewards import (
    Continuations,
    ImplicitPrmReward,
    McAdvantageReward,
    McValueHardReward,
    StepValues,
    UniformBoundaries,
)
from prereg.selections import HistoryPredictor, NearestHalfSelection
from prereg.source import LoadedStudy
from prereg.sources import BuiltinTask
from prereg.trainer import EntropyCredit, MarginCredit, ShuffledCredit, Trainer
from prereg.yamltree import Where

Fault = tuple[Where, str, str | None]
"""Path within the trainer, message, hint."""


def faults(trainer: Trainer) -> Iterator[Fault]:
    """What does not fit together in one trainer's methods. Everything else composes."""
    yield from _idle(trainer)
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


def _idle(trainer: Trainer) -> Iterator[Fault]:
    """Settings at which a method does nothing, or what another does."""
    credit, reward, selection = trainer.credit, trainer.reward, trainer.selection
    if isinstance(credit, MarginCredit | ShuffledCredit) and credit.floor == 1:
        message = f"with a floor of 1 every token has the same score: `{credit.kind}` would be `uniform`"
        yield ("credit", "floor"), message, "Lower `floor`."
    if isinstance(credit, EntropyCredit) and credit.share == 1:
        yield (
            ("credit", "share"),
            "with a share of 1 all tokens are kept: `entropy` would be `uniform`",
            ("Lower `share`, or use `uniform`."),
        )
    if isinstance(reward, ImplicitPrmReward) and reward.learning_rate == 0:
        message = "at a rate of 0 the reward model stays the start policy: its token rewards are 0"
        yield ("reward", "learning_rate"), message, "Raise it, or use the reward `outcome`."
    estimator = reward.estimator if isinstance(reward, McValueHardReward) else None
    if isinstance(estimator, Continuations) and estimator.count == 1:
        message = "of one continuation the mean and the best are the same: it would be `mc_value_soft`"
        yield ("reward", "estimator", "count"), message, "Draw two continuations or more."
    if isinstance(selection, NearestHalfSelection):
        if selection.exploration == 1:
            message = (
                "all prompts are drawn from the pool at random: nothing would be chosen by the prediction"
            )
            yield ("selection", "exploration"), message, "Lower `exploration`, or use `uniform`."
        predictor = selection.predictor
        history = predictor if isinstance(predictor, HistoryPredictor) else HistoryPredictor()
        if history.prior == "none" and history.prior_samples != HistoryPredictor().prior_samples:
            message = "without a prior no base-model samples are drawn"
            hint = "Write `prior: base_model`, or leave out `prior_samples`."
            yield ("selection", "predictor", "prior_samples"), message, hint


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
