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
    return (*_seen(study), *_loose(study), *_separate(study), *_weak(study))


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

    What waits for a gate cannot be the first to err.
    """
    alone = [one for one in study.hypotheses if one.family is None and one.gate is None]
    rates = [one.alpha for one in alone] + [
        study.families[name].alpha
        for name in dict.fromkeys(one.family for one in study.hypotheses)
        if name in study.families
    ]
    if len(rates) > 1 and alone:
        names = [one.id for one in alone]
        shown = words.joined((*names[:5], f"{len(names) - 5} more") if len(names) > 6 else tuple(names))
        yield (
            f"{words.plural(len(rates), 'error rate')} stand apart ({shown}: in no family), and nothing "
            f"adjusts them for each other: were no claim true, the probability that some claim is confirmed "
            f"all the same could reach {100 * min(1.0, sum(rates)):.0f} %."
        )


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
