"""Exceptions of the companion. Each message names the problem and the remedy."""

from collections.abc import Iterable
from difflib import get_close_matches


class CompanionError(Exception):
    """Base class of the companion's exceptions."""


class LedgerError(CompanionError, ValueError):
    """The ledger of claims is malformed, or an id is not in it."""


class RecordError(CompanionError, ValueError):
    """A result passed to ``Run`` cannot be recorded: not finite, of the wrong kind, or repeated."""


class NotebookError(CompanionError, ValueError):
    """A notebook is unknown, or does not have the form that the runner needs."""


class OutputError(CompanionError, OSError):
    """Results cannot be written: the output folder is full, read-only or not a folder."""


def hint(name: str, names: Iterable[str], kind: str = "known names") -> str:
    """Return a sentence with the most similar names, or with all names if there is no similar one.

    >>> hint("sed", ["seed", "profile"])
    "Did you mean 'seed'?"
    >>> hint("zz", ["seed", "profile"], "parameters")
    'The parameters are: profile, seed.'
    """
    candidates = sorted(names)
    similar = get_close_matches(name, candidates, n=3, cutoff=0.7)
    if similar:
        return f"Did you mean {' or '.join(map(repr, similar))}?"
    if not candidates:
        return f"There are no {kind}."
    return f"The {kind} are: {', '.join(candidates)}."
