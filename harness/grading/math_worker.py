"""The process that does the algebra; run as a script, it answers JSON lines on its standard streams.

It may hang, exhaust its memory or be killed at any answer: whoever started it counts on that. It imports
nothing of the project, so that the script alone is enough, and evaluates no text as code: answers go
through math-verify's LaTeX grammar.
"""

from __future__ import annotations

import cmath
import contextlib
import json
import logging
import os
import re
import resource
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

SETTINGS = (
    "latex2sympy(no units) float_rounding=6 numeric_precision=15 exact-numbers points-2 equations percent"
)
"""What the comparison depends on besides versions."""

_DECIMAL_TOLERANCE = 2e-6
"""Relative difference up to which a decimal is a rounded form of the other number."""
_DIGITS = 60
"""Decimal digits to which two exact irrational numbers are compared."""
_POINTS = ((0.4142135, 0.1231056, 0.3245553), (1.6457513, 1.3166247, 1.2360679))
"""Where expressions with variables are compared first: two points. Variables get coordinates by name,
shifted by one for each three variables. Positive, since algebra often takes them for that."""
_APART = 1e-6
"""Relative difference at a point beyond which no rounding explains it."""
_PERCENT = re.compile(r"\s?(?:\\?%|\\(?:text|mbox|mathrm)\s?\{\s?(?:percent|pct)\s?\}|\bpercent)\s?\Z")
_OR = re.compile(r"(?<![A-Za-z])or(?![A-Za-z])")
_ANGLE = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)(?![A-Za-z])")
_UNEVALUATED = re.compile(r"\\(?P<name>gcd|lcm)(?![A-Za-z])|\\operatorname\s?\{(?P<other>gcd|lcm)\}")
_SHARE_OF_MEMORY = 0.6
"""Share of its memory limit at which a worker leaves, and another begins: libraries keep what they once
read."""


def compare(gold: str, answer: str, kind: str = "auto") -> str:
    """Whether an answer is the gold answer, both LaTeX: correct, incorrect, unparseable or gold_error.

    A sign of percent behind one of the two may be a unit or a hundredth; behind both it says nothing.
    """
    bare_gold, bare_answer = (_PERCENT.sub("", text) for text in (gold, answer))
    state = _compare(bare_gold, bare_answer, kind)
    if state == "incorrect" and bare_gold != gold and bare_answer == answer:
        return _compare(_hundredth(bare_gold), answer, "number")
    if state == "incorrect" and bare_gold == gold and bare_answer != answer:
        return _compare(gold, _hundredth(bare_answer), kind)
    return state


def _hundredth(latex: str) -> str:
    return rf"\frac{{1}}{{100}} \cdot ({latex})"


def _compare(gold: str, answer: str, kind: str) -> str:
    from math_verify import verify

    expected = gold_of_kind(gold, kind)
    if expected is None:
        return "gold_error"
    if gold.replace(" ", "") == answer.replace(" ", ""):
        return "correct"
    found = of_kind(read(answer), kind)
    if found is None:
        return "unparseable"
    if kind == "auto":
        found = _as_gold(expected, found, answer)
    same = _same_number(expected, found)
    if same is None and (_contradicts(expected, found) or differ_at_points(expected, found)):
        same = False
    if same is None:
        same = _same_equation(expected, found) or _same_expression(expected, found)
    if same is None:
        same = verify(
            expected, found, timeout_seconds=None, allow_set_relation_comp=True, raise_on_error=True
        )
    return "correct" if same else "incorrect"


def _as_gold(gold: Any, answer: Any, latex: str) -> Any:
    """Inequalities joined by `or` as the set that they describe, where a set is the gold answer."""
    import sympy  # type: ignore[import-untyped]

    if (
        isinstance(gold, sympy.Interval | sympy.Union)
        and isinstance(answer, sympy.FiniteSet)
        and _OR.search(latex)
    ):
        return _interval(answer) or answer
    return answer


