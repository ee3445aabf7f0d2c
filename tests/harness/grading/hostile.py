"""Completions made to stop, to break or to fool a grader, or whoever shows its records. None is right."""

from __future__ import annotations

import json
import random

GOLDS = ("5", r"\frac{7}{3}", "2(x+1)", r"\{1,2,3\}", "(2,5)", "y=2x+3", r"\text{even}")
"""Gold answers to which none of the completions is right."""

_COMMANDS = (
    r"\frac{#}{#}",
    r"\sqrt{#}",
    r"\left(#\right)",
    r"{#}^{#}",
    "#!",
    r"\sum_{k=1}^{#} #",
    r"\int_{0}^{#} # dx",
    r"\binom{#}{#}",
    r"\begin{pmatrix}#\\#\end{pmatrix}",
    r"\lim_{x\to #} #",
    r"\prod_{k=1}^{#} k",
    r"\log_{#}{#}",
    "#=#",
    "#,#",
    r"\{#,#\}",
    "[#,#)",
    "#<#",
    r"\text{#}",
    r"#\cup #",
    "|#|",
    r"\operatorname{#}",
)
_LEAVES = ("9", "99", "x", r"\pi", "e", "i", r"\infty", "10^{9}", "0", "", "n", "1e308", "-")
_CODE = (
    "__import__('os').system('touch /tmp/harness-was-here')",
    "().__class__.__bases__[0].__subclasses__()",
    "Symbol('x').func.__globals__",
    "S.__class__",
    "lambda: 0",
    "eval(compile('1', '', 'eval'))",
    r"\input{/etc/passwd}",
    r"\write18{id}",
    r"\def\x{\x\x}\x",
    r"\catcode`\{=12",
    r"\newcommand{\boxed}[1]{5}",
)
_MARKUP = (
    "<script>alert(1)</script>",
    "</td></table><h1>CONFIRMED</h1>",
    "<!--",
    "]]>",
    "&lt;&amp;&#0;",
    "{{7*7}}",
    "{% raw %}",
    '"><img src=x onerror=alert(1)>',
    '#eval("1")',
    '#include "/etc/passwd"',
    '*/ #read("x") /*',
    "$ $ #",
    "`raw`",
    "= Heading",
    "\u202egnorw\u202c",
    "\u0000",
    "\ufeff",
    "\ud800",
    "'; DROP TABLE samples; --",
)
_PROTOCOL = (
    json.dumps({"id": 0, "state": "correct"}),
    "\n" + json.dumps({"id": 1, "state": "correct"}) + "\n",
    json.dumps({"ready": True}),
    json.dumps({"id": 0, "state": "correct", "last": True}) + "\x1e",
    '"}\n{"id": 0, "state": "correct"}\n{"gold": "',
)


def completion(rng: random.Random) -> str:
    """One hostile completion; most of them hold a box, so that the grader must look."""
    made = rng.choice(
        [_tower, _digits, _nested, _megabyte, _controls, _random, _code, _markup, _protocol, _loose]
    )
    return made(rng)


def _boxed(text: str) -> str:
    return f"So the answer is $\\boxed{{{text}}}$."


def _tower(rng: random.Random) -> str:
    base = rng.choice(["9", "x", "99", "e"])
    text = base
    for _ in range(rng.randint(3, 60)):
        text = f"{base}^{{{text}}}"
    return _boxed(
        rng.choice([text, f"({text})!", f"{base}^{{{rng.randint(7, 9)}{'0' * rng.randint(3, 12)}}}"])
    )


def _digits(rng: random.Random) -> str:
    many = "9" * rng.choice([301, 1_000, 20_000])
    return _boxed(
        rng.choice([many, f"{many}.{many}", f"\\frac{{{many}}}{{{many}1}}", f"0.{many}", f"-{many}"])
    )


def _nested(rng: random.Random) -> str:
    depth = rng.choice([41, 500, 20_000])
    opening, closing = rng.choice(
        [("(", ")"), ("{", "}"), ("\\sqrt{", "}"), ("\\boxed{", "}"), ("[", "]"), ("-(", ")")]
    )
    whole = opening * depth + "9" + closing * rng.choice([depth, depth - 1, 0])
    return _boxed(whole)


def _megabyte(rng: random.Random) -> str:
    piece = rng.choice(
        ["x+", "\\", "{", "}", "$", "\\boxed{", "9 ", "\\frac", "\u0661", "a,", " ", "\\text{"]
    )
    return _boxed(piece * (rng.choice([50_000, 1_000_000]) // len(piece)))


def _controls(rng: random.Random) -> str:
    signs = [chr(rng.choice([0, 1, 7, 8, 11, 12, 27, 127, 0x85, 0x2028, 0x202E, 0xFFFE])) for _ in range(20)]
    return _boxed("9" + "".join(signs) + "9")


def _random(rng: random.Random) -> str:
    text = "#"
    for _ in range(rng.randint(1, 12)):
        text = text.replace("#", rng.choice(_COMMANDS), 1)
    while "#" in text:
        text = text.replace("#", rng.choice(_LEAVES), 1)
    # A sign that no gold answer holds makes each of them wrong, whatever the rest is.
    return _boxed(f"{text}+\\omega_{{9}}")


def _code(rng: random.Random) -> str:
    return _boxed(rng.choice(_CODE) * rng.randint(1, 3))


def _markup(rng: random.Random) -> str:
    return _boxed("".join(rng.choice(_MARKUP) for _ in range(rng.randint(1, 6))))


def _protocol(rng: random.Random) -> str:
    return rng.choice(_PROTOCOL) + _boxed("9" + rng.choice(_PROTOCOL).replace("{", "\\{").replace("}", "\\}"))


def _loose(rng: random.Random) -> str:
    pieces = ["\\boxed", "{", "}", "$", "\\", "9", "\\boxed{9", "\\frac{", "^", "_", "\n", "\\text{no"]
    return "".join(rng.choice(pieces) for _ in range(rng.randint(1, 60)))
