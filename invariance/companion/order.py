"""In which order notebooks run: what `reads` others and what `runs_alone`, from their headers.

A notebook that collects what others have measured says so above its first cell, and so does one
whose subject is time, which another notebook beside it would distort::

    # ---
    # jupyter:
    #   invariance:
    #     reads: [compare/digits, compare/torus]
    #     alone: true

The runner starts the first once those that it reads and that run at all have ended, well or badly,
and the second, at full scale, when nothing else is running, after all that need not be alone.
"""

from contextlib import suppress
from typing import Any

from .errors import NotebookError, hint
from .paths import Paths
from .source import read_notebook


def reads(paths: Paths, notebook: str) -> list[str]:
    """Notebooks whose results a notebook reads.

    A `NotebookError` is raised for a header that does not list names, a name that no notebook has,
    and notebooks that read each other in a circle.
    """
    found = _header(paths, notebook)["reads"]
    known = paths.all_notebooks() if found else []
    for name in found:
        if name not in known:
            said = hint(name, known, "notebooks")
            raise NotebookError(f"notebook {notebook} reads {name!r}, which is no notebook. {said}")
    chains, seen = [[notebook, name] for name in found], set(found)
    while chains:
        chain = chains.pop()
        if chain[-1] == notebook:
            raise NotebookError(f"notebooks read each other in a circle: {' reads '.join(chain)}")
        with suppress(NotebookError):  # that notebook's own error
            further = _header(paths, chain[-1])["reads"]
            chains += [[*chain, name] for name in further if name not in seen]
            seen |= set(further)
    return found


def runs_alone(paths: Paths, notebook: str) -> bool:
    """Whether a notebook is to run beside no other; errors as of `reads`."""
    return _header(paths, notebook)["alone"]


def _header(paths: Paths, notebook: str) -> dict[str, Any]:
    header = read_notebook(paths.source(notebook)).metadata.get("invariance", {})
    if isinstance(header, dict) and {*header} <= {"reads", "alone"}:
        said = {"reads": [], "alone": False} | header
        listed = isinstance(said["reads"], list) and all(isinstance(n, str) for n in said["reads"])
        if listed and isinstance(said["alone"], bool):
            return said
    raise NotebookError(
        f"notebook {notebook}: its header says invariance: {header!r}; expected "
        "'reads: [<paper>/<name>, ...]' or 'alone: true' below it"
    )
