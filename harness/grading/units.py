"""Units and other harmless words behind a number, which are cut before anything is compared.

Only what is known is cut. A letter behind a number is a variable unless it stands in `\\text{}` or
`\\mathrm{}`, and a word that is not on the list may change the number (`5 million`, `5 or six`): it stays,
and the answer with it is another answer.
"""

from __future__ import annotations

import re

_NAMES = frozenset(
    """
    meter metre centimeter centimetre millimeter millimetre kilometer kilometre inch foot feet yard mile
    gram kilogram milligram pound ounce ton tonne liter litre milliliter millilitre gallon quart pint cup
    second minute hour day week month year degree radian dollar cent euro rupee yen peso buck
    newton joule watt volt ohm ampere amp kelvin celsius fahrenheit pascal hertz mole coulomb tesla farad
    square cubic per sq cu unit point people person man men woman women child children student boy girl way
    solution value time apple coin ticket page mark digit number integer term side vertex vertices edge face
    triangle circle card book marble ball cookie egg game hectare acre knot lightyear parsec
    """.split()  # noqa: SIM905 - words read best as words
)
"""In the singular, in lower case."""
_SYMBOLS = frozenset(
    """
    cm mm km dm nm kg mg ml mL cl dl ft lb lbs oz mi yd hr hrs min sec mph kmh kph Hz kHz MHz GHz kPa Pa MPa
    kJ MJ keV MeV GeV eV mol kW MW kV mV mA USD EUR GBP rad deg sq cu AU pc kpc Mpc ly yr Gyr Myr erg dyn
    """.split()  # noqa: SIM905 - words read best as words
)
"""Of more than one letter: read behind a number and a blank as well, where nothing calls them text."""
_LETTERS = frozenset("msghlLJNWVAKCF")
"""Read in `\\text{}` and `\\mathrm{}` alone."""

_POWER = r"(?:\s?\^\s?(?:\{\s?-?[0-9]\s?\}|[0-9]))?"
_IN_TEXT = re.compile(
    r"(?:(?P<joint>/|\\cdot|\\times)\s?)?\\(?:text|mbox|mathrm|textrm|textbf)\s?"
    r"\{(?P<words>[^{}]*(?:\{[^{}]*\}[^{}]*)?)\}" + _POWER + r"\s?\Z"
)
_BARE = re.compile(r"(?<=[0-9)}])(?P<blank> ?)(?P<words>[A-Za-z]{2,}(?:[ /][A-Za-z]+)*)" + _POWER + r"\Z")
_IN_WORDS = re.compile(r"\^\s?\{?\s?-?[0-9]\s?\}?|\\cdot|[\s./()*~-]")
_ENDS_A_VALUE = re.compile(r"[0-9A-Za-z})]\Z")
_MAGNITUDE = re.compile(
    r"(?P<number>[+-]?[0-9][0-9,]*(?:\.[0-9]+)?) ?(?:\\(?:text|mbox|mathrm|textrm) ?\{ ?)?"
    r"(?P<name>thousand|million|billion|trillion)(?P<words>[A-Za-z ]*)\}?"
)
_ZEROS = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}


def without_unit(text: str) -> str:
    """A value without the unit behind it: `5\\text{ cm}^2`, `3\\,\\mathrm{m}/\\mathrm{s}`, `5 dollars`.

    `5 million` becomes a power of ten. Whatever is no unit stays as it is.
    """
    if found := _MAGNITUDE.fullmatch(text):
        if not found["words"].strip() or _is_unit(found["words"]):
            return rf"{found['number'].replace(',', '')} \times 10^{{{_ZEROS[found['name']]}}}"
        return text
    rest = text
    joined = False
    while (found := _IN_TEXT.search(rest)) and _is_unit(found["words"]):
        rest = rest[: found.start()].rstrip()
        joined = bool(found["joint"])
    if rest == text:
        return _without_bare(text)
    return rest if _ENDS_A_VALUE.search(rest) and not (joined and rest.endswith("\\")) else text


def _without_bare(text: str) -> str:
    found = _BARE.search(text)
    if found is None or not _is_unit(found["words"]):
        return text
    # `5cm` may be a product of letters; `5 cm` and `5inches` are not.
    if not found["blank"] and any(word in _SYMBOLS for word in _split(found["words"])):
        return text
    return text[: found.start()]


def _is_unit(words: str) -> bool:
    found = _split(words)
    return bool(found) and all(_known(word) for word in found)


def _split(words: str) -> list[str]:
    return _IN_WORDS.sub(" ", words).split()


def _known(word: str) -> bool:
    lower = word.lower()
    return (
        word in _LETTERS or word in _SYMBOLS or lower in _NAMES
        or lower.removesuffix("s") in _NAMES or lower.removesuffix("es") in _NAMES
    )  # fmt: skip
