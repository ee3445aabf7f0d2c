"""Each kind of answer, right and wrong, generated and by hand; and the fast path beside the algebra."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction

import pytest

from harness.grading.build import make_grader
from harness.grading.equal import equal_numbers, plain_number
from harness.grading.math_worker import compare
from harness.grading.notation import tidy
from harness.grading.protocol import Grader
from prereg.sources import MathGrader as MathSpec


@pytest.fixture(scope="module")
def graders() -> Iterator[dict[str, Grader]]:
    made: dict[str, Grader] = {}

    class Lazily(dict[str, Grader]):
        def __missing__(self, kind: str) -> Grader:
            spec = MathSpec.model_validate({"kind": "math", "answer_type": kind, "timeout_seconds": 20.0})
            made[kind] = self[kind] = make_grader(spec)
            return self[kind]

    yield Lazily()
    for grader in made.values():
        grader.close()


def states(grader: Grader, cases: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """The cases with the states that the grader gives."""
    boxed = [rf"so $\boxed{{{answer}}}$" for _, answer, _ in cases]
    found = grader([gold for gold, _, _ in cases], boxed, [True] * len(cases))
    return [(gold, answer, grade.state) for (gold, answer, _), grade in zip(cases, found, strict=True)]


R, W, U = "correct", "incorrect", "unparseable"

AUTO = [
    # Notations of one number, and numbers that look alike.
    ("8000", "8 000", R), ("8000", r"8\,000", R), ("8000", "8,000", R), ("8000", "8,00", W),
    ("8000", "8.000", W),
    (r"11,\! 111,\! 111,\! 100", "11111111100", R), ("1234567", "1,234,567.00", R),
    ("4.5e33", r"4.5\times 10^{33}", R), ("4.5e33", "4.5E33", R), ("4.5e33", r"4.5 \cdot 10^{34}", W),
    ("1e-5", "10^{-5}", R), ("1e-5", "0.00001", R), ("1e-5", "10^{5}", W), ("0.022", "2.2e-2", R),
    ("0", "-0", R), ("0", "-0.0", R), ("0", "+0", R), ("5", "-5", W), ("-5", "−5", R),
    (r"\frac{9}{2}", "4 1/2", R), (r"\frac{9}{2}", r"4\frac{1}{2}", R), (r"\frac{9}{2}", r"\tfrac92", R),
    (r"\frac{9}{2}", r"\dfrac{9}{2}", R), (r"\frac{9}{2}", "4.5", R), (r"\frac{9}{2}", "9/2", R),
    (r"\frac{9}{2}", r"4\frac{1}{3}", W), (r"\frac{9}{2}", "41/2", W),
    (r"-\frac{9}{2}", r"\frac{9}{-2}", R),
    (r"\frac{1}{3}", r"0.\overline{3}", R), (r"\frac{1}{6}", r"0.1\overline{6}", R),
    (r"\frac{1}{3}", "0.33", W), (r"-\frac{1}{3}", "-1./3", R),
    # Units, degrees, currency, a sign of percent; what trails.
    ("5", r"5\text{ cm}", R), ("5", r"5~\text{km/h}", R), ("5", "5.", R), ("5", "x = 5.", R),
    ("5", r"5\,", R),
    (r"15\mbox{ cm}^2", "15", R), (r"15\mbox{ cm}^2", r"15\text{ cm}^3", R),
    ("90", "90°", R),
    (r"90^\circ", "90", R), (r"90^\circ", r"90\text{ degrees}", R), (r"90^\circ", r"\frac{\pi}{2}", W),
    (r"\$18.90", "18.9", R), (r"20\%", "20", R), ("0.2", r"20\%", R), ("0.2", "20", W),
    # Sets, tuples, intervals.
    (r"\{1,2\}", "2,1", R), (r"\{1,2\}", "(1,2)", W), ("(1,2)", r"\{1,2\}", W), ("1,2", "(1,2)", W),
    ("(3,2)", "3,2", R), ("(3,2)", "2,3", W), (r"1 \pm \sqrt{2}", r"1-\sqrt{2},1+\sqrt{2}", R),
    ("5", "5,6", W), ("5,6", "5", W), ("(1,2]", r"1<x\le2", R), ("(1,2]", "1<x<2", W), ("(1,2]", "[1,2)", W),
    (r"(2,\infty)", "x>2", R), (r"(2,\infty)", r"x\ge 2", W), ("$t(0,4]$", "(0,4]", R),
    (r"$(-\infty, 0) \cup\{1\}$.", r"\{1\}\cup(-\infty,0)", R),
    # Words and letters.
    (r"\text{even}", "even", R), (r"\text{even}", r"\text{Even.}", R), (r"\text{even}", "neve", W),
    (r"\text{even}", r"\text{odd}", W), (r"\text{(C)}", "C", R), (r"\text{(C)}", r"\textbf{(C)}", R),
    (r"\text{(C)}", "D", W), (r"\text{(C)}", r"C \text{ or } D", W),
    # Equations and letters in both cases.
    ("y=2x+3", "y-2x=3", R), ("y=2x+3", "2x+3", R), ("y=2x+3", "y=3x+2", W), ("f(x)=x+1", "g(x)=x+1", W),
    ("N=n", "N=N", W), ("N=n", "N=n", R), ("m/M", "M/m", W), ("2k", "2n", W),
    (r"E_{1},E_{2}", r"E_2, E_1", R), (r"\frac{1}{3} E_{1}+\frac{2}{3} E_{2}", r"\frac{E_1+2E_2}{3}", R),
    (r"\hbar \omega", r"\omega\hbar", R), (r"m_{\max }=n^{2}", "m_{max}=n^2", R),
    ("np.arcsin(10/13)", r"\arcsin\frac{10}{13}", R),
    (r"$f(x)=a x+b$, where $b$ is an integer", "f(x)=b+ax", R),
    # Beside the point.
    ("5", r"\text{five}", W), ("5", r"5 \text{ or } 6", W), ("5", "\x00", U), ("5", "5\x07", U), ("5", "", U),
    ("7", r"\underline{7}", R), ("5", "{5}", R), (r"\frac{1}{2}", r"\frac{1}{0}", W),
]  # fmt: skip


def test_answers_of_no_declared_type(graders: dict[str, Grader]) -> None:
    found = states(graders["auto"], AUTO)
    assert [(f, c[2]) for f, c in zip(found, AUTO, strict=True) if f != c] == []


TYPED: dict[str, list[tuple[str, str, str]]] = {
    "integer": [("7", "7", R), ("7", "07", R), ("7", "7.0", R), ("7", r"\frac{14}{2}", R), ("7", "x=7", R),
                ("7", r"\frac{15}{2}", W), ("7", "7.5", W), ("7", "x", U), ("7", "(7,8)", U), ("7", "7,8", U),
                (r"\frac12", "1", "grader_error")],
    "number": [(r"\frac12", "0.5", R), (r"\sqrt{2}", r"\frac{2}{\sqrt{2}}", R), ("5", "2x", U),
               ("2x", "5", "grader_error")],
    "expression": [("2(x+1)", "2x+2", R), ("2(x+1)", "2x+1", W), ("2x", "(1,2)", U), ("y=2x", "2x", R)],
    "tuple": [("(1,2)", "(1,2)", R), ("(1,2)", "(2,1)", W), ("(1,2)", "1,2", R), ("(1,2)", "[1,2]", U),
              ("(1,2)", r"\{1,2\}", W), ("(1,2,3)", "(1,2)", W), ("(1,2)", "1", U),
              ("5", "5", "grader_error")],
    "set": [(r"\{1,2\}", "2,1", R), (r"\{1,2\}", r"\{1,2,2\}", R), (r"\{1,2\}", r"\{1\}", W),
            (r"\{1\}", "1", R),
            (r"\{1,2\}", "(1,2)", W)],
    "interval": [("(1,2)", "1<x<2", R), ("[1,2]", "(1,2)", W), ("[1,2]", "5", U),
                 (r"(-\infty,1]\cup[2,\infty)", r"x\le 1\text{ or }x\ge 2", R)],
    "equation": [("y=2x", "2x-y=0", R), ("y=2x", "y=3x", W), ("y=2x", "2x", U), ("x=5", "y=5", W),
                 ("5", "x=5", "grader_error")],
    "choice": [("C", "C", R), ("C", "(C)", R), ("C", r"\text{(C)}", R), ("C", "c", R), ("C", "C. 42", R),
               ("C", r"\textbf{(C)}\ 42", R), ("C", "D", W), ("C", r"C \text{ or } D", U),
               ("C", "C) or D)", U),
               ("C", "42", U), ("42", "C", "grader_error"), ("C", "", U)],
    "text": [("Paris", r"\text{paris}", R), ("Paris", "Paris.", R), ("Paris", "Rome", W), ("Paris", "", U),
             ("New York", r"\text{New  York}", R)],
}  # fmt: skip


@pytest.mark.parametrize("kind", TYPED)
def test_answers_of_a_declared_type(graders: dict[str, Grader], kind: str) -> None:
    cases = TYPED[kind]
    found = states(graders[kind], cases)
    assert [(f, c[2]) for f, c in zip(found, cases, strict=True) if f != c] == []


@pytest.mark.parametrize(
    ("kind", "golds", "bad"),
    [
        ("integer", ["1", "1.5", r"\frac{1}{2}", "x", "1,234"], [1, 2, 3]),
        ("number", ["1.5", r"\pi", "2x", "(1,2)"], [2, 3]),
        ("tuple", ["(1,2)", "[1,2]", "5"], [1, 2]),
        ("equation", ["x=5", "5"], [1]),
        ("choice", ["A", "(b)", "AB", "5"], [2, 3]),
        ("interval", ["(1,2)", "(2,1)", "x>2", "5"], [1, 3]),
        ("text", ["Paris", "$"], [1]),
    ],
)
def test_gold_answers_of_another_type_are_named(
    graders: dict[str, Grader], kind: str, golds: list[str], bad: list[int]
) -> None:
    assert list(graders[kind].unreadable(golds)) == bad


def written(value: Fraction, rng: random.Random) -> str:
    """A number in one of the notations of the fast path."""
    above, below = value.numerator, value.denominator
    choices = [f"{above}/{below}", rf"\frac{{{above}}}{{{below}}}", rf"\dfrac{{{above}}}{{{below}}}"]
    if below == 1:
        choices += [str(above), f"{above:,}", f"{above}.0", f"${above}$"]
    if 10**6 % below == 0:
        choices.append(f"{float(value):.6f}")
    if rng.random() < 0.3:
        choices = [f"{float(value):.{rng.randint(1, 9)}f}"]
    return rng.choice(choices)


def test_the_fast_path_says_what_the_algebra_says() -> None:
    rng = random.Random(5)
    pairs: list[tuple[str, str]] = []
    for _ in range(400):
        value = Fraction(rng.randint(-60, 60), rng.choice([1, 1, 2, 3, 4, 5, 7, 8]))
        other = (
            value if rng.random() < 0.5 else value + Fraction(rng.randint(-3, 3), rng.choice([1, 10, 10**5]))
        )
        pairs.append((written(value, rng), written(other, rng)))
    decided = differing = 0
    for gold, answer in dict.fromkeys(pairs):
        expected, found = plain_number(tidy(gold)), plain_number(tidy(answer))
        if expected is None or found is None:
            continue
        same = equal_numbers(expected, found)
        if same is None:
            continue
        decided += 1
        slow = compare(tidy(gold), tidy(answer))
        if slow != ("correct" if same else "incorrect"):
            differing += 1
            print(gold, answer, same, slow)
    assert decided > 250
    assert differing == 0


@pytest.mark.parametrize(
    "text", ["1 2", "1/0", r"\frac{1}{0}", "1e3", "x", "", "1,2", "0x10", "1_0", "٣", "--1", ".", "1" * 400]
)
def test_the_fast_path_leaves_the_rest_alone(text: str) -> None:
    assert plain_number(text) is None


def test_tidying_twice_changes_nothing_more() -> None:
    for case in AUTO:
        for text in case[:2]:
            assert tidy(tidy(text)) == tidy(text)


def test_verdicts_are_remembered_by_content() -> None:
    with make_grader(MathSpec(kind="math", timeout_seconds=20.0)) as grader:
        texts = [rf"\boxed{{{n}x}}" for n in (2, 3, 2)]
        first = grader(["2x"] * 3, texts, [True] * 3)
        grader.close()
        # Its workers are gone for good: what is known is still known.
        assert grader(["2x"] * 3, texts, [True] * 3) == first
        assert [g.state for g in first] == ["correct", "incorrect", "correct"]


def test_generated_sets_in_every_order_and_intervals_of_every_kind(graders: dict[str, Grader]) -> None:
    cases = [
        (r"\{1,\frac{1}{2},x\}", ",".join(order), R)
        for order in itertools.permutations(["1", r"\frac12", "x"])
    ]
    ends = list(itertools.product("([", ")]"))
    cases += [
        (f"{a}1,2{b}", f"{c}1,2{d}", R if (a, b) == (c, d) else W) for (a, b) in ends for (c, d) in ends
    ]
    assert states(graders["auto"], cases) == cases
