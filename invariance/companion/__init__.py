# ruff: noqa: F401
"""The executable companion: run notebooks, compare with the papers, report.

`__all__` lists the names for notebooks; the command line is in `invariance.companion.cli`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .run.imports import watch

if TYPE_CHECKING:
    from ..evaluation.means import Score, mean_se
    from ..evaluation.rates import fit_rate
    from .run.counting import instructions, processor_seconds
    from .run.plots import curve, family, panel, rows, ticks
    from .run.run import Run, recorded, saved
    from .run.style import colour, label_ends, look, shades
    from .run.teaching import check
    from .run.withholding import WithheldError, withheld

# Names are imported on first use: the command line starts without pandas and matplotlib.
_MODULE_OF = {
    "Run": "companion.run.run",
    "Score": "evaluation.means",
    "WithheldError": "companion.run.withholding",
    "check": "companion.run.teaching",
    "colour": "companion.run.style",
    "curve": "companion.run.plots",
    "family": "companion.run.plots",
    "fit_rate": "evaluation.rates",
    "instructions": "companion.run.counting",
    "label_ends": "companion.run.style",
    "look": "companion.run.style",
    "mean_se": "evaluation.means",
    "panel": "companion.run.plots",
    "processor_seconds": "companion.run.counting",
    "recorded": "companion.run.run",
    "rows": "companion.run.plots",
    "saved": "companion.run.run",
    "shades": "companion.run.style",
    "ticks": "companion.run.plots",
    "withheld": "companion.run.withholding",
}

__all__ = sorted(_MODULE_OF)


# The cache and the runner compare the imported modules with later versions of their files.
watch()


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"invariance.{_MODULE_OF[name]}"), name)
