"""What a notebook chose before it measured: ``notebooks/settings/<paper>/<name>.yml``.

`invariance choose` writes these files; a full run reads them. What was chosen, from which grid and
how is part of the protocol of every claim of the notebook.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

from ..errors import LedgerError
from ..files import parse_yaml, read_text, write_bytes
from ..paths import Paths
from .claims import Claim

#: `invariance choose` runs with it, and no run that counts does.
CHOOSING_SEED = 0
#: What a result is whose protocol is not the registered one, or that has none.
ANOTHER, UNREGISTERED = "another protocol", "not registered"
#: Names, in a choosing stage, the file that it is to write.
STAGE = "INVARIANCE_CHOOSING"


@dataclass(frozen=True)
class Choice:
    """One setting: what was chosen, from which grid, by which score on which training data,
    whether higher is better, and the score of each entry with its standard error, if it has one."""

    chosen: Any
    grid: list[Any]
    by: str
    higher: bool
    scores: list[float]
    se: list[float]


def best_of(scores: Sequence[float], higher: bool) -> int:
    """Index of the best score; the first of equal ones. Scores that are not finite never win.

    >>> best_of([0.7, 0.9, float("nan"), 0.9], higher=True)
    1
    """
    signed = [(s if higher else -s) if isfinite(s) else float("-inf") for s in scores]
    return max(range(len(signed)), key=signed.__getitem__)


def read_settings(path: Path) -> dict[str, Choice] | None:
    """Choices by name; None without a file. A `LedgerError` where no choice is its scores' best."""
    if not os.path.lexists(path):
        return None
    again = "'invariance choose' writes it again"
    try:
        found = parse_settings(read_text(path))
        worse = [n for n, c in found.items() if c.grid[best_of(c.scores, c.higher)] != c.chosen]
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        said = f"({type(error).__name__}: {error})"
        raise LedgerError(f"{path} is not readable as settings {said}; {again}") from error
    for name in worse:
        what = f"{name!r} is {found[name].chosen!r}, which is not the best of its scores"
        raise LedgerError(f"{path}: {what}; {again}")
    return dict(found)


@lru_cache(128)  # each claim of a notebook asks for the same text, and YAML is slow
def parse_settings(text: str) -> Mapping[str, Choice]:
    """Choices in a YAML text; errors of many kinds if it has another form."""
    content = parse_yaml(text, "the file")
    json.dumps(content)  # a TypeError for what is no number, text, list or mapping
    found = {str(name): Choice(**fields) for name, fields in content["choices"].items()}
    if odd := [n for n, c in found.items() if len(c.grid) != len(c.scores)]:
        raise ValueError(f"{odd[0]!r} has another number of scores than entries in its grid")
    return found


def settings_digest(choices: Mapping[str, Choice] | None) -> str:
    """SHA-256 of what was chosen, from what and by what; the scores' last digits play no part."""
    if choices is None:
        return ""
    plain = {name: [c.chosen, c.grid, c.by, c.higher] for name, c in choices.items()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def write_settings(path: Path, notebook: str, choices: Mapping[str, Choice]) -> None:
    """Write choices in the order in which they were made."""
    import yaml

    made = {name: asdict(choice) for name, choice in choices.items()}
    content = {"notebook": notebook, "seed": CHOOSING_SEED, "choices": made}
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    head = f"# Written by `invariance choose {notebook}`, read by `invariance run`; not by hand.\n"
    write_bytes(path, (head + text).encode())


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
