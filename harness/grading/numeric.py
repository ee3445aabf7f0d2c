"""Reading LaTeX mathematics by recursive descent, straight to a complex number at a point: no tree, no
algebra."""

from __future__ import annotations

import cmath
import hashlib
import math
import re
from collections.abc import Callable

DEEPEST = 40
"""Brackets within brackets."""
_TOKEN = re.compile(r"\s*(?:([0-9]+(?:\.[0-9]*)?|\.[0-9]+)|(\\[A-Za-z]+)|([A-Za-z])|(\S))")
_CONSTANTS = {"\\pi": complex(math.pi), "e": complex(math.e), "i": 1j}
_FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    "\\sin": cmath.sin,
    "\\cos": cmath.cos,
    "\\tan": cmath.tan,
    "\\ln": cmath.log,
    "\\log": cmath.log,
    "\\exp": cmath.exp,
    "\\arcsin": cmath.asin,
    "\\arccos": cmath.acos,
    "\\arctan": cmath.atan,
    "\\cot": lambda z: 1 / cmath.tan(z),
    "\\sec": lambda z: 1 / cmath.cos(z),
    "\\csc": lambda z: 1 / cmath.sin(z),
    "\\sinh": cmath.sinh,
    "\\cosh": cmath.cosh,
}
_GREEK = {
    "\\alpha",
    "\\beta",
    "\\gamma",
    "\\delta",
    "\\theta",
    "\\lambda",
    "\\mu",
    "\\rho",
    "\\sigma",
    "\\tau",
    "\\phi",
    "\\omega",
    "\\epsilon",
    "\\hbar",
    "\\zeta",
    "\\eta",
    "\\xi",
    "\\nu",
    "\\kappa",
    "\\psi",
    "\\chi",
}


class UnreadableError(ValueError):
    """Text that this reader does not know."""


