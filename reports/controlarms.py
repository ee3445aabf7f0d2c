"""Which arms are there to catch a result that is not the method's, and whom each stands against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prereg.study import Study
from prereg.trainer import Trainer


@dataclass(frozen=True, slots=True)
class ControlArm:
    """A comparison that a control arm is there for."""

    arm: str
    against: str
    what: str
    """What the arm is, in words."""
    shows: str
    """How a difference is to be read."""


def control_arms(study: Study) -> Iterator[ControlArm]:
    """Every control arm against its control, and a placebo against its method as well."""
    controls = [name for name, arm in study.arms.items() if arm.role == "control"]
    for name, arm in study.arms.items():
        if arm.role == "control":
            continue
        own = study.trainer_of(name)
        for control in controls:
            told = _against_control(study, name, control, own)
            if told is not None:
                yield ControlArm(name, control, *told)
        for method in _methods_of_placebo(study, name, own):
            shows = "what the method gains by knowing which steps or tokens earned the signal"
            yield ControlArm(name, method, f"placebo of {method}", shows)


def _against_control(study: Study, name: str, control: str, own: Trainer) -> tuple[str, str] | None:
    base = study.trainer_of(control)
    role = study.arms[name].role
    if own == base:
        if study.arms[name].seed_offset == study.arms[control].seed_offset:
            return "A/A arm, same seeds", "nothing: the runs are copies, and any difference is a fault"
        return "A/A arm, other seeds", "what training luck alone makes of a difference"
    if _without_rate(own) == _without_rate(base):
        times = own.optimizer.learning_rate / base.optimizer.learning_rate
        return f"learning rate x {times:g}", "an effect that needs no new method"
    if own.reward.kind == "format_only":
        return "format-only reward", "what is learned without knowing which answers are right"
    if role == "length_matched":
        return "length-matched arm", "what is left when answers may not grow longer"
    if role == "placebo":
        return "placebo", "what the method's signal does when it no longer knows where it belongs"
    return ("negative control", "what should show no effect") if role == "negative_control" else None


def _methods_of_placebo(study: Study, name: str, own: Trainer) -> Iterator[str]:
    """Arms that train as this one does, but for its shuffling."""
    plain = _unshuffled(own)
    if plain != own.model_dump(mode="json"):
        for other in study.arms:
            if other != name and study.trainer_of(other).model_dump(mode="json") == plain:
                yield other


def _unshuffled(trainer: Trainer) -> dict[str, Any]:
    data: dict[str, Any] = trainer.model_dump(mode="json")
    if data["reward"].get("shuffled"):
        data["reward"]["shuffled"] = False
    if data["credit"]["kind"] == "shuffled":
        data["credit"]["kind"] = "margin"
    return data


def _without_rate(trainer: Trainer) -> dict[str, Any]:
    data: dict[str, Any] = trainer.model_dump(mode="json")
    del data["optimizer"]["learning_rate"]
    return data