def _contradicts(gold: Any, answer: Any) -> bool:
    """Whether an equation is given for a value, and one of its sides is another number: `2=5` for 5."""
    import sympy

    if isinstance(gold, sympy.core.relational.Relational | sympy.And):
        return False
    links = answer.args if isinstance(answer, sympy.And) else (answer,)
    if not all(isinstance(link, sympy.Equality) for link in links):
        return False
    numbers = [side for link in links for side in link.args if not side.free_symbols]
    if gold.free_symbols:
        return bool(numbers)
    return any(_same_number(gold, side) is False for side in numbers)


def _same_equation(gold: Any, answer: Any) -> bool | None:
    """True where one equation is a multiple of the other by a number; None where that does not show."""
    import sympy

    if not (isinstance(gold, sympy.Equality) and isinstance(answer, sympy.Equality)):
        return None
    left, right = gold.lhs - gold.rhs, answer.lhs - answer.rhs
    letters = sorted(left.free_symbols | right.free_symbols, key=str)
    if not letters or not (_plain(left) and _plain(right)):
        return None
    where = {letter: sympy.Rational(3 + 2 * i, 7 + 3 * i) for i, letter in enumerate(letters)}
    one, other = left.subs(where), right.subs(where)
    if one.is_zero is not False or other.is_zero is not False:
        return None
    return True if sympy.simplify(sympy.expand(left * other - right * one)) == 0 else None


def _same_expression(gold: Any, answer: Any) -> bool | None:
    """Whether two expressions are equal where verify compares names, or sums that it does not add up."""
    import sympy

    both = (gold, answer)
    if not all(isinstance(one, sympy.Expr) for one in both):
        return None
    lone = isinstance(gold, sympy.Symbol) != isinstance(answer, sympy.Symbol)
    if lone and all(_plain(one) for one in both):
        if any(
            isinstance(one, sympy.Mul) and all(isinstance(e, sympy.Symbol) for e in one.args) for one in both
        ):
            # The letters of a word may be read as a product.
            return None
        return bool(sympy.simplify(gold - answer) == 0)
    if any(one.has(sympy.Sum, sympy.Product, sympy.Integral, sympy.Limit, sympy.Derivative) for one in both):
        difference = gold.doit() - answer.doit()
        return True if sympy.simplify(difference) == 0 else None
    return None


def _plain(expression: Any) -> bool:
    """Whether an expression is arithmetic, powers and the functions that have a value at every point."""
    import sympy
    from sympy.functions.elementary import hyperbolic, trigonometric  # type: ignore[import-untyped]

    allowed = (
        sympy.Symbol, sympy.Number, sympy.NumberSymbol, sympy.core.numbers.ImaginaryUnit,
        sympy.Add, sympy.Mul,
        sympy.Pow, sympy.exp, sympy.log, sympy.Abs,
        trigonometric.TrigonometricFunction, trigonometric.InverseTrigonometricFunction,
        hyperbolic.HyperbolicFunction, hyperbolic.InverseHyperbolicFunction,
    )  # fmt: skip
    return isinstance(expression, sympy.Expr) and all(
        isinstance(node, allowed) and not node.has(sympy.oo, sympy.zoo, sympy.nan)
        for node in sympy.preorder_traversal(expression)
    )


@lru_cache(maxsize=512)
def read_gold(latex: str) -> Any | None:
    """`read`, remembered: a gold answer is compared with many answers."""
    return read(latex)


def gold_of_kind(latex: str, kind: str) -> Any | None:
    """The gold answer as the declared type has it; None if it cannot be read, or is of another type.

    An answer that is a number and no integer is of the type `integer`, and wrong; a gold answer is not.
    """
    found = of_kind(read_gold(latex), kind)
    if kind == "integer" and found is not None:
        import sympy

        return found if sympy.nsimplify(found.doit(), rational=True).is_Integer else None
    return found


