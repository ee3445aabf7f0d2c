"""Canonical JSON (RFC 8785) and SHA-256: equal content has equal bytes, so a digest speaks of content."""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785


def canonical_bytes(value: Any) -> bytes:
    """The RFC 8785 form of JSON data.

    Raises ValueError for what has none: NaN, infinity, a whole number beyond 2^53, half a surrogate pair.
    """
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeError) as error:
        raise ValueError(f"no canonical JSON: {error}") from error


def sha256_hex(content: bytes) -> str:
    """SHA-256 of bytes, 64 lower-case hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def digest_of(value: Any) -> str:
    """SHA-256 of the canonical form of JSON data."""
    return sha256_hex(canonical_bytes(value))
