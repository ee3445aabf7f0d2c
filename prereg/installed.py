"""A method of one's own: named in the study, and found in an installed package.

A package offers methods as entry points of the groups `harness.credit`, `harness.reward` and
`harness.selection`. A study can only name what is installed; it never says where code is.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from prereg.fields import Name, Section

Group = Literal["credit", "reward", "selection"]
GROUPS: tuple[Group, ...] = ("credit", "reward", "selection")


class InstalledMethod(Section):
    """A method from an installed package, by the name that its entry point has."""

    kind: Literal["installed"]
    name: Name
    """Name of the entry point in the group `harness.credit`, `harness.reward` or `harness.selection`."""
    settings: dict[Name, Any] = Field(default_factory=dict)
    """The method's own fields, which it declares; checked at the lock, like any other."""
