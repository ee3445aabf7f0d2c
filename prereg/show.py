"""The plan in words: who is compared with whom, on what, how, and what is claimed. For a reviewer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from prereg.fields import Axis
from prereg.hypotheses import Family, Hypothesis, PassMetric, PowerAssumption
from prereg.namedsets import NAMED
from prereg.planned import rules
from prereg.reserve import every_seed
from prereg.sources import (
    Benchmark,
    BuiltinModel,
    BuiltinTask,
    HubModel,
    HubTask,
    Model,
    NamedTask,
    TaskSource,
)
from prereg.stopping import stopping_rule
from prereg.study import Study
from prereg.testkinds import BinomialScoreboard

AXIS_WORDS: dict[Axis, tuple[str, str]] = {
    "updates": ("the same number of updates", "updates"),
    "generated_tokens": ("an equal number of generated training tokens", "tokens"),
    "device_seconds": ("equal training device time", "device-seconds"),
    "train_flops": ("equal training arithmetic", "FLOPs"),
}
"""How each axis is matched, and its unit."""

_DIRECTIONS = {
    "greater": "is higher",
    "less": "is lower",
    "two_sided": "differs",
    "equivalent": "is equivalent",
    "non_inferior": "is not inferior",
}
_TESTS = {
    "paired_t": "paired t over training seeds (generalises to new seeds on these problems)",
    "crossed_satterthwaite": "seeds crossed with problems, Satterthwaite degrees of freedom "
    "(generalises to new seeds and new problems)",
    "sign_flip": "exact sign flips over training seeds (generalises to new seeds on these problems)",
    "tost": "two one-sided t tests (TOST)",
    "non_inferiority": "one-sided t test against the margin",
    "wild_bootstrap": "wild bootstrap over training seeds with Webb's weights",
}
_CRASHED = {"resume": "", "exclude_pair": ", and if it fails for good its seed is left out of both arms"}
_DIVERGED = {
    "include": "one that diverges is included and named",
    "exclude_pair": "if one diverges its seed is left out of both arms",
}
_SEEN = {
    "nothing": "nothing of such runs",
    "pilot_runs": "pilot runs",
    "some_results": "some results of the planned runs",
    "all_results": "all results of the planned runs",
}


def render_plan(study: Study) -> str:
    """A study as Markdown that also reads as plain text."""
    return "\n".join(_lines(study)) + "\n"


def part_of_plan(study: Study, part: Literal["claims", "arms", "data", "budget"]) -> str:
    """One part of `render_plan`, without its heading."""
    parts = {"claims": _hypotheses, "arms": _arms, "data": _data, "budget": _budget}
    return "\n".join(list(parts[part](study))[3:]).strip()


def _lines(study: Study) -> Iterator[str]:
    yield f"# {_inline(study.title)}"
    yield ""
    of = f" of the lock {study.replicates}" if study.replicates else ""
    yield f"Study `{study.id}`, {study.kind}{of}, by {', '.join(_inline(name) for name in study.authors)}."
    if study.description:
        yield ""
        yield _inline(study.description)
    yield ""
    yield f"Seen by the authors before this plan: {_SEEN[study.data_status.seen]}."
    yield from (f"- {_inline(pilot)}" for pilot in study.data_status.pilots)
    if study.data_status.pilot_seeds:
        yield f"- Seeds of pilots, not used here: {_listed(study.data_status.pilot_seeds)}."
    yield from _hypotheses(study)
    yield from _arms(study)
    yield from _data(study)
    yield from _budget(study)
    if study.exploratory:
        yield from ("", "## Looked at without a claim", "")
        yield from (f"- {_inline(text)}" for text in study.exploratory)
    yield from ("", "## The shared trainer, every field", "")
    for field, value in _flat(study.trainer.model_dump(mode="json")):
        yield f"- `{field}`: {_value(value)}"


def _hypotheses(study: Study) -> Iterator[str]:
    yield from ("", "## What is claimed", "")
    if not study.hypotheses:
        yield "Nothing: no hypothesis is tested."
    for hypothesis in study.hypotheses:
        yield from _hypothesis(study, hypothesis)
    for name, family in study.families.items():
        members = [f"`{h.id}`" for h in study.hypotheses if h.family == name]
        yield f"Family `{name}`: {', '.join(members)} share alpha {family.alpha:g} {_method(family)}."
    if rule := stopping_rule(study.stopping):
        yield rule


def _hypothesis(study: Study, hypothesis: Hypothesis) -> Iterator[str]:
    words, unit = AXIS_WORDS[hypothesis.matched_on]
    budget = study.budget.declared().get(hypothesis.matched_on)
    weights = study.weights(hypothesis.benchmarks)
    shares = ", ".join(f"{name} {share:.3g}" for name, share in weights.items())
    yield f"### {hypothesis.id} ({hypothesis.role})"
    yield ""
    yield _inline(hypothesis.statement)
    yield ""
    if isinstance(hypothesis.test, BinomialScoreboard):
        yield from _scoreboard(hypothesis, hypothesis.test)
        return
    yield f"- Compared: `{hypothesis.treatment}` against `{hypothesis.control}`{_model(study, hypothesis)}."
    yield f"- Matched on: {words}" + (f", read at {_number(budget)} {unit}." if budget else ".")
    yield f"- Measured: {_metric(study, hypothesis)}, weighted mean over {shares}."
    yield f"- Claim: the treatment {_DIRECTIONS[hypothesis.direction]}; {_null(hypothesis)}."
    seeds = _count(len(study.seeds), "paired seed")
    yield f"- Test: {_TESTS[hypothesis.test.kind]}, {seeds}, alpha {hypothesis.alpha:g}."
    for other in hypothesis.sensitivity:
        yield f"- Shown beside it, deciding nothing: {_TESTS[other.kind]}."
    if hypothesis.smallest_effect:
        yield f"- Smallest effect of interest: {_points(hypothesis.smallest_effect)}."
    yield from _gate(hypothesis)
    yield (
        f"- A run that crashes is resumed{_CRASHED[hypothesis.intercurrent.crash]}; "
        f"{_DIVERGED[hypothesis.intercurrent.divergence]}; a truncated answer is "
        f"{hypothesis.intercurrent.truncation}."
    )
    if hypothesis.power:
        known = ", acknowledged as underpowered" if hypothesis.acknowledge_underpowered else ""
        yield (
            f"- Expected: {hypothesis.power.effect:+g} points with a standard deviation of "
            f"{hypothesis.power.sd:g} over seeds{_assumed(hypothesis.power)}{known}."
        )
    yield ""


def _scoreboard(hypothesis: Hypothesis, test: BinomialScoreboard) -> Iterator[str]:
    named = ", ".join(f"`{name}`" for name in test.predictions)
    yield f"- Counted: how many of the {len(test.predictions)} predictions {named} come out right."
    yield (
        "- Claim: more than by chance, which gets one in two. A prediction is right when its observed effect "
        "lies on the stated side of its null."
    )
    yield f"- Test: exact binomial, as if predictions were independent, alpha {hypothesis.alpha:g}."
    yield from _gate(hypothesis)
    yield ""


def _gate(hypothesis: Hypothesis) -> Iterator[str]:
    if hypothesis.gate:
        yield f"- Tested only if `{hypothesis.gate}` is confirmed."


def _method(family: Family) -> str:
    if family.method == "holm":
        return "by Holm's method"
    if family.method == "fixed_sequence":
        order = ", then ".join(f"`{name}`" for name in family.order)
        return f"in a fixed sequence: {order}, each only if those before it were confirmed"
    weights = ", ".join(f"`{name}` {weight:.3g}" for name, weight in family.weights.items())
    arrows = ", ".join(
        f"`{giver}` to `{taker}` {share:.3g}"
        for giver, takers in family.transitions.items()
        for taker, share in takers.items()
    )
    return f"by a graph: shares {weights}; a confirmed one hands on {arrows or 'nothing'}"


def _model(study: Study, hypothesis: Hypothesis) -> str:
    name = hypothesis.model or next(iter(study.models))
    return f", on the model `{name}`"


def _metric(study: Study, hypothesis: Hypothesis) -> str:
    if isinstance(hypothesis.metric, PassMetric):
        return f"pass@{hypothesis.metric.k} (unbiased estimator)"
    chosen = [
        b.samples for n, b in study.data.benchmarks.items() if n in study.weights(hypothesis.benchmarks)
    ]
    samples = sorted(set(chosen))
    return f"avg@{'/'.join(str(n) for n in samples)}"


def _null(hypothesis: Hypothesis) -> str:
    if hypothesis.direction == "equivalent":
        return f"the null is a difference of {_points(hypothesis.bound)} or more, either way"
    if hypothesis.direction == "non_inferior":
        return f"the null is a loss of {_points(hypothesis.bound)} or more"
    if hypothesis.decision == "exceeds_smallest_effect":
        sign = "-" if hypothesis.direction == "less" else ""
        return f"the null is an effect of {sign}{_points(hypothesis.smallest_effect)}"
    return "the null is no effect"


def _arms(study: Study) -> Iterator[str]:
    yield from ("", "## The arms, and how each differs from the shared trainer", "")
    shared = dict(_flat(study.trainer.model_dump(mode="json")))
    for name, arm in study.arms.items():
        described = f": {_inline(arm.description)}" if arm.description else ""
        yield f"- `{name}` ({arm.role.replace('_', ' ')}){described}"
        own = dict(_flat(study.trainer_of(name).model_dump(mode="json")))
        fields = [field for field in dict.fromkeys((*shared, *own)) if shared.get(field) != own.get(field)]
        for field in fields:
            before = _value(shared[field]) if field in shared else "(not there)"
            after = _value(own[field]) if field in own else "(not there)"
            yield f"    - `{field}`: {after} instead of {before}"
        if arm.seed_offset:
            moved = _listed([study.training_seed(name, seed) for seed in every_seed(study)])
            yield f"    - `seed_offset`: trains on the seeds {moved}"
        elif not fields:
            yield "    - no difference"
    yield ""
    runs = len(study.arms) * len(study.models) * len(study.seeds)
    yield (
        f"Seeds, paired across arms: {_listed(study.seeds)}. "
        f"Runs: {_count(len(study.arms), 'arm')} x {_count(len(study.models), 'model')} x "
        f"{_count(len(study.seeds), 'seed')} = {runs}."
    )
    for rule in rules(study):
        yield from ("", _inline(rule))


def _assumed(power: PowerAssumption) -> str:
    """What else the power rests on, where the plan says more than effect and sd."""
    parts = []
    if power.problem_sd:
        parts.append(f"{power.problem_sd:g} over problems")
    if power.base_accuracy is not None:
        parts.append(f"a control accuracy of {power.base_accuracy:.1%}")
    if power.failure_rate:
        parts.append(f"{power.failure_rate:.1%} of runs failing")
    return "".join(f", {part}" for part in parts)


def _data(study: Study) -> Iterator[str]:
    yield from ("", "## Models and data", "")
    for name, model in study.models.items():
        prompt = _value(model.prompt_template)
        yield f"- Model `{name}`: {_model_source(model)}, {model.dtype}, prompt {prompt}."
    training = study.data.training
    yield f"- Training prompts: {_task(training.source)}, graded by `{training.grader.kind}`."
    shares = study.weights()
    for name, benchmark in study.data.benchmarks.items():
        yield f"- Benchmark `{name}`, weight {shares[name]:.3g}: {_benchmark(benchmark)}."
    limit = study.data.contamination_limit
    yield f"- At most {limit:.1%} of a benchmark's problems may stand among the training prompts."


def _model_source(model: Model) -> str:
    if isinstance(model.source, BuiltinModel):
        return f"the built-in `{model.source.name}`"
    if isinstance(model.source, HubModel):
        return f"`{model.source.id}` of the Hugging Face Hub at {model.source.revision}"
    return f"the folder {_value(model.source.path)}"


def _benchmark(benchmark: Benchmark) -> str:
    return (
        f"{_task(benchmark.source)}, {benchmark.samples} samples a problem at temperature "
        f"{benchmark.temperature:g} and top_p {benchmark.top_p:g}, at most {benchmark.max_new_tokens} "
        f"tokens, graded by `{benchmark.grader.kind}`"
    )


def _task(source: TaskSource) -> str:
    if isinstance(source, BuiltinTask):
        return f"{source.size} generated problems of `{source.name}` {source.split} (seed {source.seed})"
    most = source.max_characters
    subset = f", only problems of at most {most} characters" if most else ""
    subset += f", {source.limit} rows drawn by seed {source.subset_seed}" if source.limit else ""
    if isinstance(source, HubTask):
        part = source.file or f"split {source.split} of {source.config}"
        return f"`{source.id}` of the Hugging Face Hub at {source.revision} ({part}{subset})"
    if isinstance(source, NamedTask):
        named = NAMED[source.name]
        where = source.path or f"{named.id} at {source.revision or named.revision}"
        return f"{named.title} ({where}{subset})"
    return f"{_value(source.path)} ({source.kind}{subset})"


def _budget(study: Study) -> Iterator[str]:
    yield from ("", "## Budgets: a run ends when all are reached, and is read at each", "")
    for axis, value in study.budget.declared().items():
        yield f"- {_number(value)} {AXIS_WORDS[axis][1]}"
    if study.budget.clock == "counted":
        yield "- The clock is counted, not measured: a rehearsal."
    if grid := study.evaluation.grid:
        yield f"- Evaluated besides every {_number(grid.every)} {AXIS_WORDS[grid.axis][1]}, for the curves."
    if study.evaluation.reevaluate:
        yield "- The start policy and those at the budgets are evaluated twice, for the noise of measuring."
    yield f"- pass@k is shown for k = {_listed(study.evaluation.pass_k)}."


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and values of nested sections."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return _listed(value)
    return f"`{_inline(str(value))}`" if isinstance(value, str) else str(value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _points(value: float) -> str:
    return f"{value:g} percentage point{'' if value == 1 else 's'}"


def _listed(values: Any) -> str:
    return ", ".join(str(value) for value in values)


def _inline(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())
