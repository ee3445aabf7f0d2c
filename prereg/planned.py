"""What a plan says of runs that fail, that were made otherwise, or that are missing: in words."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.exclusions import COUNTED, NAMED, Exclusion, Missing
from prereg.reserve import ATTEMPTS
from prereg.study import Study

_TIMES = {2: "twice"}


def reserve_words(study: Study) -> str:
    """What reserve seeds are there, and what calls for them; empty without any."""
    if not study.reserve_seeds:
        return ""
    listed = ", ".join(map(str, study.reserve_seeds))
    one = len(study.reserve_seeds) == 1
    return (
        f"{'Seed' if one else 'Seeds'} in reserve: {listed}. {'It is' if one else 'Each is'} run only in the "
        f"place of a seed of which a run ended with an error {_TIMES.get(ATTEMPTS, f'{ATTEMPTS} times')}, in "
        "every arm and on every model, and never in the place of one that diverged or came out badly."
    )


def exclusion_words(rule: Exclusion) -> str:
    """A rule in one sentence."""
    what = COUNTED.get(rule.field) or NAMED.get(rule.field, "unknown fact")
    if rule.above is not None:
        return f"`{rule.id}`: the seed of a run with more than {rule.above} {rule.field} ({what})"
    return f"`{rule.id}`: the seed of a run whose {rule.field} is not {rule.differs_from} ({what})"


def missing_words(missing: Missing) -> str:
    """What becomes of a comparison that lacks a pair."""
    samples = "A missing or ungraded sample always blocks its comparison."
    if missing.pairs == "inadmissible":
        return f"A comparison that lacks a pair of runs is inadmissible. {samples}"
    return (
        "Where a run failed for good and no reserve seed took its place, the verdict is on the complete "
        f"pairs, if they are {missing.at_least or 2} or more; each missing pair is named beside it, with the "
        "p that would result if the missing ones were like the worst of the others. A run that was never "
        f"started or was cut off is still to be made, and until then there is no verdict. {samples}"
    )


def rules(study: Study) -> Iterator[str]:
    """Every rule of the study of this kind, a sentence or two each; none where all are the defaults."""
    if words := reserve_words(study):
        yield words
    for rule in study.exclusions:
        yield f"Left out of both arms by {exclusion_words(rule)}."
    if study.missing != Missing():
        yield missing_words(study.missing)
