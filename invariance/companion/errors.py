"""Exceptions of the companion: each message says what is wrong and what to do about it."""

from collections.abc import Iterable
from difflib import get_close_matches


class CompanionError(Exception):
    """Base of everything that the companion raises on purpose."""


class LedgerError(CompanionError, ValueError):
    """The ledger of claims is malformed, or an id is not in it."""


class RecordError(CompanionError, ValueError):
    """A result handed to ``Run`` cannot be recorded: not finite, of the wrong kind, or twice."""


class NotebookError(CompanionError, ValueError):
    """A notebook is unknown or does not follow the form that the runner needs."""


class OutputError(CompanionError, OSError):
    """Results cannot be written: the output folder is full, read-only or not a folder."""


def hint(name: str, known: Iterable[str], what: str = "known names") -> str:
    """Sentence that names the closest known spellings, or all of them when none is close.

    >>> hint("sed", ["seed", "profile"])
    "Did you mean 'seed'?"
    >>> hint("zz", ["seed", "profile"], "parameters")
    'The parameters are: profile, seed.'
    """
    known = sorted(known)
    close = get_close_matches(name, known, n=3, cutoff=0.7)
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    if not known:
        return f"There are no {what}."
    return f"The {what} are: {', '.join(known)}."
