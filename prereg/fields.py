"""The shared base of every section of a study file, and the small types its fields are made of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Axis = Literal["updates", "generated_tokens", "device_seconds", "train_flops"]
"""A cost axis on which arms can be compared. Units: updates, tokens, seconds, floating-point operations."""

AXES: tuple[Axis, ...] = ("updates", "generated_tokens", "device_seconds", "train_flops")

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
"""A name that is safe in a path, a table and a command line: lower-case letters, digits, `_` and `-`."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

Text = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A frozen section of the study file: an unknown key is an error, and so is NaN or infinity.

    `strict` refuses silent conversions (`"3"` is not 3, `1` is not true). Study files are validated in
    pydantic's JSON mode, where strictness still lets an array fill a tuple.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
