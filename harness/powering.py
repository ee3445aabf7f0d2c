"""`harness prereg power`: the assumptions of a study file, simulated through the analysis of the report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

from harness.tasks.resolve import declared_size, load_task
from prereg.hypotheses import Hypothesis
from prereg.lock import LockedPower
from prereg.problems import Problem, Refused, Unreachable
from prereg.source import LoadedStudy
from prereg.stopping import GroupSequential
from prereg.study import Study
from reports.power.model import Bench, Model
from reports.power.simulate import Plan
from reports.power.summary import Figure, HypothesisPower, Stops, power_of

LEAST_POWER = 0.8
SIMULATIONS = 2_000
SEED_COUNTS = (3, 5, 8, 10)

_HEADS = ("power", "coverage", "bias", "type S", "type M", "inadmissible")

_LOCK_SIMULATIONS = (200, 1_000)
"""Fewest and most simulated studies of a lock."""
_LOCK_NUMBERS = 10_000_000
"""Random numbers that a lock may draw before it makes do with fewer studies: about a second of them."""


@dataclass(frozen=True, slots=True)
class StudyPower:
    """The power of a study's hypotheses, and what a reader should know of how it was found."""

    hypotheses: tuple[HypothesisPower, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain data; what could not be estimated is null."""
        return {"hypotheses": [_plain(asdict(one)) for one in self.hypotheses], "notes": list(self.notes)}


def counts_of(text: str, simulations: int) -> tuple[int, ...]:
    """Numbers of seeds from a command line. Raises Refused if one, or `simulations`, is out of range."""
    if not 100 <= simulations <= 100_000:
        raise Refused(Problem(f"--simulations is {simulations}; from 100 to 100,000 can be made"))
    parts = [part.strip() for part in text.split(",")]
    if wrong := [part for part in parts if not part.isdecimal() or not 2 <= int(part) <= 40]:
        hint = "Write them as in --seeds 3,5,8,10."
        raise Refused(Problem(f"--seeds holds {wrong[0]!r}, expected numbers from 2 to 40", hint=hint))
    return tuple(int(part) for part in parts)


def study_power(
    loaded: LoadedStudy, simulations: int = SIMULATIONS, seed_counts: Sequence[int] = SEED_COUNTS
) -> StudyPower:
    """Simulate the study. Raises Refused if no hypothesis declares assumptions, or some cannot be.

    Of the problem sets only the numbers of problems are needed: one that cannot be fetched is taken at its
    word.
    """
    sizes: dict[str, int | None] = {}
    unread = []
    for name, benchmark in loaded.study.data.benchmarks.items():
        try:
            sizes[name] = len(load_task(benchmark.source, loaded.folder).items)
        except Unreachable:
            sizes[name] = known = declared_size(benchmark.source)
            unread.append(f"{known} problems of {name}" if known else f"{name}, whose problems do not matter")
    plan = plan_of(loaded, sizes)
    if not plan.models:
        hint = "Give one `power: {effect: ..., sd: ...}`, in percentage points."
        raise Refused(loaded.problem("no hypothesis states what its power rests on", "hypotheses", hint=hint))
    found = power_of(plan, simulations, seed_counts, _threads())
    notes = list(_notes(loaded.study, plan))
    if unread:
        notes.append(
            "Not read, since they cannot be had from here, and taken as published or as the study says: "
            f"{', '.join(unread)}."
        )
    return StudyPower(found, tuple(notes))


def locked_power(
    loaded: LoadedStudy, sizes: Mapping[str, int | None]
) -> tuple[dict[str, LockedPower], list[Problem]]:
    """The power that a lock holds, by hypothesis, and the hypotheses that it refuses for theirs.

    Refused is a power that lies below 0.8 by more than two Monte-Carlo errors and is not acknowledged.
    `sizes` are the problems of each benchmark, None where that is not known. The number of simulated studies
    follows from the study alone.
    """
    plan = plan_of(loaded, sizes)
    if not plan.models:
        return {}, []
    each = len(set(loaded.study.seeds)) * sum(model.numbers_drawn for model in plan.models.values())
    fewest, most = _LOCK_SIMULATIONS
    simulations = max(fewest, min(most, _LOCK_NUMBERS // each))
    found = power_of(plan, simulations, (), _threads(), search=False)
    facts = {
        one.hypothesis: LockedPower(
            simulations=simulations,
            seeds=one.planned,
            power=one.at_plan.power.value,
            monte_carlo_error=one.at_plan.power.error,
        )
        for one in found
    }
    return facts, [problem for one in found for problem in _underpowered(loaded, one)]


def plan_of(loaded: LoadedStudy, sizes: Mapping[str, int | None]) -> Plan:
    """The part of a study that can be simulated.

    Raises Refused for assumptions that cannot be, and for a number of problems that matters and is not known.
    """
    study = loaded.study
    models: dict[str, Model] = {}
    for index, hypothesis in enumerate(study.hypotheses):
        if hypothesis.power is None:
            continue
        if unknown := [name for name in study.weights(hypothesis.benchmarks) if sizes[name] is None]:
            _refuse_unknown(loaded, index, hypothesis, unknown)
        benches = [
            Bench(sizes[name] or 1, study.data.benchmarks[name].samples, share)
            for name, share in study.weights(hypothesis.benchmarks).items()
        ]
        try:
            models[hypothesis.id] = Model.of(study.id, hypothesis, benches)
        except ValueError as error:
            raise Refused(loaded.problem(str(error), "hypotheses", index, "power")) from None
    return Plan.of(study, models)


def _refuse_unknown(loaded: LoadedStudy, index: int, hypothesis: Hypothesis, unknown: Sequence[str]) -> None:
    """Refuse to simulate problems whose number is not known; an error over seeds alone does not see them."""
    over_seeds_alone = not hypothesis.over_problems and hypothesis.population.problems != "sampled"
    if hypothesis.power is not None and hypothesis.power.base_accuracy is None and over_seeds_alone:
        return
    message = (
        f"the power of {hypothesis.id} depends on the number of problems of {', '.join(unknown)}, "
        "which cannot be read from here"
    )
    hint = (
        "give the source a `limit` or a local copy, or run this where it can be fetched; without "
        "`base_accuracy`, an error over seeds alone does not need the number"
    )
    raise Refused(loaded.problem(message, "hypotheses", index, "power", hint=hint))


def render(power: StudyPower) -> str:
    """The figures as text, a hypothesis at a time."""
    lines: list[str] = []
    for one in power.hypotheses:
        lines += [f"{one.hypothesis}: {one.simulations:,} simulated studies", ""]
        lines.append("  seeds  " + "".join(f"{name:<16}" for name in _HEADS).rstrip())
        for row in one.curve:
            figures = (row.power, row.coverage, row.bias, row.type_s, row.type_m, row.inadmissible)
            mark = "*" if row.seeds == one.planned else " "
            lines.append(f"  {row.seeds:>4}{mark}  " + "".join(f"{_figure(f):<16}" for f in figures).rstrip())
        lines.append("")
        if one.stops is not None:
            lines += [*_stops(one.stops, several=len(power.hypotheses) > 1), ""]
        if not isnan(one.smallest_effect.value):
            smallest = one.smallest_effect
            lines.append(
                f"  smallest effect shown with a power of {LEAST_POWER:g} on {one.planned} seeds: "
                f"{smallest.value:.2f} ({smallest.error:.2f}) points"
            )
            lines.append("")
    lines.append("* the seeds of the study; in parentheses the Monte-Carlo standard error")
    return "\n".join([*lines, *power.notes])


def _stops(stops: Stops, *, several: bool) -> list[str]:
    last = len(stops.after)
    lines = []
    for number, (seeds, at, shown) in enumerate(
        zip(stops.after, stops.at, stops.shown, strict=True), start=1
    ):
        ends = "goes on to" if number == last else "is decided at"
        lines.append(
            f"  {ends} look {number}, after {seeds} seeds: {_figure(at)} of studies; "
            f"shown there: {_figure(shown)}"
        )
    lines.append(f"  seeds that it needs on average: {_figure(stops.seeds)}")
    if several:
        lines.append(f"  seeds that all of these need, so that none waits: {_figure(stops.study_seeds)}")
    return lines


def _figure(figure: Figure) -> str:
    if isnan(figure.value):
        return "-"
    return f"{figure.value:.3f} ({figure.error:.3f})" if not isnan(figure.error) else f"{figure.value:.3f}"


def _underpowered(loaded: LoadedStudy, one: HypothesisPower) -> list[Problem]:
    index = next(i for i, h in enumerate(loaded.study.hypotheses) if h.id == one.hypothesis)
    hypothesis = loaded.study.hypotheses[index]
    power = one.at_plan.power
    if hypothesis.power is None or hypothesis.acknowledge_underpowered:
        return []
    if power.value + 2 * power.error >= LEAST_POWER:
        return []
    message = (
        f"hypothesis `{one.hypothesis}` has a power of {power.value:.2f} ({one.simulations:,} simulated "
        f"studies through its test, family and gates) with {one.planned} seeds; {LEAST_POWER} is expected"
    )
    hint = (
        "`harness prereg power` shows what more seeds give. Plan more, or write "
        "`acknowledge_underpowered: true` to run it all the same."
    )
    return [loaded.problem(message, "hypotheses", index, "power", hint=hint)]


def _notes(study: Study, plan: Plan) -> list[str]:
    notes = []
    if isinstance(study.stopping, GroupSequential):
        notes.append(
            "The plan has looks, which belong to its own number of seeds: no other number was simulated. "
            "Coverage is that of the interval at the look that is shown."
        )
    for hypothesis in study.hypotheses:
        model = plan.models.get(hypothesis.id)
        if hypothesis.gate is not None and hypothesis.gate not in plan.models:
            notes.append(
                f"{hypothesis.id}: its gate, {hypothesis.gate}, states no assumptions; this is the power "
                "once it is open"
            )
        if model is not None and model.sampling_sd > model.assumption.sd:
            notes.append(
                f"{hypothesis.id}: sampled answers alone give an sd of {model.sampling_sd:.2g} points, more "
                f"than the sd of {model.assumption.sd:g} that it states; that much was simulated"
            )
    if len(plan.models) > 1:
        notes.append(
            "Hypotheses are simulated independently of each other. Where they are about the same runs they "
            "are not; behind a gate the true power is then mostly higher."
        )
    return notes


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and isnan(value) else value


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
