"""The ledger is its owner's edition, word for word, and three fields of ours: `departures`.

Our lines stand below the owner's line of a claim, whose closing brace moves down, indented by five
blanks. Without them it is the owner's file again; its SHA-256 lies in ``notebooks/claims.sha256``.
"""

import hashlib
import os
import re
from pathlib import Path

from ..files import AS_PRINTED, file_digest, parse_yaml, read_text
from ..paths import Paths
from .claims import OURS

_OURS = re.compile(r"^(  - \{.*),\n(?:     .*\n)+", re.MULTILINE)


def owners_text(ledger: str) -> str:
    """The ledger without our lines.

    >>> owners_text("claims:\\n  - {id: p/c, kind: order,\\n     protocol: few draws}\\n")
    'claims:\\n  - {id: p/c, kind: order}\\n'
    """
    return _OURS.sub(r"\1}\n", ledger)


def departures(paths: Paths) -> list[str]:
    """Where the ledger is not the owner's edition; empty where it is, or where none is named."""
    if not paths.owners_digest.exists():
        return []
    named = read_text(paths.owners_digest).partition(" ")[0]
    found = []
    if not re.fullmatch("[0-9a-f]{64}", named):
        found.append(f"notebooks/{paths.owners_digest.name}: names no SHA-256 of an edition")
    full = read_text(paths.ledger)
    plain = owners_text(full)
    if hashlib.sha256(plain.encode()).hexdigest() != named:
        found.append(
            "notebooks/claims.yml differs from its owner's edition in more than "
            f"{', '.join(OURS)}: 'git diff' shows where; our fields stand below the owner's line, "
            "indented by five blanks"
        )
    for ours, theirs in zip(_entries(full), _entries(plain), strict=False):
        changed = [k for k in {*ours, *theirs} - {*OURS} if ours.get(k) != theirs.get(k)]
        if changed:
            found.append(
                f"notebooks/claims.yml: {theirs.get('id')}: {', '.join(sorted(changed))} is the "
                "owner's, and set a second time below"
            )
    # the owner's file, where it lies beside the checkout or beside the data
    data = os.environ.get("INVARIANCE_DATA")
    for place in {paths.root.parent / "shared", *([Path(data).parent] if data else [])}:
        if (place / "claims.yaml").is_file() and file_digest(place / "claims.yaml") != named:
            found.append(
                f"{place / 'claims.yaml'} is another edition than the one of notebooks/"
                "claims.sha256: take its words over, and its SHA-256"
            )
    return found


def _entries(text: str) -> list[dict[str, object]]:
    match parse_yaml(text, "the ledger notebooks/claims.yml", AS_PRINTED):
        case {"claims": [*claims]}:
            return [claim for claim in claims if isinstance(claim, dict)]
    return []
