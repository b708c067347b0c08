# ruff: noqa: F401
"""The executable companion: run notebooks, compare with the papers, report.

`__all__` is what notebooks need; the command line is in `invariance.companion.cli`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .imports import watch

if TYPE_CHECKING:
    from ..evaluation.means import Score, mean_se
    from ..evaluation.rates import fit_rate
    from .run.counting import instructions, processor_seconds
    from .run.plots import curve, family, panel, rows, ticks
    from .run.run import Run, saved
    from .run.style import colour, label_ends, look, shades
    from .run.teaching import check
    from .run.withholding import WithheldError, withheld

# found on first use: the command line and the runner start without pandas and matplotlib
_HOMES = {
    "companion.run.run": "Run saved",
    "companion.run.counting": "instructions processor_seconds",
    "companion.run.plots": "curve family panel rows ticks",
    "companion.run.style": "colour label_ends look shades",
    "companion.run.teaching": "check",
    "companion.run.withholding": "WithheldError withheld",
    "evaluation.means": "Score mean_se",
    "evaluation.rates": "fit_rate",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)


# `run.cache` and the runner compare what was imported with what the files say later on
watch()


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"invariance.{_HOME_OF[name]}"), name)
