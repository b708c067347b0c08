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

from invariance.companion.errors import NotebookError, hint
from invariance.companion.paths import Paths
from invariance.companion.source import read_notebook


def reads(paths: Paths, notebook: str) -> list[str]:
    """Notebooks whose results a notebook reads.

    Raises
    ------
    NotebookError
        For a header that does not list names, a name that no notebook has, and notebooks that
        read each other in a circle.
    """
    found = _header(paths, notebook)[0]
    known = paths.all_notebooks() if found else []
    for name in found:
        if name not in known:
            raise NotebookError(
                f"notebook {notebook} reads {name!r}, which is no notebook. "
                + hint(name, known, "notebooks")
            )
    chains = [[notebook, name] for name in found]
    seen = set(found)
    while chains:
        chain = chains.pop()
        if chain[-1] == notebook:
            raise NotebookError(
                f"notebooks read each other in a circle, none of them can be first: "
                f"{' reads '.join(chain)}"
            )
        with suppress(NotebookError):  # that notebook's own error
            further = _header(paths, chain[-1])[0]
            chains += [[*chain, name] for name in further if name not in seen]
            seen |= set(further)
    return found


def runs_alone(paths: Paths, notebook: str) -> bool:
    """Whether a notebook is to run beside no other; errors as of `reads`."""
    return _header(paths, notebook)[1]


def _header(paths: Paths, notebook: str) -> tuple[list[str], bool]:
    """What the header says of notebooks that are read, and of running alone."""
    header = read_notebook(paths.source(notebook)).metadata.get("invariance", {})
    if isinstance(header, dict) and {*header} <= {"reads", "alone"}:
        names, alone = header.get("reads", []), header.get("alone", False)
        listed = isinstance(names, list) and all(isinstance(name, str) for name in names)
        if listed and isinstance(alone, bool):
            return names, alone
    raise NotebookError(
        f"notebook {notebook}: its header says invariance: {header!r}; expected "
        "'reads: [<paper>/<name>, ...]' or 'alone: true' below it"
    )
