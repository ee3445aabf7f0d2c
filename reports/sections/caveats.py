"""What the plan itself allows, and a reader should know before its verdicts are believed."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.hypotheses import Hypothesis
from prereg.study import Study
from prereg.testkinds import BinomialScoreboard
from reports import words

USUAL_ALPHA = 0.05

_SEEN = {
    "pilot_runs": "pilot runs",
    "some_results": "some results of the planned runs",
    "all_results": "all results of the planned runs",
}


def lines(study: Study) -> tuple[str, ...]:
    """For the first page, a sentence each, the gravest first."""
    return (*_pilot(study), *_seen(study), *_loose(study), *_separate(study), *_weak(study))


def _pilot(study: Study) -> Iterator[str]:
    if study.kind == "pilot" and study.hypotheses:
        yield "This is a pilot: its plan claims nothing, and no verdict below may be quoted as a finding."


def _seen(study: Study) -> Iterator[str]:
    """What the authors had seen is their own word, and they are the ones whom it does not suit."""
    status = study.data_status
    if status.seen != "nothing":
        named = f": {'; '.join(pilot.rstrip('.') for pilot in status.pilots)}" if status.pilots else ""
        yield f"When they made the plan, its authors had seen {_SEEN[status.seen]}{named}."


def _loose(study: Study) -> Iterator[str]:
    for one in study.hypotheses:
        if one.alpha > USUAL_ALPHA:
            yield f"{one.id} is tested at alpha {one.alpha:g}, not at the usual {USUAL_ALPHA:g}."


def _separate(study: Study) -> Iterator[str]:
    """Claims that share no error rate: each may err, so that some will.

    What waits for a gate errs only behind it: where the gate's claim does not hold, it is the gate that errs,
    and where it holds, all that waits for it may. So of a gate and what waits for it the larger rate counts.
    """
    rates = {one.family or f" {one.id}": _own_rate(study, one) for one in study.hypotheses}
    gate = {one.id: one.family or f" {one.id}" for one in study.hypotheses}
    behind: dict[str | None, list[str]] = {}
    for place in rates:
        members = [one for one in study.hypotheses if (one.family or f" {one.id}") == place]
        gates = {gate.get(one.gate) if one.gate else None for one in members} - {place}
        behind.setdefault(gates.pop() if len(gates) == 1 else None, []).append(place)

    def reached(place: str) -> float:
        return max(rates[place], sum(reached(one) for one in behind.get(place, ())))

    apart = [place for siblings in behind.values() if len(siblings) > 1 for place in siblings]
    alone = [place.strip() for place in apart if place.startswith(" ")]
    if alone:
        shown = words.joined((*alone[:5], f"{len(alone) - 5} more") if len(alone) > 6 else tuple(alone))
        total = sum(reached(place) for place in behind.get(None, ()))
        yield (
            f"{words.plural(len(apart), 'error rate')} stand apart ({shown}: in no family), and nothing "
            f"adjusts them for each other: the probability that some claim is confirmed that is not true "
            f"could reach {100 * min(1.0, total):.0f} %."
        )


def _own_rate(study: Study, one: Hypothesis) -> float:
    return study.families[one.family].alpha if one.family in study.families else one.alpha


def _weak(study: Study) -> Iterator[str]:
    if weak := tuple(one.id for one in study.hypotheses if one.acknowledge_underpowered):
        yield f"The authors knew that the power for {words.joined(weak)} might lie below 0.8."
    if silent := tuple(one.id for one in study.hypotheses if _needs_power(one)):
        named = words.joined(silent)
        yield f"The plan states no power for {named}: an effect that is there may well be missed."


def _needs_power(one: Hypothesis) -> bool:
    """Whether a claim came without an assumption to compute its power from. A control is no claim, and a
    scoreboard's predictions have their own."""
    counts = isinstance(one.test, BinomialScoreboard)
    return one.power is None and one.role != "control" and not one.acknowledge_underpowered and not counts
