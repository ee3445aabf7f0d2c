"""`harness gradient-test`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cyclopts import App

from harness.cli.output import emit, note


def register(app: App) -> None:
    """Add the command to the command line."""
    app.command(gradient_test, name="gradient-test")


def gradient_test(
    study: Path | None = None, *, arm: str | None = None, checkpoint: str = "start",
    seed: int | None = None, model: str | None = None, prompts: int = 64, direction_prompts: int = 128,
    exploratory: bool = False, json: bool = False,
) -> None:  # fmt: skip
    """Score every arm's credit on one batch of one frozen policy, and store it before it is trained.

    Parameters
    ----------
    study
        The study file; left out, the one in this folder.
    arm
        Whose policy, sampling and prompts are used; left out, the first control.
    checkpoint
        `start`, or the axis of a budget at which the arm's run has kept its weights.
    seed
        The run's seed; left out, the study's first.
    model
        The model; left out, the study's first.
    prompts
        Prompts of the batch on which the candidates are scored.
    direction_prompts
        Prompts of the direction in which reward rises, in two halves; none of them is in the batch.
    exploratory
        Test the study as it is, whether or not it is locked.
    json
        Print one JSON document.
    """
    from harness.gradient import Asked, store
    from harness.gradient import gradient_test as make
    from harness.gradientfile import warnings_of
    from harness.now import utc_now
    from harness.roots import open_root
    from prereg.layout import find_study

    root = open_root(study or find_study(), exploratory=exploratory)
    plan, now = root.loaded.study, utc_now()
    controls = [name for name, one in plan.arms.items() if one.role == "control"] or list(plan.arms)
    asked = Asked(
        arm or controls[0], model or next(iter(plan.models)), plan.seeds[0] if seed is None else seed,
        checkpoint, prompts, direction_prompts,
    )  # fmt: skip
    test = make(root, asked, now)
    path = store(root, test, now)
    if json:
        emit(test | {"file": str(path), "warnings": warnings_of(test)})
        return
    print(_render(test))
    for warning in warnings_of(test):
        note(f"warning: {warning}")
    note(f"stored in {path}, with {test['runs_begun']} runs of the study begun")


def _render(test: dict[str, Any]) -> str:
    """A line a candidate."""
    from harness.gradientfile import asked_words, permuted_less_uniform

    check = test["finite_difference"]
    lines = [
        f"gradient test of {asked_words(test)}: {test['prompts']} prompts, {test['samples']} completions",
        f"noise floor, cos(v1, v2): {test['noise_floor']:.3f}; uniform credit's gain by a backward pass "
        f"{check['exact']:.3e}, by two forward passes {check['approximate']:.3e}",
        "",
        f"  {'candidate':<20} {'gain':>10} {'cosine':>8} {'less uniform (95 %)':>34} {'p':>7} "
        f"{'permuted, less uniform (95 %)':>34} {'-c':>10} {'per 1k tok':>11} {'per s':>10}",
    ]
    for name, row in test["candidates"].items():
        versus, permuted = row["versus_uniform"], permuted_less_uniform(row)
        interval = _interval(versus["estimate"], versus)
        shuffled = _interval(permuted["mean"], permuted)
        cosine = "-" if row["cosine"] is None else f"{row['cosine']:.3f}"
        second = "-" if row["gain_per_device_second"] is None else f"{row['gain_per_device_second']:.2e}"
        control = row["negative_control"]
        negative = "-" if control is None else f"{control:.2e}"
        lines.append(
            f"  {name:<20} {row['gain']:>10.2e} {cosine:>8} {interval:>34} {versus['p']:>7.4f} "
            f"{shuffled:>34} {negative:>10} {row['gain_per_1000_tokens']:>11.2e} {second:>10}"
        )
    lines += [f"  {name:<20} not tested: {why}" for name, why in test["left_out"].items()]
    return "\n".join(lines)


def _interval(estimate: float, ends: dict[str, float]) -> str:
    return f"{estimate:+.2e} [{ends['low']:+.2e}, {ends['high']:+.2e}]"
