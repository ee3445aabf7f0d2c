"""The receipts that a study wants for its lock: who signs it, and who says when it existed.

A receipt comes after the lock, so it is no part of it. That one is wanted is, and so is whose it must be.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from prereg.fields import Section, Text
from prereg.sources import RelativePath

Signer = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._%+@-]{1,200}$")]
PublicKey = Annotated[
    str, StringConstraints(pattern=r"^(ssh|ecdsa|sk)-[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,3}( [^\r\n]*)?$")
]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]+(/\S*)?$", max_length=2000)]


class SshReceipt(Section):
    """A signature by an SSH key: says who stands behind the lock."""

    identity: Signer
    """Who signs, e.g. an e-mail address."""
    public_key: PublicKey
    """The one line of the key's `.pub` file."""


class TimestampReceipt(Section):
    """A time-stamp by RFC 3161: an authority says that the lock existed at a time."""

    url: Url
    """Where the authority answers."""
    roots: RelativePath
    """PEM file, beside or below the study file, of the certificates that are trusted for it."""


class SigstoreReceipt(Section):
    """A signature in Sigstore's public log, by an identity that an issuer vouches for."""

    identity: Text
    """The e-mail address or workflow that signs."""
    issuer: Url
    """Who vouches for it, e.g. `https://accounts.google.com`."""


class Receipts(Section):
    """Receipts that are wanted. One that could not be had yet is owed, and the report says so."""

    git: bool = False
    """A commit that holds the lock."""
    ssh: SshReceipt | None = None
    timestamp: TimestampReceipt | None = None
    sigstore: SigstoreReceipt | None = None
