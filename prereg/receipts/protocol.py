"""What every receipt is, and what may become of asking for one or of looking at one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol, get_args

from prereg.canonical import digest_of
from prereg.fields import Section, Sha256

Kind = Literal["git", "ssh", "timestamp", "sigstore"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Receipt(Section):
    """A receipt as it stands in its file."""

    kind: Kind
    lock: Sha256
    """SHA-256 of the lock that it is for."""
    made: str
    """UTC, by the clock of the machine that asked for it: not evidence."""
    data: dict[str, Any]
    """What verifying it needs; of its own form for each kind."""

    @property
    def sha256(self) -> str:
        """SHA-256 of its canonical form, which the event log holds."""
        return digest_of(self.model_dump(mode="json"))


@dataclass(frozen=True, slots=True)
class Claim:
    """What a receipt that was verified shows."""

    kind: Kind
    not_before: datetime | None
    """The lock did not exist before; no kind of receipt shows that yet."""
    not_after: datetime | None
    """The lock existed at this moment; None where the receipt shows no time."""
    who: str | None
    """Who signed; None where nobody did."""
    proves: str
    """In one sentence."""
    does_not_prove: str
    """In one sentence."""

    def __str__(self) -> str:
        return f"{self.proves} {self.does_not_prove}"


class Owed(Exception):
    """The receipt cannot be had now, e.g. for want of a network; the words say why and what to do."""


class BadReceipt(Exception):
    """The receipt does not show what it should: it was altered, or it is for something else."""


class Unverifiable(Exception):
    """The receipt cannot be looked at here, e.g. since a program is missing. It says nothing either way."""


class Notary(Protocol):
    """A kind of receipt."""

    @property
    def kind(self) -> Kind:
        """Its name."""
        ...

    def stamp(self, digest: str, at: datetime) -> Receipt:
        """A receipt for the lock with this SHA-256; `at` is the present moment.

        Raises Owed if it cannot be had now, and Refused if it never can as it was asked for.
        """
        ...

    def verify(self, digest: str, receipt: Receipt) -> Claim:
        """What the receipt shows of the lock with this SHA-256. Raises BadReceipt or Unverifiable."""
        ...


def message(digest: str) -> bytes:
    """What is signed and stamped: the SHA-256 as 64 hexadecimal digits, and a line end.

    So anyone can check it with the signer's own tools: `echo SHA256 | ssh-keygen -Y verify ...`.
    """
    return f"{digest}\n".encode("ascii")


def text_of(receipt: Receipt, *names: str) -> tuple[str, ...]:
    """Texts of a receipt's data. Raises BadReceipt if one is missing or is no text."""
    found = [receipt.data.get(name) for name in names]
    for name, value in zip(names, found, strict=True):
        if not isinstance(value, str):
            raise BadReceipt(f"the {receipt.kind} receipt holds no text `{name}`")
    return tuple(str(value) for value in found)
