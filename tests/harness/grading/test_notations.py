"""Right answers in other notations, and wrong ones that notation could hide: by hand, no type declared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.grading.arguments import braced
from harness.grading.build import make_grader
from harness.grading.letters import told_apart
from harness.grading.notation import tidy
from harness.grading.protocol import Grader
from harness.grading.units import without_unit
from prereg.sources import MathGrader as MathSpec

RIGHT = [
    ("5", r"\text{5 cm}"), ("5", r"\mathbf{5}"), ("1,2", r"x=1\text{ or }x=2"), ("e^{ix}", r"\cos x+i\sin x"),
    (r"\sin 30^\circ", r"\frac12"), ("2x+3y=6", r"y=2-\frac{2x}{3}"), (r"\frac{1}{2}\%", "0.5"),
    ("6m", "6m"), (r"\frac{1}{m} t", r"\frac{t}{m}"), (r"\pi r^2 h", r"h\pi r^2"),
    (r"\sqrt{3}s", r"s\sqrt{3}"), ("2t+1", "1+2t"), ("y=2t", "2t=y"), ("a+b+c", "a + b + c"),
    ("a + b + c", "c+a+b"), (r"\sin^2 t", r"1-\cos^2 t"), ("x + m", "m+x"), ("5", r"5\text{ cm}"),
    ("5", r"5\,\mathrm{m}/\mathrm{s}^2"), ("5", r"5\text{ m/s}^2"), ("5", "5 inches"), ("5", "5 dollars"),
    ("5", "5 cm"), ("5", r"5\text{ square units}"), ("5", r"5\text{ miles per hour}"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}"),
    ("\\begin{pmatrix} 1 \\\\\n 2 \\end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}"),
    (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"),
    ("2^{n+1}-1", r"\sum_{k=0}^{n}2^k"), (r"\sum_{k=1}^{n}\frac{1}{k}", r"\sum_{k=1}^{n} \frac1k"),
    (r"\sum_{k=1}^{n}\frac{1}{k}", r"\sum_{k=1}^{n}\frac{1}{k}"), (r"\frac{n(n+1)}{2}", r"\sum_{k=1}^n k"),
    (r"\binom{n}{2}", r"\frac{n(n-1)}{2}"), ("n!", r"n\cdot (n-1)!"), ("2000000", r"2\text{ million}"),
    ("2000000", "2 million dollars"), ("x+1 for x>0 and x-1 otherwise", "x+1 for x>0 and x-1 otherwise"),
    ("-1", "i^2"), ("2i", "(1+i)^2"), ("5", "|3+4i|"), ("-i", r"\frac1i"), ("3+4i", r"3+4\mathrm{i}"),
    ("3+4i", "4i+3"), ("x", r"\frac{2x}{2}"), ("x", "2x-x"), ("x", "x+0"), (r"12.5\%", "12.5"),
    (r"12.5\%", r"12.5\%"), (r"12.5\%", "0.125"), (r"50\%", "50"), (r"\frac{25}{2}\%", "12.5"),
    (r"\frac{25}{2}\%", r"12.5\%"), (r"\tan 45^\circ", "1"), (r"\sin 10^\circ", r"\cos 80^\circ"),
    (r"\sqrt{\pi}", r"\sqrt\pi"), (r"\frac{\pi}{2}", r"\frac\pi2"), (r"\frac{a}{b}", r"\frac ab"),
    (r"\frac13", r"0.\bar{3}"), (r"\emptyset", r"\varnothing"),
    (r"(-\infty,1)\cup(2,\infty)", r"x<1\text{ or }x>2"), ("100, 200", "200,100"), ("x=2", "2x=4"),
    ("y=2x", "2y=4x"), ("A^T", "A^T"), (r"\gcd(a,b)", r"\gcd(a,b)"), (r"1,2,3,\ldots", r"1,2,3,\ldots"),
    ("n+N", "N+n"), (r"\Delta", r"\Delta"), (r"-\tau\ln\Delta", r"-\ln(\Delta)\tau"), (r"\gcd(12,18)", "6"),
    ("5", "2+3=5"), ("5", "x=2+3=5"), (r"\sqrt 2", r"\sqrt(2)"), (r"e^{i\pi}", "-1"),
    (r"\{200,100\}", r"\{100,200\}"), (r"25\pi", r"25\pi\text{ cm}^2"), ("5", r"5 \mathrm{~cm}"),
    ("30", r"30^\circ\text{C}"), ("30", r"30^{\circ}"), ("x^2t", "tx^2"),
    (r"I(0) e^{-\frac{t}{R C}}", "e^{-t/(RC)}I(0)"), ("E", "E"), ("E=mc^2", "mc^2=E"),
]  # fmt: skip

WRONG = [
    ("x+1", "3=x+1"),
    (r"\sin 30^\circ", r"\sin 30"), ("x^2=4", "x=2"), ("5", "5, x>0"), ("5", r"\text{5 or 6}"),
    (r"5\text{ wombats}", "5"), ("5", r"5\ 6"), ("25", "0.25"),
    ("6m", "6"), ("6s", "6"), ("6t", "6"), (r"\frac{1}{m} t", r"\frac{1}{m}"), (r"\pi r^2 h", r"\pi r^2"),
    ("x^2t", "x^2"), ("y=2t", "y=2"), ("2t", "2s"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 2 \\ 1 \end{pmatrix}"),
    (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{pmatrix} 1 & 3 \\ 2 & 4 \end{pmatrix}"),
    ("2^{n}-1", r"\sum_{k=0}^{n}2^k"), ("5", "5 for n even, 6 for n odd"),
    ("5", "5 with x=6 or 6 with x=5"), ("5", "6 with x=5"), ("5", r"5\text{ or six}"),
    ("5", r"5\text{ is wrong}"), ("5", r"5\text{ million}"), ("3", r"3\mathrm{i}"), ("2", r"2\text{ pi}"),
    ("x+1", "x+1 for x>0 and x-1 otherwise"), ("2n", "N+n"), (r"\delta", r"\Delta"), (r"\pi", r"\Pi"),
    ("A", "A^T"), ("1", r"\gcd(a,b)"), ("1,2,3", r"1,2,3,\ldots"), ("1,2,3", "1,2,3,..."), ("5", "2=5"),
    ("(1,2,3)", "[1,2,3]"), ("5", "not x=5"), ("x", "y"), ("x", "x^2"), ("x", "2x"), (r"5\%", "0.5"),
    ("0.2", "20"), (r"90^\circ", r"\frac{\pi}{2}"), ("x=2", "2x=5"), ("x=2", "y=2"), ("x=2", "x^2=4"),
    ("100, 200", "200100"), ("5", "x=4=5"), ("5", r"5\text{ dozen}"), ("5", r"5\text{ or }6"), ("6", "2km"),
    (r"(-\infty,1)\cup(2,\infty)", r"x<1\text{ and }x>2"), ("3+4i", "3-4i"), ("2", "2I"), ("-1", "I^2"),
    ("50", "0.5"), ("y=2x", "y=3x"), (r"\frac{n(n+1)}{2}", r"\sum_{k=1}^{n-1} k"),
]  # fmt: skip


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with make_grader(MathSpec(kind="math", timeout_seconds=20.0)) as made:
        yield made


def states(grader: Grader, pairs: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    golds, boxed = [gold for gold, _ in pairs], [rf"\boxed{{{answer}}}" for _, answer in pairs]
    found = grader(golds, boxed, [True] * len(pairs))
    return [(gold, answer, grade.state) for (gold, answer), grade in zip(pairs, found, strict=True)]


def test_right_answers(grader: Grader) -> None:
    assert [found for found in states(grader, RIGHT) if found[2] != "correct"] == []


def test_wrong_answers(grader: Grader) -> None:
    assert [found for found in states(grader, WRONG) if found[2] != "incorrect"] == []


def test_every_gold_answer_among_them_is_readable_and_right_against_itself(grader: Grader) -> None:
    golds = list(dict.fromkeys(gold for gold, _ in RIGHT + WRONG))
    assert grader.unreadable(golds) == {}
    assert [
        found for found in states(grader, [(gold, gold) for gold in golds]) if found[2] != "correct"
    ] == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"5\text{ cm}^2", "5"), (r"5 \mathrm{m} / \mathrm{s}^{2}", "5"), ("5 feet", "5"), ("5feet", "5"),
        (r"\frac{1}{2}\text{ square inches}", r"\frac{1}{2}"), ("3 million", r"3 \times 10^{6}"),
        # Letters, and words that nobody knows.
        ("5m", "5m"), ("5 m", "5 m"), ("2km", "2km"), ("5ab", "5ab"), (r"5\text{ dozen}", r"5\text{ dozen}"),
        (r"3\mathrm{i}", r"3\mathrm{i}"), (r"5+\text{cm}", r"5+\text{cm}"), (r"\text{cm}", r"\text{cm}"),
        (r"5\text{ cm or 6 cm}", r"5\text{ cm or 6 cm}"), ("3 million or so", "3 million or so"),
    ],
)  # fmt: skip
def test_only_known_units_are_cut(text: str, value: str) -> None:
    assert without_unit(text) == value


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (r"\frac12", r"\frac{1}{2}"), (r"\frac1{23}", r"\frac{1}{23}"), (r"\frac 123", r"\frac {1}{2}3"),
        (r"\frac\pi2", r"\frac{\pi}{2}"), (r"\sqrt[3]2x", r"\sqrt[3]{2}x"),
        (r"\sqrt{\frac12}", r"\sqrt{\frac{1}{2}}"),
        (r"\frac{a}b+1", r"\frac{a}{b}+1"), (r"\frac", r"\frac"), (r"\frac{", r"\frac{"), ("}x", "}x"),
    ],
)  # fmt: skip
def test_arguments_get_braces(text: str, written: str) -> None:
    assert braced(text) == written


def test_the_end_of_a_row_stays() -> None:
    assert (
        tidy("\\begin{pmatrix} 1 \\\\\n 2 \\\\ 3\\ 4\\end{pmatrix}")
        == r"\begin{pmatrix} 1 \\ 2 \\ 3 4\end{pmatrix}"
    )


def test_letters_are_told_apart_only_where_one_of_the_texts_needs_it() -> None:
    assert told_apart("2k", "2K") == ("2k", "2K")
    assert told_apart("N=n", "N=N") == ("q=n", "q=q")
    # The letter that stands for another is one that neither has, in either case.
    assert told_apart("N=nq", "W")[0] == "z=nq"
    assert told_apart(r"\delta", r"\Delta x") == (r"\delta", "q  x")
    # An index is a name, and where it runs it is no imaginary unit.
    assert told_apart("x_i+i", "i^2") == ("x_i+I", "{I}^2")
    assert told_apart(r"\sum_{i=1}^{n} i", "i") == (r"\sum_{i=1}^{n} i", "i")
    assert told_apart("A^T", "A^{T}B") == ("A^{q}", "A^{q}B")
