"""Whether the Hugging Face Hub can be reached, asked once: its client would try for half a minute a file."""

from __future__ import annotations

import socket
from functools import cache
from urllib.parse import urlsplit
from urllib.request import getproxies

SECONDS = 5.0
"""Time that the Hub has to accept a connection."""


@cache
def hub_reachable() -> bool:
    """Whether fetching may be tried; otherwise only what the local cache holds is used.

    Behind a proxy nothing is asked: the proxy may reach what this machine cannot.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    address = urlsplit(constants.ENDPOINT)
    if any(name in getproxies() for name in (address.scheme, "all")):
        return True
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        with socket.create_connection((address.hostname or "", port), timeout=SECONDS):
            return True
    except OSError:
        return False


def is_network_failure(error: BaseException) -> bool:
    """Whether an error of the Hub's client says that the network, and not the request, is at fault."""
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    if isinstance(error, HfHubHTTPError):
        # 5xx and 429 are the Hub's trouble; 401, 403 and 404 are answers.
        return error.response is not None and error.response.status_code in {429, 500, 502, 503, 504}
    names = {base.__name__ for base in type(error).__mro__}
    return (
        isinstance(error, OfflineModeIsEnabled | TimeoutError | ConnectionError) or "TransportError" in names
    )
