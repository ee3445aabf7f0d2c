"""How long the answers are, how many were cut off, and how training behaved: the side effects of a method."""

from __future__ import annotations

from math import isnan

from reports import words
from reports.comparisons import Comparison
from reports.content import Column, Prose, Section, Table, Value
from reports.details import Details
from reports.scores import Evidence
from reports.sections import caps, truncation
from reports.sections.accuracy import mean_tokens
from reports.sections.common import Group, Moment, arm_model, groups, moments, policies, with_model

TRUNCATION_FLAG = 0.10
"""A share of truncated completions at or above this is named on the first page."""

LENGTH_FLAG = 1.25
"""So is an arm that writes at least this many times the tokens of another at one budget."""


def build(
    evidence: Evidence, details: Details, comparisons: dict[str, Comparison], regression: Table
) -> Section:
    """The section: what needs no model first, what needs most assumptions last."""
    return Section(
        "length",
        "Length, truncation and training signal",
        (
            Prose(
                "A method that changes how long answers are also changes what a token budget buys and how "
                "many answers are cut off. Length is a result of training: no accuracy above is adjusted "
                "for it."
            ),
            _evaluation(evidence),
            caps.figure(evidence, details),
            truncation.table(evidence, comparisons),
            Prose(_matched(evidence)),
            regression,
            _training(evidence),
        ),
    )


def _matched(evidence: Evidence) -> str:
    """Whether the study has what alone can separate a method from the length of its answers."""
    names = [name for name, arm in evidence.study.arms.items() if arm.role == "length_matched"]
    if names:
        return (
            f"Length-matched: {words.joined(tuple(names))}. The comparison with it is the one that separates "
            "what the method does from what longer answers do."
        )
    return (
        "The study has no length-matched arm, which alone separates what a method does from what longer "
        "answers do; what stands here about length is description."
    )


def flags(evidence: Evidence) -> tuple[str, ...]:
    """What of this belongs on the first page."""
    found = []
    for group in groups(evidence):
        worst = max(
            ((_truncation(evidence, group, m), m) for m in moments(evidence)),
            key=lambda pair: _known(pair[0]),
        )
        if _known(worst[0]) >= TRUNCATION_FLAG:
            found.append(
                f"{arm_model(evidence, group)}: {words.number(100 * worst[0], 0)} % of the evaluation "
                f"samples were cut at the token cap ({worst[1].title}); they count as wrong."
            )
        share = _training_truncation(evidence, group)
        if _known(share) >= TRUNCATION_FLAG:
            found.append(
                f"{arm_model(evidence, group)}: {words.number(100 * share, 0)} % of the training "
                "completions were cut at the token cap."
            )
        if _stepless(evidence, group):
            found.append(
                f"{arm_model(evidence, group)}: no training completion has a second step by the boundaries "
                "of its dense reward, so there was nothing to value between its start and its outcome."
            )
    for model in evidence.study.models:
        found.extend(_longest(evidence, model))
    return tuple(found)


def _stepless(evidence: Evidence, group: Group) -> bool:
    """Whether a reward that values steps found one step in every completion of the arm."""
    trained = (evidence.ledger.training.get(run.run_id) for run in group.runs)
    means = [one.mean_steps for one in trained if one is not None and not isnan(one.mean_steps)]
    return bool(means) and max(means) == 1.0


def _longest(evidence: Evidence, model: str) -> list[str]:
    """The widest gap in length between two arms, over all budgets, if it is worth a flag."""
    gaps = []
    for moment in moments(evidence)[1:]:
        lengths = [(mean_tokens(evidence, group, moment), group) for group in groups(evidence, model)]
        known = sorted((pair for pair in lengths if pair[0] > 0), key=lambda pair: pair[0])
        if len(known) > 1:
            (least, short), (most, long) = known[0], known[-1]
            gaps.append((most / least, long, short, moment))
    if not gaps:
        return []
    ratio, long, short, moment = max(gaps, key=lambda gap: gap[0])
    if ratio < LENGTH_FLAG:
        return []
    return [
        f"{arm_model(evidence, long)} writes {words.number(ratio)} times as many tokens an answer as "
        f"{short.arm} (read at {moment.title})."
    ]


