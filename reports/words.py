"""How numbers and names are written, on every page alike."""

from __future__ import annotations

from math import floor, isfinite, isnan, log10

from prereg.fields import Axis
from prereg.hypotheses import Metric, PassMetric
from reports.content import Column, Estimate, Value
from reports.intervals import Interval

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"
NOT_ESTIMABLE = "not estimable"
OVER_SEEDS = "95 % t interval over seeds (df = seeds less one, for new training seeds on these problems)"

_AXIS = {
    "updates": ("updates", "per update", "at equal updates"),
    "generated_tokens": ("generated tokens", "at equal generated tokens", "at equal generated tokens"),
    "device_seconds": ("device-seconds", "at equal device time", "at equal device time"),
    "train_flops": ("training FLOPs", "at equal training FLOPs", "at equal training FLOPs"),
}


def axis_unit(axis: Axis) -> str:
    """The axis's unit, in the plural."""
    return _AXIS[axis][0]


def axis_title(axis: Axis) -> str:
    """How a comparison on the axis is called in a heading, in lower case."""
    return _AXIS[axis][1]


def axis_phrase(axis: Axis) -> str:
    """How it is called in a sentence."""
    return _AXIS[axis][2]


def number(value: float, digits: int = 1) -> str:
    """A decimal with a true minus sign and commas; NaN is `not estimable`."""
    if isnan(value):
        return NOT_ESTIMABLE
    text = f"{abs(value):,.{digits}f}"
    return f"{MINUS}{text}" if value < 0 and float(text.replace(",", "")) != 0 else text


def signed(value: float, digits: int = 1) -> str:
    """A decimal with its sign, plus included."""
    text = number(value, digits)
    is_positive = value > 0 and any(digit in text for digit in "123456789")
    return f"+{text}" if is_positive else text


def integer(value: float) -> str:
    """A whole number with commas."""
    return number(value, 0)


def compact(value: float) -> str:
    """Three figures from a million on (1,234,567 is 1.23 M) and below a thousand; whole numbers between."""
    if isnan(value):
        return NOT_ESTIMABLE
    size = abs(value)
    for limit, unit in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if size >= limit:
            return f"{_three(value / limit)} {unit}"
    if size >= 1000 or value == int(value):
        return number(value, 0)
    return _three(value)


def p_text(p: float) -> str:
    """A p-value in two figures, never as zero."""
    if isnan(p):
        return NOT_ESTIMABLE
    if p < 0.0001:
        return "< 0.0001"
    return f"{p:.{2 if p >= 0.1 else 3 if p >= 0.01 else 4}f}"


def p_equation(p: float, name: str = "p") -> str:
    """`p = 0.012` or `p < 0.0001`."""
    text = p_text(p)
    return f"{name} {text}" if text.startswith("<") else f"{name} = {text}"


def interval_text(interval: Interval) -> str:
    """`95 % interval +0.4 to +3.8`."""
    level = f"{100 * interval.level:g} %"
    if isnan(interval.low):
        return f"{level} interval {NOT_ESTIMABLE}"
    return f"{level} interval {signed(interval.low)} to {signed(interval.high)}"


def df_text(df: float) -> str:
    """Degrees of freedom: whole, or with one decimal."""
    return number(df, 0 if df == round(df) else 1) if isfinite(df) else NOT_ESTIMABLE


def joined(names: tuple[str, ...]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def plural(count: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def metric_name(metric: Metric, samples: tuple[int, ...]) -> str:
    """`avg@32`, `pass@8`; with several numbers of samples, `avg@n`."""
    if isinstance(metric, PassMetric):
        return f"pass@{metric.k}"
    return f"avg@{samples[0]}" if len(set(samples)) == 1 else "avg@n"


def cell(value: Value, column: Column) -> str:
    """A cell as it is printed; an estimate without its interval, which `limits` gives."""
    if value is None:
        return DASH
    if isinstance(value, str):
        return value
    if isinstance(value, Estimate):
        return number(value.value, column.digits)
    if column.kind == "percent":
        return f"{number(100 * value, column.digits)} %" if not isnan(value) else NOT_ESTIMABLE
    if column.kind == "points":
        return signed(value, column.digits)
    if column.kind == "p":
        return p_text(value)
    if column.kind == "compact":
        return compact(value)
    return number(value, column.digits if column.kind == "decimal" else 0)


def limits(value: Value, column: Column) -> str:
    """An estimate's interval, `[1.2, 3.4]`; empty where there is none."""
    if not isinstance(value, Estimate) or isnan(value.low):
        return ""
    return f"[{number(value.low, column.digits)}, {number(value.high, column.digits)}]"


def _three(value: float) -> str:
    if value == 0:
        return "0"
    digits = max(0, 2 - floor(log10(abs(value))))
    return number(value, min(digits, 6))
