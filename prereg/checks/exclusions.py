"""Exclusions must be blind to the outcome, and what is missing must be dealt with in one way."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.exclusions import COUNTED, NAMED, OUTCOMES
from prereg.explain import did_you_mean
from prereg.levels import share_of_alpha, smallest_p
from prereg.problems import Problem
from prereg.source import LoadedStudy
from prereg.stopping import GroupSequential
from prereg.testkinds import SignFlip


def exclusions_are_blind(loaded: LoadedStudy) -> Iterator[Problem]:
    """A rule uses a fact of how a run was made: one that exists, and that the outcome cannot move."""
    for index, rule in enumerate(loaded.study.exclusions):
        path = ("exclusions", index, "field")
        usable = (*COUNTED, *NAMED)
        if rule.field in OUTCOMES:
            message = (
                f"`{rule.field}` depends on the outcome: {OUTCOMES[rule.field]}. To leave runs out by it "
                "would be to choose among results"
            )
            hint = f"Use a fact of how the run was made: {', '.join(f'`{name}`' for name in usable)}."
            yield loaded.problem(message, *path, hint=hint)
        elif rule.field not in usable:
            near = did_you_mean(rule.field, usable)
            yield loaded.problem(f"a run records no `{rule.field}`", *path, hint=near)


def exclusions_have_one_bound(loaded: LoadedStudy) -> Iterator[Problem]:
    """A number is bounded by `above`, a text compared by `differs_from`."""
    for index, rule in enumerate(loaded.study.exclusions):
        if rule.field not in (*COUNTED, *NAMED):
            continue
        wanted, other = "above", "differs_from"
        if rule.field in NAMED:
            wanted, other = other, wanted
        hint = f"`{rule.field}` is the {COUNTED.get(rule.field) or NAMED[rule.field]}: say `{wanted}:`."
        if getattr(rule, other) is not None:
            message = f"`{other}` does not fit `{rule.field}`"
            yield loaded.problem(message, "exclusions", index, other, hint=hint)
        if getattr(rule, wanted) is None:
            message = f"the rule `{rule.id}` does not say which runs it leaves out"
            yield loaded.problem(message, "exclusions", index, hint=hint)


def exclusion_ids_are_unique(loaded: LoadedStudy) -> Iterator[Problem]:
    """The report names a rule by its id."""
    ids = [rule.id for rule in loaded.study.exclusions]
    for index, name in enumerate(ids):
        if name in ids[:index]:
            message = f"an exclusion `{name}` stands already"
            yield loaded.problem(message, "exclusions", index, "id", hint="Give each rule an id of its own.")


def missing_pairs_have_a_floor(loaded: LoadedStudy) -> Iterator[Problem]:
    """`complete_cases` says how many pairs are enough, and nothing else does."""
    missing, seeds = loaded.study.missing, len(set(loaded.study.seeds))
    if missing.pairs == "complete_cases" and missing.at_least is None:
        hint = f"Add `at_least:`, a number of pairs from 2 to {seeds}."
        message = "`complete_cases` does not say with how many pairs there is still a verdict"
        yield loaded.problem(message, "missing", "pairs", hint=hint)
    if missing.pairs == "inadmissible" and missing.at_least is not None:
        hint = "Remove it, or say `pairs: complete_cases`."
        message = "`at_least` has no use where a missing pair makes the verdict inadmissible"
        yield loaded.problem(message, "missing", "at_least", hint=hint)
    elif missing.at_least is not None and missing.at_least > seeds:
        message = f"at least {missing.at_least} pairs are asked for, and the study has {seeds} seeds"
        yield loaded.problem(message, "missing", "at_least", hint=f"Say at most {seeds}.")


def failure_is_decided_once(loaded: LoadedStudy) -> Iterator[Problem]:
    """A hypothesis that leaves failed runs out itself leaves nothing for `missing` to deal with."""
    if loaded.study.missing.pairs == "inadmissible":
        return
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        if hypothesis.intercurrent.crash == "exclude_pair":
            message = (
                "`crash: exclude_pair` and `missing.pairs: complete_cases` both say what becomes of a run "
                "that failed"
            )
            hint = "Leave `crash` out: `missing` names the pair, asks for enough of them, and bounds p."
            yield loaded.problem(message, "hypotheses", index, "intercurrent", "crash", hint=hint)


def looks_are_whole(loaded: LoadedStudy) -> Iterator[Problem]:
    """A planned look is made on all of its seeds: it does not wait to learn which pairs will be missing."""
    if loaded.study.missing.pairs == "complete_cases" and isinstance(loaded.study.stopping, GroupSequential):
        message = "`complete_cases` does not go with planned looks: a look is made on all of its seeds"
        hint = "Leave `missing` out, and keep seeds in `reserve_seeds` for runs that fail."
        yield loaded.problem(message, "missing", "pairs", hint=hint)


def fewest_pairs_can_decide(loaded: LoadedStudy) -> Iterator[Problem]:
    """With as few pairs as the plan accepts, an exact test can still give a p that is small enough."""
    study, fewest = loaded.study, loaded.study.missing.at_least
    if study.missing.pairs != "complete_cases" or fewest is None:
        return
    for hypothesis in study.hypotheses:
        level = hypothesis.alpha * share_of_alpha(study, hypothesis)
        floor = smallest_p(hypothesis, fewest)
        if not isinstance(hypothesis.test, SignFlip) or level == 0 or floor <= level * (1 + 1e-12):
            continue
        message = (
            f"`sign_flip` on {fewest} pairs cannot give a p below {floor:.3g}, and `{hypothesis.id}` needs "
            f"{level:.3g}: with so few, no data could confirm it"
        )
        enough = next(n for n in range(fewest, 200) if smallest_p(hypothesis, n) <= level * (1 + 1e-12))
        yield loaded.problem(message, "missing", "at_least", hint=f"Ask for at least {enough} pairs.")