def of_kind(found: Any | None, kind: str) -> Any | None:
    """What was read, as the declared type has it; None if it is of another type.

    A solved variable (`x=5`) is its value unless an equation is asked for. A pair in round brackets is read
    as an open interval, and is a tuple where one is asked for; a set of one may be written as its element.
    """
    if found is None or kind == "auto":
        return found
    import sympy

    if kind == "equation":
        return found if isinstance(found, sympy.Equality) else None
    if isinstance(found, sympy.Equality) and isinstance(found.lhs, sympy.Symbol):
        found = found.rhs
    if kind in ("integer", "number"):
        is_number = isinstance(found, sympy.Expr) and not found.free_symbols
        return found if is_number and found.is_number else None
    if kind == "expression":
        return found if isinstance(found, sympy.Expr | sympy.MatrixBase) else None
    if kind == "tuple":
        return _tuple(found)
    if kind == "set":
        if isinstance(found, sympy.Expr):
            return sympy.FiniteSet(found)
        return found if isinstance(found, sympy.FiniteSet) else None
    return _interval(found)


def _interval(found: Any) -> Any | None:
    """Intervals and their unions; inequalities of one unknown, joined by `or` where there are several."""
    import sympy

    relations = (sympy.core.relational.Relational, sympy.And, sympy.Or)
    if isinstance(found, sympy.FiniteSet) and all(isinstance(e, relations) for e in found):
        found = sympy.Or(*found)
    if isinstance(found, relations) and not isinstance(found, sympy.Equality | sympy.Unequality):
        return found.as_set() if len(found.free_symbols) == 1 else None
    return found if isinstance(found, sympy.Interval | sympy.Union) else None


def _tuple(found: Any) -> Any | None:
    import sympy

    if isinstance(found, sympy.Interval):
        return sympy.Tuple(found.start, found.end) if found.left_open and found.right_open else None
    return found if isinstance(found, sympy.Tuple) else None


def read(latex: str) -> Any | None:
    """A LaTeX answer as a SymPy object; None if it is not mathematics.

    By the reader that math-verify uses, but with its cutting of units off: it takes the last letter of `6m`
    or `x^2t` for one. All letters are real, so that those of two texts are the same.
    """
    from latex2sympy2_extended import latex2sympy2  # type: ignore[import-untyped]

    config = latex2sympy2.NormalizationConfig(
        basic_latex=True, units=False, malformed_operators=True, nits=True, boxed="none", equations=False
    )
    bare = latex.strip()
    if len(bare) > 1 and bare[0] == bare[-1] == "$":
        bare = bare.strip("$")
    degrees = "\\circ" in bare and _ANGLE.search(bare) is not None
    try:
        text = latex2sympy2.normalize_latex(_UNEVALUATED.sub(_named, bare), config)
        return latex2sympy2.latex2sympy(
            text, is_real=True, convert_degrees=degrees, normalization_config=None
        )
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - the grammar raises bare exceptions on whatever it does not know
        return None


def _named(found: re.Match[str]) -> str:
    """A greatest common divisor of letters is a function of them, and not 1."""
    name = found["name"] or found["other"]
    return (
        f"\\mathcal{{{name}}}" if re.search(r"(?<!\\)\b[A-Za-z]", found.string[found.end() :]) else found[0]
    )


def _same_number(gold: Any, answer: Any) -> bool | None:
    """Equality of two numbers; None if they are not both numbers, or one is a percentage.

    math-verify rounds to six decimal places, which makes all tiny numbers equal. Here rational numbers are
    compared exactly, and others by their relative difference.
    """
    import sympy

    if not all(isinstance(e, sympy.Expr) and not e.free_symbols and e.is_number for e in (gold, answer)):
        return None
    if gold.has(sympy.UnevaluatedExpr) or answer.has(sympy.UnevaluatedExpr):
        return None
    gold, answer = gold.doit(), answer.doit()
    if any(e.has(sympy.nan, sympy.zoo, sympy.oo) for e in (gold, answer)):
        return bool(gold == answer)
    decimal = gold.has(sympy.Float) or answer.has(sympy.Float)
    gold, answer = (sympy.nsimplify(e, rational=True) if e.has(sympy.Float) else e for e in (gold, answer))
    if gold.is_Rational and answer.is_Rational and (not decimal or gold.is_Integer or gold == answer):
        return bool(gold == answer)
    difference = abs(sympy.N(gold - answer, _DIGITS))
    scale = max(abs(sympy.N(gold, _DIGITS)), abs(sympy.N(answer, _DIGITS)))
    return bool(difference <= scale * (_DECIMAL_TOLERANCE if decimal else sympy.Float(f"1e-{_DIGITS - 10}")))


