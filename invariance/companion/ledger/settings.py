"""Settings that a notebook chose before it measured: ``notebooks/settings/<paper>/<name>.yml``.

`invariance choose` writes these files; a full run reads them. The choices, their grids and their
scores' descriptions are part of the protocol of every claim of the notebook.
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
from .claims import Claim, statement_digest

#: The seed of `invariance choose`, which no run that counts may use.
CHOOSING_SEED = 0
#: In place of the verdict on a result under another protocol than the registered one.
ANOTHER = "another protocol"
#: In place of the verdict on a result under earlier words of the claim.
REWORDED = "another wording"
#: In place of the verdict on a result without a protocol.
UNREGISTERED = "not registered"
#: Environment variable with the file that a choosing stage writes.
STAGE = "INVARIANCE_CHOOSING"


@dataclass(frozen=True)
class Choice:
    """One chosen setting, with its grid and its scores.

    ``by`` describes the score and the training data; ``higher`` is True if a higher score is
    better; ``scores`` and ``se`` hold the score of each entry and its standard error, if known.
    """

    chosen: Any
    grid: list[Any]
    by: str
    higher: bool
    scores: list[float]
    se: list[float]


def best_of(scores: Sequence[float], higher: bool) -> int:
    """Return the index of the best finite score, and the first index of equal scores.

    >>> best_of([0.7, 0.9, float("nan"), 0.9], higher=True)
    1
    """
    sign = 1 if higher else -1
    comparable = [sign * score if isfinite(score) else float("-inf") for score in scores]
    return comparable.index(max(comparable))


def read_settings(path: Path) -> dict[str, Choice] | None:
    """Return the choices by name, or None if there is no file.

    Raises `LedgerError` for a malformed file, and if a choice is not the best of its scores.
    """
    if not os.path.lexists(path):
        return None
    remedy = "'invariance choose' writes it again"
    try:
        choices = dict(parse_settings(read_text(path)))
        best = {name: c.grid[best_of(c.scores, c.higher)] for name, c in choices.items()}
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        problem = f"({type(error).__name__}: {error})"
        raise LedgerError(f"{path} is not readable as settings {problem}; {remedy}") from error
    for name, choice in choices.items():
        if choice.chosen != best[name]:
            problem = f"{name!r} is {choice.chosen!r}, which is not the best of its scores"
            raise LedgerError(f"{path}: {problem}; {remedy}")
    return choices


@lru_cache(128)  # Each claim of a notebook needs the same text, and parsing YAML is slow.
def parse_settings(text: str) -> Mapping[str, Choice]:
    """Return the choices in a YAML text. Malformed texts raise errors of several types."""
    content = parse_yaml(text, "the file")
    json.dumps(content)  # Raises TypeError unless all values are numbers, texts, lists or mappings.
    choices = {}
    for name, fields in content["choices"].items():
        choice = Choice(**fields)
        if len(choice.grid) != len(choice.scores):
            raise ValueError(f"{name!r} has another number of scores than entries in its grid")
        choices[str(name)] = choice
    return choices


def settings_digest(choices: Mapping[str, Choice] | None) -> str:
    """Return the SHA-256 of the choices and their grids, without the scores' numbers."""
    if choices is None:
        return ""
    entries = {}
    for name, choice in choices.items():
        entries[name] = [choice.chosen, choice.grid, choice.by, choice.higher]
    text = json.dumps(entries, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def write_settings(path: Path, notebook: str, choices: Mapping[str, Choice]) -> None:
    """Write choices in the order in which they were made."""
    import yaml

    content = {
        "notebook": notebook,
        "seed": CHOOSING_SEED,
        "choices": {name: asdict(choice) for name, choice in choices.items()},
    }
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    head = f"# Written by `invariance choose {notebook}`, read by `invariance run`; not by hand.\n"
    write_bytes(path, (head + text).encode())


def protocol_digest(claim: Claim, settings: str = "") -> str | None:
    """Return 16 digits that identify a claim's protocol and its notebook's settings, or None.

    A claim without a protocol has no digest.

    >>> protocol_digest(Claim("p/c", "order", "f1", "full", protocol="100 draws, seed 1"))
    '9dcfb7dc2dbf8c5e'
    """
    if not claim.protocol:
        return None
    text = json.dumps([claim.protocol, settings])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def registered(claim: Claim, paths: Paths, notebook: str) -> str | None:
    """Return the digest that a result of this notebook must have in order to count."""
    try:
        settings = settings_digest(read_settings(paths.settings(notebook)))
    except LedgerError:
        return None  # `invariance check` reports the problem of the settings.
    return protocol_digest(claim, settings)


def statement_at_run(claim: Claim, entry: Mapping[str, Any]) -> str | None:
    """Return the digest of a claim's statement at the time of a result, or None if it is unknown.

    A result without a digest is older than the latest change of the claim's words.
    """
    digest = entry.get("statement")
    if digest is None and claim.reworded is not None:
        return claim.reworded.before
    return digest


def answers(claim: Claim, entry: Mapping[str, Any]) -> bool:
    """Return whether a result answers the present words of a claim.

    It does if the words are those of the run, or if the history declares that results under the
    earlier words stand.
    """
    now = statement_digest(claim)
    before = statement_at_run(claim, entry)
    if before in (None, now):
        return True
    reworded = claim.reworded
    if reworded is None or (reworded.before, reworded.now) != (before, now):
        return False
    return bool(reworded.stands)


def standing(entry: Mapping[str, Any], claim: Claim, digest: str | None) -> str:
    """Return the verdict of a claim of ``results.json``, or why it does not count.

    `digest` identifies the registered protocol; see `registered`.
    """
    if entry.get("protocol") is None or digest is None:
        return UNREGISTERED
    if not answers(claim, entry):
        return REWORDED
    if entry["protocol"] != digest:
        return ANOTHER
    return str(entry["verdict"])
