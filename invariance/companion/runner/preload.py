"""What the process imports that notebooks' processes are forked from; nothing is computed here.

Importing this module imports what the runner's workers, Jupyter's kernels and most notebooks
import, four seconds' worth, and reads what `invariance.companion.imports` would read each time.
"""

import gc
import importlib
import sys

from ..imports import read_all

# see `invariance.companion.source.read_notebook`
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

for _name in (
    "jupytext", "nbformat", "papermill.engines", "nbclient.exceptions", "psutil",
    "jupyter_client.asynchronous.client",
    "ipykernel.kernelapp", "ipykernel.ipkernel", "IPython.core.completer",
    "matplotlib.pyplot", "pandas", "scipy.stats", "sklearn.svm", "sklearn.kernel_ridge",
    "invariance.companion.cli", "invariance.companion.run.run",
    "invariance.companion.run.comparison", "invariance.companion.runner.worker",
    "invariance.datasets", "invariance.evaluation", "invariance.features", "invariance.groups",
    "invariance.kernels", "invariance.linear", "invariance.spectral", "invariance.theory",
):  # fmt: skip
    importlib.import_module(_name)

read_all()
sys.modules["nbformat"].v4.new_code_cell()  # compiles its schema
gc.collect()
gc.freeze()
