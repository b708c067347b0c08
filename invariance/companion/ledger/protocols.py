"""Does a result count? Only one that was measured by the protocol which the ledger registers."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ..errors import LedgerError
from ..paths import Paths
from .claims import Claim
from .settings import read_settings, settings_digest

ANOTHER = "another protocol"
UNREGISTERED = "not registered"


def protocol_digest(claim: Claim, settings: str = "") -> str | None:
    """Sixteen digits of a claim's protocol and of its notebook's settings; None without a protocol.

    >>> protocol_digest(Claim("p/c", "order", "f1", "full", protocol="100 draws, seed 1"))
    '9dcfb7dc2dbf8c5e'
    """
    if not claim.protocol:
        return None
    text = json.dumps([claim.protocol, settings])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def registered(claim: Claim, paths: Paths, notebook: str) -> str | None:
    """The digest that a result of this notebook must carry to count."""
    try:
        settings = settings_digest(read_settings(paths.settings(notebook)))
    except LedgerError:
        return None  # `invariance check` says what is wrong with the settings
    return protocol_digest(claim, settings)


def standing(entry: Mapping[str, Any], digest: str | None) -> str:
    """The verdict of a claim of ``results.json``, or why it does not count."""
    if entry.get("protocol") is None or digest is None:
        return UNREGISTERED
    return str(entry["verdict"]) if entry["protocol"] == digest else ANOTHER