def _evaluation(evidence: Evidence) -> Table:
    columns, lead = with_model(
        evidence,
        (
            Column("read_at", "Read"),
            Column("mean_tokens", "Tokens a sample", "decimal"),
            Column("truncated", "Cut at the cap", "percent"),
            Column("unparseable", "No readable answer", "percent"),
            Column("repeated", "Repeated texts", "percent"),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    for group in groups(evidence):
        for moment in moments(evidence):
            sums = _sums(evidence, group, moment)
            shares: tuple[Value, ...] = (None, None, None)
            if samples := sums["samples"]:
                shares = (
                    sums["truncated"] / samples,
                    sums["unparseable"] / samples,
                    1 - sums["distinct_texts"] / samples,
                )
            tokens = mean_tokens(evidence, group, moment)
            rows.append((*lead(group), moment.title, None if isnan(tokens) else tokens, *shares))
    return Table(
        "length_evaluation",
        "Evaluation samples",
        columns,
        tuple(rows),
        "Over all seeds and benchmarks; tokens by the benchmarks' weights, shares of all samples. A "
        "sample cut at the cap or without a readable answer counts as wrong. Repeated: samples whose text "
        "equals an earlier one of the same problem and checkpoint.",
    )


def _training(evidence: Evidence) -> Table:
    stepped = any(not isnan(one.mean_steps) for one in evidence.ledger.training.values())
    columns, lead = with_model(
        evidence,
        (
            Column("updates", "Updates", "integer"),
            Column("mean_tokens", "Tokens a completion", "decimal"),
            *((Column("mean_steps", "Steps a completion", "decimal"),) if stepped else ()),
            Column("truncated", "Cut at the cap", "percent"),
            Column("informative", "Informative groups", "percent"),
            Column("clip_share", "Clipped tokens", "percent", 2),
            Column("kl", "KL, last", "decimal", 4),
            Column("entropy_first", "Entropy, first", "decimal", 3),
            Column("entropy_last", "Entropy, last", "decimal", 3),
            Column("logprob_gap_max", "Log-prob gap, max", "decimal", 6),
        ),
    )
    rows: list[tuple[Value, ...]] = []
    for group in groups(evidence):
        trained = [
            evidence.ledger.training[run.run_id]
            for run in group.runs
            if run.run_id in evidence.ledger.training
        ]
        if not trained:
            rows.append((*lead(group), *(None,) * (10 if stepped else 9)))
            continue
        completions, tokens = _rollouts(evidence, group)
        groups_all = sum(one.groups for one in trained)
        rows.append(
            (
                *lead(group),
                sum(one.updates for one in trained) / len(trained),
                tokens / completions if completions else None,
                *((_or_none(sum(one.mean_steps for one in trained) / len(trained)),) if stepped else ()),
                _or_none(_training_truncation(evidence, group)),
                sum(one.informative_groups for one in trained) / groups_all if groups_all else None,
                *(
                    _or_none(sum(getattr(one, name) for one in trained) / len(trained))
                    for name in ("clip_share", "kl", "entropy_first", "entropy_last")
                ),
                _or_none(max(one.logprob_gap_max for one in trained)),
            )
        )
    return Table(
        "training",
        "Training",
        columns,
        tuple(rows),
        ("Steps are those of the dense rewards, by their boundaries. " if stepped else "")
        + "Whole runs, mean over seeds; shares over all rollouts and groups. A group is informative if its "
        "rewards differ; the others teach nothing. Clipped is the mean over updates. KL (to the start "
        "policy) and entropy in nats a token, entropy over the first and last tenth of the updates. The "
        "gap is between the engine's and the trainer's log-probabilities, the largest of all runs.",
    )


def _sums(evidence: Evidence, group: Group, moment: Moment) -> dict[str, int]:
    names = ("samples", "truncated", "unparseable", "distinct_texts")
    sums = dict.fromkeys(names, 0)
    for run, step in policies(evidence, group, moment):
        for benchmark in evidence.study.data.benchmarks:
            if cell := evidence.ledger.cells.get((run, step, benchmark)):
                for name in names:
                    sums[name] += int(getattr(cell, name).sum())
    return sums


def _truncation(evidence: Evidence, group: Group, moment: Moment) -> float:
    sums = _sums(evidence, group, moment)
    return sums["truncated"] / sums["samples"] if sums["samples"] else float("nan")


def _rollouts(evidence: Evidence, group: Group) -> tuple[int, int]:
    found = [evidence.ledger.completions.get((run.run_id, "rollout")) for run in group.runs]
    known = [one for one in found if one is not None]
    return sum(one.completions for one in known), sum(one.tokens for one in known)


def _training_truncation(evidence: Evidence, group: Group) -> float:
    found = [evidence.ledger.completions.get((run.run_id, "rollout")) for run in group.runs]
    known = [one for one in found if one is not None]
    completions = sum(one.completions for one in known)
    return sum(one.truncated for one in known) / completions if completions else float("nan")


def _known(value: float) -> float:
    return -1.0 if isnan(value) else value


def _or_none(value: float) -> float | None:
    return None if isnan(value) else value
