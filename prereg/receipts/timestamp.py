"""The receipt of a time-stamping authority (RFC 3161): the lock existed not later than the authority says.

Asked and verified through `rfc3161-client`, an optional dependency. An authority is trusted through
certificates that one has from somewhere else; the study names them before the lock, so that nobody can stamp
with an authority of their own afterwards.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from prereg.lock import utc_text
from prereg.problems import Problem, Refused
from prereg.receipts.protocol import BadReceipt, Claim, Kind, Owed, Receipt, Unverifiable, message, text_of

if TYPE_CHECKING:
    from rfc3161_client import TimeStampRequest, TimeStampResponse

SECONDS = 20.0
"""How long an authority is waited for."""
MAX_BYTES = 1 << 20
"""Largest answer that is read."""
INSTALL = "install it with `pip install 'matched-compute-harness[timestamp]'`"


@dataclass(frozen=True, slots=True)
class TimestampNotary:
    """Asks one authority, and trusts the certificates that it is given."""

    url: str | None
    roots: bytes | None
    """PEM of the certificates that are trusted; None to trust those that the receipt itself holds."""
    roots_are_locked: bool
    """Whether the lock holds the digest of `roots`."""

    kind: Kind = "timestamp"

    def stamp(self, digest: str, at: datetime) -> Receipt:
        """The authority's answer, verified."""
        if self.url is None or self.roots is None:
            raise Refused(
                Problem("a time-stamp needs an authority and the certificates that are trusted for it",
                        hint="Name both under `receipts.timestamp`, or give `--tsa` and `--tsa-roots`.")
            )  # fmt: skip
        library = _library(Owed)
        _certificates(self.roots, Refused)
        request = (
            library.TimestampRequestBuilder()
            .data(message(digest))
            .hash_algorithm(library.HashAlgorithm.SHA256)
            .build()
        )
        answer = _ask(self.url, request.as_bytes())
        data = {"url": self.url, "response": base64.b64encode(answer).decode(), "roots": self.roots.decode()}
        receipt = Receipt(kind="timestamp", lock=digest, made=utc_text(at), data=data)
        try:
            self._claim(digest, receipt, request)
        except BadReceipt as error:
            hint = "Are these the certificates of this authority?"
            raise Refused(Problem(f"{self.url}: {error}", hint=hint)) from None
        return receipt

    def verify(self, digest: str, receipt: Receipt) -> Claim:
        """That a trusted authority stamped this digest, and when."""
        return self._claim(digest, receipt, None)

    def _claim(self, digest: str, receipt: Receipt, request: TimeStampRequest | None) -> Claim:
        library = _library(Unverifiable)
        url, encoded, own_roots = text_of(receipt, "url", "response", "roots")
        roots = self.roots if self.roots is not None else own_roots.encode()
        try:
            response = library.decode_timestamp_response(base64.b64decode(encoded, validate=True))
        except (ValueError, binascii.Error):
            raise BadReceipt("the time-stamp is no answer of an authority") from None
        builder = library.VerifierBuilder()
        if request is not None:
            builder = library.VerifierBuilder.from_request(request)
        for certificate in _certificates(roots, BadReceipt):
            builder = builder.add_root_certificate(certificate)
        try:
            builder.build().verify_message(response, message(digest))
        except (library.VerificationError, ValueError) as error:
            raise BadReceipt(f"the time-stamp does not hold: {error}") from None
        latest = _latest(response)
        print_ = hashlib.sha256(roots).hexdigest()
        whom = "which the lock names" if self.roots_are_locked else "which the lock does not name"
        return Claim(
            "timestamp", None, latest, None,
            f"Time: an authority stamped the lock ({url}), so it existed not later than {utc_text(latest)}.",
            f"It does not show who made it. The authority is trusted by certificates with the SHA-256 "
            f"{print_[:16]}, {whom}.",
        )  # fmt: skip


def _latest(response: TimeStampResponse) -> datetime:
    """The authority's time and its stated accuracy, whole seconds upwards."""
    made: datetime = response.tst_info.gen_time
    made = made.replace(tzinfo=UTC) if made.tzinfo is None else made.astimezone(UTC)
    accuracy = response.tst_info.accuracy
    if accuracy is not None:
        made += timedelta(
            seconds=accuracy.seconds or 0,
            milliseconds=accuracy.millis or 0,
            microseconds=accuracy.micros or 0,
        )
    return made + timedelta(microseconds=-made.microsecond % 1_000_000)


def _ask(url: str, request: bytes) -> bytes:
    """The authority's answer. Raises Owed if there is none."""
    headers = {"Content-Type": "application/timestamp-query", "Accept": "application/timestamp-reply"}
    query = urllib.request.Request(url, data=request, headers=headers)  # noqa: S310 - http(s), by the study
    try:
        with urllib.request.urlopen(query, timeout=SECONDS) as answer:  # noqa: S310
            content: bytes = answer.read(MAX_BYTES + 1)
    except (urllib.error.URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise Owed(f"the authority {url} did not answer ({reason}); try again with a network") from None
    if len(content) > MAX_BYTES:
        raise Owed(f"the authority {url} answered with more than {MAX_BYTES} bytes")
    return content


def _library(error: type[Exception]) -> Any:
    try:
        import rfc3161_client
    except ImportError:
        raise error(f"the package rfc3161-client is not there; {INSTALL}") from None
    return rfc3161_client


def _certificates(pem: bytes, error: type[Exception]) -> Sequence[Any]:
    from cryptography import x509

    try:
        found: list[Any] = x509.load_pem_x509_certificates(pem)
    except ValueError:
        raise error("the trusted certificates are no PEM file") from None
    return found
