"""The traps of YAML: each is an error with its place, or read as a person means it."""

from __future__ import annotations

import pytest

from prereg.problems import Refused
from prereg.yamltree import read_yaml


def value(text: str) -> object:
    found = read_yaml(f"a: {text}\n", "f.yaml")
    assert not found.problems
    return found.data["a"]


def refusal(text: str) -> str:
    """Every problem of a text, whether it stops the reading or not."""
    try:
        return "\n".join(str(p) for p in read_yaml(text, "f.yaml").problems)
    except Refused as error:
        return str(error)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-3", 0.001), ("1E3", 1000.0), (".5", 0.5), ("5.", 5.0), ("-2.5", -2.5), ("08.5", 8.5),
        ("12", 12), ("-0", 0), ("+7", 7), ("0x1F", 31), ("0o17", 15), ("9007199254740991", 2**53 - 1),
        ("no", "no"), ("on", "on"), ("yes", "yes"), ("off", "off"), ("NO", "NO"), ("y", "y"),
        ("12:30", "12:30"), ("1_000", "1_000"), ("2026-01-31", "2026-01-31"), ("1.2.3", "1.2.3"), ("=", "="),
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        ("'017'", "017"), ('"1e-3"', "1e-3"), ("'true'", "true"), ('"a\\tb"', "a\tb"), ("a b", "a b"),
    ],
)  # fmt: skip
def test_scalars_are_read_as_meant(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3:1", "already set on line 1"),
        ('a: 1\n"a": 3\n', "f.yaml:2:1", "already set on line 1"),
        ("b: {a: 1, c: 2, a: 1}\n", "f.yaml:1:17: b", "`a` stands here again"),
        ("a: 017\n", "f.yaml:1:4: a", "Write 17"),
        ("a: -00\n", "f.yaml:1:4: a", "Write 0"),
        ("a: .nan\n", "f.yaml:1:4: a", "expected a finite number"),
        ("a: NaN\n", "f.yaml:1:4: a", "expected a finite number"),
        ("a: -.inf\n", "f.yaml:1:4: a", "expected a finite number"),
        ("a: 1e999\n", "f.yaml:1:4: a", "too large"),
        ("a: 9007199254740992\n", "f.yaml:1:4: a", "too large"),
        (f"a: {'9' * 6000}\n", "f.yaml:1:4: a", "too large"),
        ("a: 1\n\tb: 2\n", "f.yaml:2:1", "a tab"),
        ("a:\n\t- 1\n", "f.yaml:2:1", "a tab"),
        ("a: !!python/object/apply:os.system [ls]\n", "f.yaml:1:4: a", "tag"),
        ("a: !mine x\n", "f.yaml:1:4: a", "`!mine`"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2:1", "second document"),
        ("%YAML 1.1\n---\na: no\n", "f.yaml:2:1", "YAML 1.2"),
        ("1: x\n", "f.yaml:1:1", "the number 1 stands as a key"),
        ("true: x\n", "f.yaml:1:1", "true stands as a key"),
        ("? [a]\n: x\n", "f.yaml:1:3", "stands as a key"),
        ("b:\n  <<: {a: 1}\n", "f.yaml:2:3: b", "merge keys"),
        ("a: *nowhere\n", "f.yaml:1:4", "no finished anchor"),
        ("a: &x [*x]\n", "f.yaml:1:8", "no finished anchor"),
        ('a: "\\ud800"\n', "f.yaml:1:4: a", "U+D800"),
        ('a: "\\e[31m"\n', "f.yaml:1:4: a", "U+001B"),
        ('a: "\\UFFFFFFFF"\n', "f.yaml:1:1", "cannot be read as YAML"),
        ("a: 1\nb: \x07\n", "f.yaml:2:4", "U+0007"),
        ("a: x\u202eb\n", "f.yaml:1:5", "U+202E"),
        ("a: x\u2028b\n", "f.yaml:1:5", "U+2028"),
        ("", "f.yaml:1:1", "empty"),
        ("# only a comment\n", "f.yaml:1:1", "empty"),
        ("a: b: c\n", "f.yaml:1:5", "`:` is not allowed here"),
        ("a: [1, 2\n", "f.yaml:2:1", "starts on line 1"),
    ],
)
def test_traps_are_refused_with_their_place(text: str, place: str, words: str) -> None:
    found = refusal(text)
    assert found.startswith(f"{place}: ")
    assert words in found


def test_the_limits_hold_against_bombs() -> None:
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
    )
    assert "aliases expanded" in refusal(laughs)
    assert "deeper" in refusal("a: " + "[" * 100_000)
    assert "deeper" in refusal("- " * 1000 + "a")
    assert "more than 20000 values" in refusal("- 1\n" * 20_001)


def test_an_alias_is_read_and_has_the_place_where_it_stands() -> None:
    found = read_yaml("a: &x [1, 2]\nb: *x\n", "f.yaml")
    assert found.data == {"a": [1, 2], "b": [1, 2]}
    assert (found.values[("b",)].line, found.values[("b",)].column) == (2, 4)


def test_all_refused_values_are_reported_at_once_and_marked() -> None:
    found = read_yaml("a: .nan\nb: [1, 017]\nc: 3\n", "f.yaml")
    assert [p.line for p in found.problems] == [1, 2]
    assert found.bad == {("a",), ("b", 1)}
    assert found.data == {"a": None, "b": [1, None], "c": 3}


def test_places_of_keys_and_values() -> None:
    found = read_yaml("top:\n  - id: x\n    n: 5\n", "f.yaml")
    assert {path: (p.line, p.column) for path, p in found.keys.items()} == {
        ("top",): (1, 1), ("top", 0): (2, 5), ("top", 0, "id"): (2, 5), ("top", 0, "n"): (3, 5),
    }  # fmt: skip
    assert (found.values[("top", 0, "n")].line, found.values[("top", 0, "n")].column) == (3, 8)
