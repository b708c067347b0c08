"""Imports of the server that forks notebooks' processes: they take four seconds, once."""

import gc
import importlib
from contextlib import suppress

_LIBRARY = (
    "companion.cli",
    "companion.run.run",
    "companion.runner.worker",
    "beyond",
    "datasets",
    "evaluation",
    "features",
    "groups",
    "kernels",
    "linear",
    "spectral",
    "theory",
)
_PACKAGES = (
    "jupytext",
    "nbformat.v4",
    "papermill.engines",
    "nbclient.exceptions",
    "psutil",
    "jupyter_client.asynchronous.client",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "IPython.core.completer",
    "matplotlib.pyplot",
    "pandas",
    "scipy.stats",
    "sklearn.svm",
    "sklearn.kernel_ridge",
)


def _import_all() -> None:
    """Import what notebooks need; a module that fails is left to the notebooks that import it."""
    for name in (*_PACKAGES, *(f"invariance.{name}" for name in _LIBRARY)):
        with suppress(Exception, SystemExit):
            importlib.import_module(name)


def _fill_caches() -> None:
    """Compile the schemas of stored files and the grammar of formulas, and read imports."""
    from ..errors import NotebookError
    from ..ledger.results import check_of
    from ..provenance import closure

    for kind in ("results", "status", "executed"):
        check_of(kind)
    with suppress(NotebookError):
        closure("\n".join(f"import invariance.{name}" for name in _LIBRARY))
    with suppress(ImportError):
        from nbformat import v4

        v4.new_code_cell()
    with suppress(ImportError):
        from matplotlib.mathtext import MathTextParser

        MathTextParser("agg").parse("$x$")


# Ctrl-C in the terminal reaches the server too, but it is blocked there; the server ends with its
# runner. See `places` and `worker.begin`.
_import_all()
_fill_caches()
# Pages that the garbage collector does not touch stay shared between forks.
gc.collect()
gc.freeze()