class Numeric:
    """One text, read at one of the points. Letters have values that depend on their names and the point
    alone."""

    def __init__(self, text: str, point: int) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0
        self._point = point

    def value(self) -> complex:
        """The number that the whole text is. Raises UnreadableError, or ArithmeticError where there is
        none."""
        found = self._sum()
        if self._at < len(self._tokens):
            raise UnreadableError(self._tokens[self._at])
        if cmath.isnan(found) or cmath.isinf(found):
            raise OverflowError
        return found

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str = "") -> str:
        token = self._peek()
        if not token or (wanted and token != wanted):
            raise UnreadableError(f"{wanted or 'more'} was expected, found {token!r}")
        self._at += 1
        return token

    def _sum(self) -> complex:
        self._depth += 1
        if self._depth > DEEPEST:
            raise UnreadableError("too deep")
        total = self._product()
        while self._peek() in {"+", "-"}:
            sign = self._take()
            term = self._product()
            total = total + term if sign == "+" else total - term
        self._depth -= 1
        return total

    def _product(self) -> complex:
        total = self._signed()
        while True:
            token = self._peek()
            if token in {"*", "\\cdot", "\\times"}:
                self._take()
                total *= self._signed()
            elif token in {"/", "\\div"}:
                self._take()
                total /= self._signed()
            elif token and token not in {"+", "-", ")", "}", "]", "|", ",", "=", "^", "_", "!", "&"}:
                total = self._beside(total)
            else:
                return total

    def _beside(self, left: complex) -> complex:
        """What stands beside a number is a factor; a fraction of numbers beside a whole number is added."""
        mixed = (
            self._peek() == "\\frac" and self._at > 0 and self._tokens[self._at - 1].isdigit()
            and all(token.isdigit() or token in "{}" for token in self._tokens[self._at + 1 : self._at + 3])
        )  # fmt: skip
        right = self._power()
        if mixed and 0 < right.real < 1 and right.imag == 0:
            return left + right
        return left * right

    def _signed(self) -> complex:
        sign = 1
        while self._peek() in {"+", "-"}:
            sign = -sign if self._take() == "-" else sign
        return sign * self._power()

    def _power(self) -> complex:
        base = self._postfix()
        if self._peek() == "^":
            self._take()
            exponent = self._group()
            if abs(exponent) > 2000:
                raise OverflowError
            return base**exponent
        return base

    def _postfix(self) -> complex:
        value = self._atom()
        while self._peek() == "!":
            self._take()
            if value.imag or value.real != int(value.real) or not 0 <= value.real <= 170:
                raise OverflowError
            value = complex(math.factorial(int(value.real)))
        return value

    def _group(self) -> complex:
        """An argument: a braced sum, or a single sign (`\\frac12`)."""
        if self._peek() == "{":
            return self._closed("{", "}")
        if self._peek() == "-":
            self._take()
            return -self._group()
        return self._atom(single=True)

    def _closed(self, opening: str, closing: str) -> complex:
        self._take(opening)
        value = self._sum()
        self._take(closing)
        return value

    def _atom(self, *, single: bool = False) -> complex:
        token = self._peek()
        if token[:1].isdigit() or token[:1] == ".":
            return self._number(single)
        if token in {"(", "[", "{"}:
            return self._closed(token, {"(": ")", "[": "]", "{": "}"}[token])
        if token == "|":
            return complex(abs(self._closed("|", "|")))
        self._take()
        if token == "\\frac":
            above = self._group()
            return above / self._group()
        if token == "\\binom":
            return self._binomial()
        if token == "\\sqrt":
            return self._root()
        if token in _FUNCTIONS:
            return self._function(token)
        if token in _CONSTANTS and self._peek() != "_":
            return _CONSTANTS[token]
        if token in _GREEK or (len(token) == 1 and token.isalpha()):
            return self._letter(token)
        raise UnreadableError(token)

    def _number(self, single: bool) -> complex:
        token = self._take()
        if single and len(token) > 1 and token.isdigit():
            # `\frac12` and `x^23` take one digit: the rest is put back.
            self._at -= 1
            self._tokens[self._at] = token[1:]
            token = token[0]
        return complex(float(token))

    def _binomial(self) -> complex:
        above, below = self._group(), self._group()
        if not (above.real.is_integer() and below.real.is_integer() and 0 <= below.real <= above.real <= 500):
            raise UnreadableError("a binomial coefficient of letters")
        return complex(math.comb(int(above.real), int(below.real)))

    def _root(self) -> complex:
        degree = self._closed("[", "]") if self._peek() == "[" else 2
        return self._group() ** (1 / degree)

    def _function(self, name: str) -> complex:
        base = power = None
        for _ in range(2):
            if self._peek() == "_" and name == "\\log":
                self._take()
                base = self._group()
            elif self._peek() == "^":
                self._take()
                power = self._group()
        argument = self._closed("(", ")") if self._peek() == "(" else self._power()
        value = _FUNCTIONS[name](argument)
        if base is not None:
            value /= cmath.log(base)
        elif name == "\\log":
            raise UnreadableError("a logarithm of no base")
        if power is not None:
            if power == -1:
                raise UnreadableError("an inverse function")
            value **= power
        return value

    def _letter(self, name: str) -> complex:
        if self._peek() == "_":
            self._take()
            name += "_" + (self._subscript() if self._peek() == "{" else self._take())
        digest = hashlib.sha256(f"{name}/{self._point}".encode()).digest()
        return complex(0.5 + int.from_bytes(digest[:4], "big") / 2**32)

    def _subscript(self) -> str:
        self._take("{")
        inside = ""
        while self._peek() != "}":
            inside += self._take()
        self._take("}")
        return inside


def _tokens(text: str) -> list[str]:
    found = []
    position = 0
    while position < len(text.rstrip()):
        match = _TOKEN.match(text, position)
        if match is None:
            raise UnreadableError(text[position])
        found.append(match.group(match.lastindex or 0))
        position = match.end()
    return found
