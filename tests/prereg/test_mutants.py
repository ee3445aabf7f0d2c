"""The built-in study under mutation, through the command line: a valid study, or refused with a place.

Never a traceback. The same numbers give the same mutants; the slow test goes through 5,000.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prereg.starter import starter_files
from tests.inprocess import called
from tests.prereg.mutants import mutant

TEXT = starter_files("builtin")["study.yaml"]


def fault(content: bytes, path: Path) -> str | None:
    """What is wrong with how a study file is answered; None if it is accepted, or refused with places."""
    path.write_bytes(content)
    try:
        code, printed, _ = called("plan", str(path), "--json")
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if code == 0:
        return None
    if code != 3:
        return f"exit code {code}"
    problems = json.loads(printed)["refused"]
    if not problems:
        return "refused without a reason"
    lost = [
        p for p in problems if not p["file"] or (p["file"] == str(path) and not (p["line"] and p["column"]))
    ]
    return f"no place: {lost[0]['message']}" if lost else None


def faults(numbers: range, path: Path) -> dict[int, str]:
    found = {number: fault(mutant(TEXT, number), path) for number in numbers}
    return {number: text for number, text in found.items() if text is not None}


def test_the_study_itself_is_accepted_and_mutants_are_of_both_kinds(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(TEXT)
    assert called("plan", str(path), "--json")[0] == 0
    codes = set()
    for number in range(40):
        path.write_bytes(mutant(TEXT, number))
        codes.add(called("plan", str(path), "--json")[0])
    assert codes == {0, 3}


def test_mutants_are_accepted_or_refused_with_a_place(tmp_path: Path) -> None:
    assert faults(range(200), tmp_path / "study.yaml") == {}


@pytest.mark.slow
def test_five_thousand_mutants_are_accepted_or_refused_with_a_place(tmp_path: Path) -> None:
    assert faults(range(200, 5_300), tmp_path / "study.yaml") == {}


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
names = st.text(max_size=12)
nested = st.lists(scalars, max_size=3) | st.dictionaries(names, scalars, max_size=3)
trees = scalars | nested | st.lists(nested, max_size=3) | st.dictionaries(names, nested, max_size=3)
SECTIONS = (
    "schema_version", "id", "title", "authors", "kind", "data_status", "models", "data", "trainer", "arms",
    "seeds", "stopping", "budget", "evaluation", "hypotheses", "families", "environment", "receipts",
    "exploratory",
)  # fmt: skip
QUIET = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@QUIET
@given(section=st.sampled_from(SECTIONS), value=trees)
def test_any_value_in_any_section_is_accepted_or_refused_with_a_place(
    tmp_path: Path, section: str, value: object
) -> None:
    from ruamel.yaml import YAML

    study = YAML(typ="safe", pure=True).load(TEXT)
    content = json.dumps(study | {section: value}, default=str).encode()
    assert fault(content, tmp_path / "study.yaml") is None


@QUIET
@given(
    content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_file_is_refused_with_a_place(tmp_path: Path, content: bytes) -> None:
    assert fault(content, tmp_path / "study.yaml") is None
