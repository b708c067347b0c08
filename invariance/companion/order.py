"""Which notebooks a notebook reads the results of: `reads`, from the notebook's own header.

A notebook that collects what others have measured says so above its first cell::

    # ---
    # jupyter:
    #   invariance:
    #     reads: [compare/digits, compare/torus]

The runner starts it once those of them that run at all have ended, well or badly.
"""

from invariance.companion.errors import NotebookError, hint
from invariance.companion.parameters import read_notebook
from invariance.companion.paths import Paths

__all__ = ["reads"]


def reads(paths: Paths, notebook: str) -> list[str]:
    """Notebooks whose results a notebook reads.

    Parameters
    ----------
    paths : Paths
    notebook : str

    Raises
    ------
    NotebookError
        For a header that does not list names, a name that no notebook has, and notebooks that
        read each other in a circle.
    """
    found = _declared(paths, notebook)
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
        try:
            further = _declared(paths, chain[-1])
        except NotebookError:
            continue  # that notebook's own error
        chains += [[*chain, name] for name in further if name not in seen]
        seen |= set(further)
    return found


def _declared(paths: Paths, notebook: str) -> list[str]:
    header = read_notebook(paths.source(notebook)).metadata.get("invariance", {})
    names = header.get("reads", []) if isinstance(header, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise NotebookError(
            f"notebook {notebook}: its header says invariance: {header!r}; expected "
            "'reads: [<paper>/<name>, ...]' below it"
        )
    return names
