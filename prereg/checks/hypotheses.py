"""A hypothesis must be able to get a verdict, and its parts must not contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from prereg.hypotheses import Hypothesis, PassMetric
from prereg.problems import Problem
from prereg.reserve import every_seed
from prereg.source import LoadedStudy
from prereg.sources import Benchmark, BuiltinTask


def something_is_claimed(loaded: LoadedStudy) -> Iterator[Problem]:
    """A confirmatory study or a replication without a hypothesis confirms nothing."""
    if loaded.study.kind != "pilot" and not loaded.study.hypotheses:
        message = f"a study of kind `{loaded.study.kind}` needs at least one hypothesis"
        yield loaded.problem(message, "kind", hint="Add `hypotheses:`, or call it a `pilot`.")


def replication_names_its_lock(loaded: LoadedStudy) -> Iterator[Problem]:
    """A replication says of which lock, and only a replication does."""
    study = loaded.study
    if study.kind == "replication" and study.replicates is None:
        hint = "Add `replicates:`, the SHA-256 of the lock that it repeats."
        yield loaded.problem("a replication must say which lock it repeats", "kind", hint=hint)
    if study.kind != "replication" and study.replicates is not None:
        hint = "Remove it, or set `kind: replication`."
        yield loaded.problem(
            f"`replicates` stands in a study of kind `{study.kind}`", "replicates", hint=hint
        )


def arms_differ(loaded: LoadedStudy) -> Iterator[Problem]:
    """The two arms of a hypothesis are two, and train differently unless one is a negative control.

    A negative control may equal the other arm. That is the A/A comparison: with a `seed_offset` its effect is
    the noise of training, and without one it is 0 by construction.
    """
    study = loaded.study
    for index, hypothesis in enumerate(study.hypotheses):
        if hypothesis.treatment == hypothesis.control:
            message = f"hypothesis `{hypothesis.id}` compares the arm `{hypothesis.control}` with itself"
            yield loaded.problem(message, "hypotheses", index, "treatment", hint="Name two arms.")
        elif hypothesis.treatment in study.arms and hypothesis.control in study.arms:
            roles = {study.arms[hypothesis.treatment].role, study.arms[hypothesis.control].role}
            same = study.trainer_of(hypothesis.treatment) == study.trainer_of(hypothesis.control)
            if same and "negative_control" not in roles:
                message = (
                    f"the arms `{hypothesis.treatment}` and `{hypothesis.control}` train in the same way"
                )
                hint = (
                    "State the difference under the arm's `trainer:`, or give it the role `negative_control`."
                )
                yield loaded.problem(message, "hypotheses", index, "treatment", hint=hint)


def control_arm_exists(loaded: LoadedStudy) -> Iterator[Problem]:
    """Where something is claimed, some arm is the control that the others are judged by."""
    study = loaded.study
    if study.hypotheses and all(arm.role != "control" for arm in study.arms.values()):
        hint = "Give one arm `role: control`."
        yield loaded.problem("the study has hypotheses but no arm of role `control`", "arms", hint=hint)


def population_agrees_with_test(loaded: LoadedStudy) -> Iterator[Problem]:
    """`population.problems` and the test say the same about what a result generalises to.

    Equivalence and non-inferiority can speak of either population: their standard error follows it. What a
    scoreboard speaks of is up to its predictions.
    """
    expected = {"paired_t": "fixed", "sign_flip": "fixed", "crossed_satterthwaite": "sampled"}
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        kind, problems = hypothesis.test.kind, hypothesis.population.problems
        if kind in expected and problems != expected[kind]:
            message = (
                f"the test `{kind}` speaks of {expected[kind]} problems, the population of {problems} ones"
            )
            hint = (
                "`paired_t` and `sign_flip` go with `problems: fixed`, `crossed_satterthwaite` with "
                "`problems: sampled`."
            )
            yield loaded.problem(message, "hypotheses", index, "population", "problems", hint=hint)


def problems_enough_for_crossed_test(loaded: LoadedStudy) -> Iterator[Problem]:
    """The crossed standard error needs a variance over problems: two or more in each benchmark.

    A file without `limit` is counted by the harness, when it reads it for the lock.
    """
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        if not hypothesis.over_problems:
            continue
        for name, benchmark in _benchmarks(loaded, hypothesis):
            size = (
                benchmark.source.size if isinstance(benchmark.source, BuiltinTask) else benchmark.source.limit
            )
            if size is not None and size < 2:
                message = (
                    f"`{hypothesis.test.kind}` over sampled problems needs two problems or more a benchmark; "
                    f"`{name}` has {size}"
                )
                hint = "Give the benchmark more problems, or take the problems as `fixed`."
                yield loaded.problem(message, "hypotheses", index, "test", hint=hint)


def pass_k_is_estimable(loaded: LoadedStudy) -> Iterator[Problem]:
    """pass@k cannot be estimated from fewer than k samples."""
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        if not isinstance(hypothesis.metric, PassMetric):
            continue
        for name, benchmark in _benchmarks(loaded, hypothesis):
            if hypothesis.metric.k > benchmark.samples:
                message = (
                    f"pass@{hypothesis.metric.k} cannot be estimated from the {benchmark.samples} samples "
                    f"of benchmark `{name}`"
                )
                hint = "Draw at least k samples a problem, or choose a smaller k."
                yield loaded.problem(message, "hypotheses", index, "metric", "k", hint=hint)


def smallest_effect_decides(loaded: LoadedStudy) -> Iterator[Problem]:
    """`exceeds_smallest_effect` needs an effect to exceed and a direction in which to exceed it."""
    for index, hypothesis in enumerate(loaded.study.hypotheses):
        if hypothesis.decision != "exceeds_smallest_effect":
            continue
        if hypothesis.smallest_effect == 0:
            message = "`exceeds_smallest_effect` needs a `smallest_effect` above 0"
            hint = "Set it in percentage points, or decide by `differs_from_zero`."
            yield loaded.problem(message, "hypotheses", index, "decision", hint=hint)
        if hypothesis.direction == "two_sided":
            message = "`exceeds_smallest_effect` needs a direction, found `two_sided`"
            hint = "Choose `greater` or `less`, or decide by `differs_from_zero`."
            yield loaded.problem(message, "hypotheses", index, "decision", hint=hint)


def seeds_enough_for_a_test(loaded: LoadedStudy) -> Iterator[Problem]:
    """The training seed is the unit of replication: one seed has no spread."""
    if loaded.study.hypotheses and len(set(loaded.study.seeds)) < 2:
        message = "a test needs at least two different seeds: one run has no spread over training"
        yield loaded.problem(
            message, "seeds", hint="Five or more are usual; `power` says how many are enough."
        )


def seeds_are_fresh(loaded: LoadedStudy) -> Iterator[Problem]:
    """A seed stands once, and was not used by a pilot that informed the plan."""
    seeds = loaded.study.seeds
    for position, seed in enumerate(seeds):
        if seed in seeds[:position]:
            hint = "Choose another: the same seed twice is one run, not two."
            yield loaded.problem(f"the seed {seed} stands twice", "seeds", position, hint=hint)
        elif seed in loaded.study.data_status.pilot_seeds:
            message = f"the seed {seed} was used by a pilot"
            yield loaded.problem(
                message, "seeds", position, hint="Choose seeds whose results nobody has seen."
            )


def offsets_reach_other_seeds(loaded: LoadedStudy) -> Iterator[Problem]:
    """An A/A arm trains on seeds of its own, which exist: none of the study, its reserve or a pilot."""
    study = loaded.study
    for name, arm in study.arms.items():
        if arm.seed_offset == 0:
            continue
        own = every_seed(study)
        shifted = {study.training_seed(name, seed) for seed in own}
        taken = sorted(shifted & {*own, *study.data_status.pilot_seeds})
        if taken:
            message = f"with its offset the arm `{name}` trains on the seed {taken[0]}, which is used already"
            hint = "Choose an offset beyond the seeds of the study and its pilots, such as 1000."
            yield loaded.problem(message, "arms", name, "seed_offset", hint=hint)
        elif max(shifted) >= 2**31:
            message = f"with its offset the arm `{name}` trains on the seed {max(shifted)}, past the largest"
            yield loaded.problem(message, "arms", name, "seed_offset", hint="Seeds end at 2147483647.")


def _benchmarks(loaded: LoadedStudy, hypothesis: Hypothesis) -> Iterator[tuple[str, Benchmark]]:
    """The benchmarks of a hypothesis that exist."""
    for name, benchmark in loaded.study.data.benchmarks.items():
        if hypothesis.benchmarks is None or name in hypothesis.benchmarks:
            yield name, benchmark
