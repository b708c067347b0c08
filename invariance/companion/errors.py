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
    """Return a sentence with names that start alike or are similar, or with all names.

    >>> hint("sed", ["seed", "profile"])
    "Did you mean 'seed'?"
    >>> hint("eq1", ["eq1-haar-invariance", "eq2", "fig1"])
    "Did you mean 'eq1-haar-invariance'?"
    >>> hint("weyl", ["soleymani2025/weyl", "soleymani2025/torus"])
    "Did you mean 'soleymani2025/weyl'?"
    >>> hint("zz", ["seed", "profile"], "parameters")
    'The parameters are: profile, seed.'
    """
    candidates = sorted(names)
    similar = [candidate for candidate in candidates if name and candidate.startswith(name)][:3]
    if not similar and name:
        ends = [candidate.rpartition("/")[2] for candidate in candidates]
        pairs = zip(candidates, ends, strict=True)
        similar = [candidate for candidate, end in pairs if end.startswith(name)][:3]
    if not similar:
        similar = get_close_matches(name, candidates, n=3, cutoff=0.7)
    if similar:
        return f"Did you mean {' or '.join(map(repr, similar))}?"
    if not candidates:
        return f"There are no {kind}."
    return f"The {kind} are: {', '.join(candidates)}."
