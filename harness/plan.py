"""What a study will run and what it will cost, before anything is run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from harness.cells import cells_of
from prereg.rewards import Continuations, StepValues, UniformBoundaries
from prereg.selections import FilterHomogeneousSelection, NearestHalfSelection, ScreeningPredictor
from prereg.study import Study
from prereg.trainer import Trainer


@dataclass(frozen=True, slots=True)
class ArmCost:
    """What one run of an arm costs at most; None where the study gives no bound."""

    arm: str
    model: str
    runs: int
    updates: int | None
    """At most, where updates are the only budget or bound the others; else None: the last budget decides."""
    training_tokens: int | None
    """At most, in generated tokens."""
    training_device_seconds: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A study in numbers."""

    runs: tuple[str, ...]
    budgets: dict[str, float]
    evaluations_per_run: int | None
    """At most: the start, every budget, and the grid up to the last budget; None where no budget bounds how
    far the grid goes."""
    samples_per_evaluation: int
    tokens_per_evaluation: int
    """At most: every sample at its cap."""
    evaluation_tokens: int | None
    """The same of the whole study; None where the number of evaluations has no bound."""
    arms: tuple[ArmCost, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def plan_of(study: Study, problems: dict[str, int]) -> Plan:
    """The plan of a study whose benchmarks have `problems` problems each.

    A run goes on until its last budget is reached, so an upper bound on an axis is its own budget only where
    it is the last; the bounds here hold whatever the order.
    """
    cells = cells_of(study)
    budgets = {str(axis): value for axis, value in study.budget.declared().items()}
    evaluations = most_evaluations(study)
    samples = sum(problems[name] * b.samples for name, b in study.data.benchmarks.items())
    tokens = sum(problems[name] * b.samples * b.max_new_tokens for name, b in study.data.benchmarks.items())
    arms = tuple(_arm_cost(study, arm, model, budgets) for model in study.models for arm in study.arms)
    return Plan(
        runs=tuple(cell.run_id for cell in cells),
        budgets=budgets,
        evaluations_per_run=evaluations,
        samples_per_evaluation=samples,
        tokens_per_evaluation=tokens,
        evaluation_tokens=None if evaluations is None else tokens * evaluations * len(cells),
        arms=arms,
        notes=_notes(study, budgets),
    )


def most_evaluations(study: Study) -> int | None:
    """Evaluations of a run at most; None where the grid can go on for longer than any budget tells."""
    points = _most_grid_points(study)
    return None if points is None else _readings(study) + points


def evaluations_at(study: Study, updates: int, generated_tokens: int) -> int:
    """Evaluations of a run that ends after so many updates and tokens.

    A budget of updates that lies on the grid is evaluated once; that other budgets are reached at a point of
    the grid, or two at one update, is left to chance and not counted.
    """
    grid = study.evaluation.grid
    if grid is None:
        return _readings(study)
    reached = updates if grid.axis == "updates" else generated_tokens
    points = min(updates, reached // grid.every)
    on_grid = grid.axis == "updates" and (study.budget.updates or 1) % grid.every == 0
    return _readings(study) + points - (on_grid and study.budget.updates is not None)


def _readings(study: Study) -> int:
    """Evaluations of the start and at the budgets: twice as many where they are measured twice."""
    return (1 + len(study.budget.declared())) * (2 if study.evaluation.reevaluate else 1)


def _arm_cost(study: Study, arm: str, model: str, budgets: dict[str, float]) -> ArmCost:
    spec = study.trainer_of(arm)
    most = most_tokens_an_update(spec)
    only_updates = set(budgets) == {"updates"}
    updates = int(budgets["updates"]) if only_updates else None
    tokens: int | None = None
    if most is not None and budgets.keys() <= {"updates", "generated_tokens"}:
        by_updates = int(budgets.get("updates", 0)) * most
        by_tokens = int(budgets["generated_tokens"]) + most if "generated_tokens" in budgets else 0
        tokens = max(by_updates, by_tokens)
    seconds = budgets["device_seconds"] if set(budgets) == {"device_seconds"} else None
    return ArmCost(arm, model, len(study.seeds), updates, tokens, seconds)


def most_tokens_an_update(spec: Trainer) -> int | None:
    """Generated tokens of an update at most, of every charged purpose; None where the study bounds none.

    The steps of a text have no bound but its tokens, and screening the whole training set before the first
    update depends on its size.
    """
    group = spec.samples_per_prompt * spec.max_new_tokens
    rollouts = most = spec.prompts_per_update * group
    selection, reward = spec.selection, spec.reward
    if isinstance(selection, FilterHomogeneousSelection):
        most *= selection.max_rounds
    if isinstance(selection, NearestHalfSelection):
        predictor = selection.predictor
        if isinstance(predictor, ScreeningPredictor):
            pool = spec.prompts_per_update * selection.pool_ratio
            most += pool * predictor.samples * spec.max_new_tokens
        elif predictor.prior == "base_model":
            return None
    if isinstance(reward, StepValues) and isinstance(reward.estimator, Continuations):
        if not isinstance(reward.boundaries, UniformBoundaries):
            return None
        most += rollouts * reward.estimator.count * reward.boundaries.steps
    return most


def _most_grid_points(study: Study) -> int | None:
    """Evaluations of the grid at most, until the last budget is reached; None where no budget bounds them.

    The grid is looked at once after each update. A budget on its own axis ends it; a budget in updates ends
    one in tokens as well. A budget in tokens or time hardly bounds updates: answers may be of one token.
    """
    grid = study.evaluation.grid
    if grid is None:
        return 0
    budgets = study.budget.declared()
    if grid.axis == "updates":
        return int(budgets["updates"] // grid.every) if set(budgets) == {"updates"} else None
    if not budgets.keys() <= {"updates", "generated_tokens"}:
        return None
    # The update that crosses the budget in tokens may reach one point more.
    by_tokens = int(budgets["generated_tokens"] // grid.every) + 1 if "generated_tokens" in budgets else 0
    by_updates = 0
    if "updates" in budgets:
        most = [most_tokens_an_update(study.trainer_of(arm)) for arm in study.arms]
        known = [int(budgets["updates"] * one // grid.every) for one in most if one is not None]
        by_updates = (
            min(int(budgets["updates"]), max(known)) if len(known) == len(most) else int(budgets["updates"])
        )
    return max(by_tokens, by_updates)


def _notes(study: Study, budgets: dict[str, float]) -> tuple[str, ...]:
    notes = []
    if study.reserve_seeds:
        each = len(study.arms) * len(study.models)
        seeds, most = " and ".join(map(str, study.reserve_seeds)), each * len(study.reserve_seeds)
        notes.append(
            f"reserve seeds {seeds}: {most} more runs at most, {each} a seed, only "
            "in the place of seeds of which a run fails for good; not counted above"
        )
    if len(budgets) > 1:
        notes.append(
            "each run ends with its last budget; which one that is depends on how long the "
            "answers are and how fast the machine is"
        )
    if most_evaluations(study) is None:
        notes.append(
            "the evaluation grid goes on until the last budget is reached, and how far that is no budget "
            "bounds: `--device` and `--measure` predict the evaluations of each arm"
        )
    if study.budget.clock == "counted":
        notes.append(
            "seconds are counted from the work and not measured: results on that axis are a rehearsal"
        )
    return tuple(notes)
