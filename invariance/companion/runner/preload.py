"""What the process imports that notebooks' processes are forked from: four seconds' worth."""

import gc
import importlib
import sys
from contextlib import suppress

from ..errors import NotebookError
from ..ledger.results import check_of
from ..provenance import closure

# see `invariance.companion.source.read_notebook`
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

_OURS = (
    "companion.cli", "companion.run.run", "companion.runner.worker",
    "beyond", "datasets", "evaluation", "features", "groups", "kernels", "linear", "spectral",
    "theory",
)  # fmt: skip
for _name in (
    "jupytext", "nbformat", "papermill.engines", "nbclient.exceptions", "psutil",
    "jupyter_client.asynchronous.client",
    "ipykernel.kernelapp", "ipykernel.ipkernel", "IPython.core.completer",
    "matplotlib.pyplot", "pandas", "scipy.stats", "sklearn.svm", "sklearn.kernel_ridge",
    *(f"invariance.{name}" for name in _OURS),
):  # fmt: skip
    # what cannot be imported fails the notebooks that need it, each with its own traceback
    with suppress(Exception, SystemExit):
        importlib.import_module(_name)

for _name in ("results", "status", "executed"):
    check_of(_name)
with suppress(NotebookError):
    closure("\n".join(f"import invariance.{name}" for name in _OURS))
sys.modules["nbformat"].v4.new_code_cell()  # compiles its schema
gc.collect()
gc.freeze()
