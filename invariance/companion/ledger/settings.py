"""What a notebook chose before it measured: ``notebooks/settings/<paper>/<name>.yml``.

`invariance choose` writes these files; a full run reads them. What was chosen, from which grid and
how is part of the protocol of every claim of the notebook; the held-out scores are kept beside it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

import yaml

from invariance.companion.errors import LedgerError
from invariance.companion.files import write_bytes

__all__ = ["CHOOSING_SEED", "Choice", "best_of", "read_settings", "settings_digest"]
__all__ += ["write_settings"]

#: `invariance choose` runs with it, and no run that counts does.
CHOOSING_SEED = 0


@dataclass(frozen=True)
class Choice:
    """One setting: what was chosen, out of what, by which score.

    Attributes
    ----------
    chosen : number, text, None, or lists and dicts of them
    grid : list
    by : str
        The score, and the training data that it was computed on.
    higher : bool
        Whether a higher score is better.
    scores : list of float
        One per entry of the grid.
    se : list of float
        Their standard errors; empty where a score is one number.
    """

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
    """Choices by name; None where there is no file.

    Raises
    ------
    LedgerError
        If the file is not what `write_settings` writes, or a choice is not the best of its scores.
    """
    try:
        found = _choices(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
        raise LedgerError(
            f"{path} is not readable as settings ({type(error).__name__}: {error}); "
            "'invariance choose' writes it again"
        ) from error
    for name, choice in found.items():
        best = choice.grid[best_of(choice.scores, choice.higher)]
        if len(choice.grid) != len(choice.scores) or best != choice.chosen:
            raise LedgerError(
                f"{path}: {name!r} is {choice.chosen!r}, which is not the best of its scores; "
                "'invariance choose' writes it again"
            )
    return dict(found)


@lru_cache(128)  # each claim of a notebook asks for the same text, and YAML is slow
def _choices(text: str) -> Mapping[str, Choice]:
    content = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {str(name): Choice(**fields) for name, fields in content["choices"].items()}


def settings_digest(choices: Mapping[str, Choice] | None) -> str:
    """SHA-256 of what was chosen, from what and by what; the scores' last digits play no part."""
    if choices is None:
        return ""
    plain = {name: [c.chosen, c.grid, c.by, c.higher] for name, c in choices.items()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def write_settings(path: Path, notebook: str, choices: Mapping[str, Choice]) -> None:
    """Write choices in the order in which they were made."""
    content = {"notebook": notebook, "seed": CHOOSING_SEED}
    content["choices"] = {name: asdict(choice) for name, choice in choices.items()}
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    head = f"# Written by `invariance choose {notebook}`, read by `invariance run`; not by hand.\n"
    write_bytes(path, (head + text).encode())