def differ_at_points(gold: Any, answer: Any) -> bool:
    """Whether two expressions with variables have clearly different finite values at each of two points.

    Then they are not equal, and the search for a simplification that would show it is spared: it is what
    costs most. Sums, integrals, limits, steps and factorials are left to the algebra, which knows them by
    their laws: their values at a point mean nothing, or take for ever.
    """
    import sympy

    for expression in (gold, answer):
        if not isinstance(expression, sympy.Expr) or isinstance(expression, sympy.Symbol):
            return False
        if not _plain(expression):
            return False
    names = sorted(gold.free_symbols | answer.free_symbols, key=str)
    if not names or not all(isinstance(name, sympy.Symbol) for name in names):
        return False
    return all(_apart(gold, answer, names, point) for point in _POINTS)


def _apart(gold: Any, answer: Any, names: list[Any], point: tuple[float, ...]) -> bool:
    import sympy

    where = {name: sympy.Float(point[i % len(point)] + i // len(point)) for i, name in enumerate(names)}
    try:
        values = [complex(expression.evalf(20, subs=where)) for expression in (gold, answer)]
    except (TypeError, ValueError, ArithmeticError, AttributeError, NotImplementedError):
        return False
    if not all(cmath.isfinite(value) for value in values):
        return False
    return abs(values[0] - values[1]) > _APART * max(abs(value) for value in values)


def answer_request(request: dict[str, Any]) -> str:
    """The state for one request: a comparison, or, without an answer, whether a gold answer can be read."""
    try:
        kind = request.get("kind", "auto")
        if request.get("answer") is None:
            gold = _PERCENT.sub("", request["gold"])
            return "gold_error" if gold_of_kind(gold, kind) is None else "correct"
        return compare(request["gold"], request["answer"], kind)
    except (MemoryError, RecursionError):
        return "limit"
    except Exception as error:  # noqa: BLE001 - whatever the algebra raises is the grader's failure, and is said
        return f"grader_error {type(error).__name__}: {error}"[:500]


def serve(requests: IO[str], replies: IO[str], memory_mb: int, seconds: float) -> None:
    """Answer requests until there are no more, within limits of memory and, as a last resort, CPU time."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 2**20, memory_mb * 2**20))
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    for line in requests:
        # Should whoever started this process be gone, an endless computation still ends.
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + 2 * seconds) + 2, hard))
        request = json.loads(line)
        state = answer_request(request)
        last = state == "limit" or _used_mb() > _SHARE_OF_MEMORY * memory_mb
        replies.write(json.dumps({"id": request["id"], "state": state, "last": last}) + "\n")
        replies.flush()
        if last:
            return


def _used_mb() -> float:
    """The most memory that this process has held, MiB.

    Where Linux tells, from its own account: `ru_maxrss` begins with what the parent held when it started this
    process, and beside a large parent every worker would leave after one answer.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> None:
    """Import what is needed, say so, and serve. Arguments: memory in MiB, seconds an answer."""
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    logging.disable(logging.CRITICAL)
    import math_verify  # noqa: F401
    import sympy  # noqa: F401

    replies.write(json.dumps({"ready": True}) + "\n")
    replies.flush()
    requests = os.fdopen(os.dup(0), "r", encoding="ascii")
    with contextlib.suppress(BrokenPipeError):
        serve(requests, replies, int(sys.argv[1]), float(sys.argv[2]))


if __name__ == "__main__":
    main()
