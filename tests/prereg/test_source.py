"""A study file is valid, or refused with the place, what was found, what was expected, the nearest name."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prereg import checks
from prereg.problems import Refused
from prereg.show import render_plan
from prereg.source import MAX_BYTES, load_study, parse_study
from tests.prereg.studies import STUDY, changed, line_of, loaded


def refused(text: str | bytes, path: Path = Path("study.yaml")) -> tuple[str, ...]:
    content = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(Refused) as caught:
        parse_study(content, path)
    return tuple(str(problem) for problem in caught.value.problems)


def test_a_valid_study_is_read_with_its_digest_and_places(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(STUDY)
    study = load_study(file)
    assert study.study.budget.declared() == {"updates": 10, "generated_tokens": 5000}
    assert study.study.trainer_of("new").credit.kind == "margin"
    assert study.study.trainer_of("base").credit.kind == "uniform"
    assert study.folder == tmp_path
    assert len(study.digest) == 64
    problem = study.problem("x", "budget", "updates")
    assert (problem.line, problem.column) == (line_of(STUDY, "budget:"), 19)
    # a place that is not in the file is that of the section's key
    assert study.problem("x", "trainer", "loss", "constant").line == line_of(STUDY, "trainer:")


@pytest.mark.parametrize(
    ("old", "new", "field", "found", "expected"),
    [
        ("kind: confirmatory", "kind: confirmatry", "kind", "'confirmatry'", "Did you mean `confirmatory`?"),
        ("split: easy", "split: eazy", "data.benchmarks.easy.source.split", "'eazy'", "`easy`"),
        ("samples: 8", "sample: 8", "data.benchmarks.easy.sample", "unknown key", "Did you mean `samples`?"),
        (
            "{kind: paired_t}",
            "{kind: paired}",
            "hypotheses.0.test.kind",
            "`paired`",
            "Did you mean `paired_t`?",
        ),
        ("{kind: paired_t}", "{}", "hypotheses.0.test.kind", "missing", "`crossed_satterthwaite`"),
        ("{kind: paired_t}", "t", "hypotheses.0.test", "the text 't'", "a section"),
        ("updates: 10", "updates: -1", "budget.updates", "the number -1", "at least 1"),
        ("updates: 10", "updates: ten", "budget.updates", "the text 'ten'", "a whole number"),
        ("updates: 10", "updates: 1.5", "budget.updates", "the number 1.5", "a whole number"),
        ("updates: 10", "updates: true", "budget.updates", "true", "a whole number"),
        ("updates: 10", "updates: 12:30", "budget.updates", "the text '12:30'", "a whole number"),
        ("id: tiny", "id: a/b", "id", "'a/b'", "lower-case letters"),
        ("id: tiny", "id: 12", "id", "the number 12", "Put it in quotes."),
        ("title: A tiny study", "title: false", "title", "false", "Put it in quotes."),
        ("title: A tiny study", "title: ''", "title", "''", "not empty"),
        ("authors: [A, B]", "authors: Me", "authors", "'Me'", "Write [Me]"),
        ("authors: [A, B]", "authors: []", "authors", "a list", "not empty"),
        ("seeds: [1, 2, 3]", "seeds: [1, -2]", "seeds.1", "-2", "at least 0"),
        (
            "test: {kind: paired_t}",
            "test: [{kind: paired_t}, {kind: sign_flip}]",
            "hypotheses.0.test",
            "found a list",
            "under `sensitivity`",
        ),
        ("role: control", "rôle: control", "arms.base.rôle", "unknown key", "Did you mean `role`?"),
        ("  base: {", "  'Base 1': {", "arms.Base 1", "'Base 1'", "lower-case letters"),
        ("direction: greater", "direction: no", "hypotheses.0.direction", "'no'", "`two_sided`"),
        ("direction: greater", "direction: true", "hypotheses.0.direction", "true", "`two_sided`"),
        (
            "max_new_tokens: 32",
            "gradient_checkpointing: yes",
            "trainer.gradient_checkpointing",
            "'yes'",
            "write true",
        ),
        ("max_new_tokens: 32", "temperature: 0", "trainer.temperature", "0", "more than 0"),
        ("{kind: margin, low: 0.2}", "{kind: margn}", "arms.new.trainer.credit.kind", "`margn`", "`margin`"),
        (
            "{kind: margin, low: 0.2}",
            "{low: 0.2}",
            "arms.new.trainer.credit.low",
            "unknown key",
            "Write the section's `kind`",
        ),
        ("credit: {", "credt: {", "arms.new.trainer.credt", "unknown key", "Did you mean `credit`?"),
        ("low: 0.2}", "low: 1.2}", "arms.new.trainer.credit.low", "1.2", "at most 1"),
    ],
)
def test_an_error_names_place_field_found_and_expected(
    old: str, new: str, field: str, found: str, expected: str
) -> None:
    text = changed((old, new))
    mine = [p for p in refused(text) if f": {field}: " in p]
    assert len(mine) == 1
    line = int(mine[0].split(":")[1])
    assert text.splitlines()[line - 1] != STUDY.splitlines()[line - 1], "the line is the one that was changed"
    assert found in mine[0]
    assert expected in mine[0]


def test_the_column_is_that_of_the_value_or_of_the_unknown_key() -> None:
    text = changed(("updates: 10", "updates: ten"), ("generated_tokens: 5000", "tokens: 5000"))
    line = line_of(text, "budget:")
    assert [p.split(": ")[0] for p in refused(text)] == [f"study.yaml:{line}:19", f"study.yaml:{line}:24"]


def test_a_missing_field_is_placed_at_its_section() -> None:
    (only,) = refused(changed(("    direction: greater\n", "")))
    assert only.startswith(f"study.yaml:{line_of(STUDY, '- id: first')}:5: hypotheses.0.direction: ")
    assert "missing" in only
    assert "`two_sided`" in only


def test_all_errors_are_reported_at_once_in_the_order_of_the_file() -> None:
    text = changed(
        ("id: tiny", "id: Tiny"), ("seen: nothing", "seen: .nan"), ("updates: 10", "updates: 0"),
        ("{kind: margin, low: 0.2}", "{kind: margn}"), ("split: easy", "split: eazy"),
        ("kind: confirmatory", "kind: confirmatory\nkind: pilot"),
    )  # fmt: skip
    lines = [int(problem.split(":")[1]) for problem in refused(text)]
    assert len(lines) == 6
    assert lines == sorted(lines)


def test_a_value_refused_as_yaml_is_reported_once() -> None:
    assert len(refused(changed(("updates: 10", "updates: .inf")))) == 1
    assert len(refused(changed(("{kind: paired_t}", "{kind: !x paired_t}")))) == 1


def test_a_leading_zero_is_neither_octal_nor_decimal() -> None:
    (only,) = refused(changed(("updates: 10", "updates: 017")))
    assert "Write 17" in only


@pytest.mark.parametrize("text", ["- a\n- b\n", "just text\n", "5\n", "null\n", "{}\n", "[]\n"])
def test_a_file_that_is_no_study_is_refused(text: str) -> None:
    assert refused(text)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"   \n\n", "empty"),
        (bytes(range(256)), "binary"),
        (codecs.BOM_UTF16_LE + STUDY.encode("utf-16-le"), "UTF-16"),
        (STUDY.encode("utf-16-le"), "binary"),
        (
            STUDY.replace("A tiny", "Ein völlig").encode("latin-1"),
            "study.yaml:2:13: the byte 0xF6 is not UTF-8",
        ),
        (b"\x89PNG\r\n\x1a\n\x00", "binary"),
    ],
)
def test_other_encodings_and_files_are_named(content: bytes, words: str) -> None:
    assert words in refused(content)[0]


def test_a_byte_order_mark_of_utf8_and_windows_line_ends_are_read() -> None:
    content = codecs.BOM_UTF8 + STUDY.replace("\n", "\r\n").encode()
    assert parse_study(content, Path("study.yaml")).study == loaded().study


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    def message(path: Path) -> str:
        with pytest.raises(Refused) as caught:
            load_study(path)
        return str(caught.value)

    assert "no such file" in message(tmp_path / "none.yaml")
    assert "folder" in message(tmp_path)
    os.mkfifo(tmp_path / "pipe.yaml")
    assert "not a regular file" in message(tmp_path / "pipe.yaml")
    assert "not a regular file" in message(Path("/dev/zero"))
    (tmp_path / "big.yaml").write_bytes(b"#" * (MAX_BYTES + 1))
    assert "at most 1024 KiB" in message(tmp_path / "big.yaml")
    (tmp_path / "round.yaml").symlink_to("round.yaml")
    assert "cannot be read" in message(tmp_path / "round.yaml")
    assert "cannot be read" in message(Path("a\0b.yaml"))


@pytest.mark.parametrize(
    "path", ["../other/train.jsonl", "a/../../train.jsonl", "/etc/passwd", "~/t.jsonl", "C:/t"]
)
def test_a_path_out_of_the_folder_is_refused(path: str) -> None:
    training = "{kind: builtin, name: arithmetic, split: train, size: 100}"
    (only,) = refused(changed((training, f"{{kind: jsonl, path: '{path}'}}")))
    assert f":{line_of(STUDY, training)}:" in only
    assert "data.training.source.path" in only


def test_a_link_out_of_the_folder_is_refused_and_one_within_is_not(tmp_path: Path) -> None:
    inside = tmp_path / "study"
    inside.mkdir()
    (tmp_path / "secret.jsonl").write_text("{}")
    (inside / "data.jsonl").write_text("{}")
    (inside / "out.jsonl").symlink_to("../secret.jsonl")
    (inside / "in.jsonl").symlink_to("data.jsonl")
    (inside / "up").symlink_to("..")
    benchmark = "{kind: builtin, name: arithmetic, split: easy, size: 10}"
    for path, fine in (
        ("in.jsonl", True),
        ("out.jsonl", False),
        ("up/secret.jsonl", False),
        ("absent", True),
    ):
        text = changed((benchmark, f"{{kind: jsonl, path: {path}}}"))
        if fine:
            parse_study(text.encode(), inside / "study.yaml")
        else:
            (only,) = refused(text, inside / "study.yaml")
            assert "by a link" in only


def test_the_same_folder_by_another_name_is_inside(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    text = changed(("source: {kind: builtin}", "source: {kind: local, path: model}"))
    parse_study(text.encode(), tmp_path / "alias" / "study.yaml")


def accepted_or_refused(content: bytes) -> None:
    """Reading never fails in another way, what it refuses has a message, the rest can be shown."""
    try:
        study = parse_study(content, Path("study.yaml"))
        checks.problems(study)
        render_plan(study.study)
    except Refused as error:
        messages = [problem.message for problem in error.problems]
    else:
        messages = ["accepted"]
    assert messages
    assert all(messages)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace"))))
def test_random_bytes_never_raise_anything_else(content: bytes) -> None:
    accepted_or_refused(content)


YAML_BITS = st.sampled_from(
    [
        "- ",
        ": ",
        "? ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&a ",
        "*a",
        "!t ",
        "|\n",
        ">\n",
        "'",
        '"',
        "#",
        "\n",
        "  ",
        "\t",
        "%",
        "---\n",
        "...\n",
        "<<: ",
        "a",
        "kind",
        "017",
        ".nan",
        "null",
        "1e-3",
        "\\",
        "é",
        "\x85",
        "\ufeff",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(YAML_BITS, max_size=30).map("".join))
@example('"\\x')
@example("- ? : ")
def test_random_yaml_never_raises_anything_else(text: str) -> None:
    accepted_or_refused(text.encode())


WORDS = st.sampled_from(
    [
        "",
        "null",
        "[]",
        "{}",
        "5",
        "-1",
        "1e9",
        "true",
        "x",
        "'x'",
        "[1, 2]",
        "{kind: x}",
        "{kind: [1]}",
        "{kind: null}",
        "*a",
        "&a 3",
        "{a: {b: {c: 1}}}",
        "margin",
        "12345678901234567890",
        '"\\ud83d"',
        "[[[]]]",
        "kind: kind",
        "- 3",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_random_changes_of_a_valid_study_never_raise_anything_else(data: st.DataObject) -> None:
    lines = STUDY.splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(st.integers(0, len(lines) - 1))
        line = lines[index]
        match data.draw(st.sampled_from(["value", "drop", "repeat", "cut", "insert", "indent"])):
            case "value":
                lines[index] = f"{line.split(':')[0]}: {data.draw(WORDS)}"
            case "drop":
                lines[index] = ""
            case "repeat":
                lines[index] = f"{line}\n{line}"
            case "cut":
                lines[index] = line[: data.draw(st.integers(0, len(line)))]
            case "insert":
                at = data.draw(st.integers(0, len(line)))
                lines[index] = f"{line[:at]}{data.draw(st.text(max_size=4))}{line[at:]}"
            case _:
                lines[index] = f"  {line}"
    accepted_or_refused("\n".join(lines).encode("utf-8", "replace"))
