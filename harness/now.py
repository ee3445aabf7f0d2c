"""The present moment, for stamps on locks, events and reports."""

from __future__ import annotations

import os
from datetime import UTC, datetime


def utc_now() -> datetime:
    """The machine's clock, or SOURCE_DATE_EPOCH (seconds since 1970) where it is set.

    With it a study run twice on a counted clock gives the same lock, events and report, byte for byte; see
    reproducible-builds.org. A stamp proves nothing in either case, and the lock says so.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
