"""A small valid study for tests, and ways to change it."""

from __future__ import annotations

from pathlib import Path

from prereg.source import LoadedStudy, parse_study

STUDY = """\
id: tiny
title: A tiny study
authors: [A, B]
kind: confirmatory
data_status: {seen: nothing, pilot_seeds: [90, 91]}
models:
  m: {source: {kind: builtin}}
data:
  training:
    source: {kind: builtin, name: arithmetic, split: train, size: 100}
    grader: {kind: exact}
  benchmarks:
    easy:
      source: {kind: builtin, name: arithmetic, split: easy, size: 10}
      grader: {kind: exact}
      samples: 8
    hard:
      source: {kind: builtin, name: arithmetic, split: hard, size: 10}
      grader: {kind: exact}
      samples: 4
trainer:
  prompts_per_update: 4
  samples_per_prompt: 6
  max_new_tokens: 32
arms:
  base: {role: control}
  new:
    role: treatment
    trainer:
      credit: {kind: margin, low: 0.2}
seeds: [1, 2, 3]
budget: {updates: 10, generated_tokens: 5000}
hypotheses:
  - id: first
    statement: New beats base.
    treatment: new
    control: base
    matched_on: updates
    direction: greater
    test: {kind: paired_t}
  - id: second
    statement: New beats base at equal tokens.
    treatment: new
    control: base
    matched_on: generated_tokens
    direction: greater
    test: {kind: paired_t}
"""


def changed(*changes: tuple[str, str]) -> str:
    """The study with each first text, which must stand in it, replaced once by the second."""
    text = STUDY
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def loaded(*changes: tuple[str, str], folder: Path = Path("somewhere")) -> LoadedStudy:
    """The changed study as if read from `study.yaml` in `folder`."""
    return parse_study(changed(*changes).encode(), folder / "study.yaml")


def line_of(text: str, part: str) -> int:
    """The line, from 1, on which a text first holds a part."""
    return text[: text.index(part)].count("\n") + 1
