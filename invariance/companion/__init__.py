"""The executable companion: run notebooks, compare with the papers, report.

A notebook needs `Run`, `Score`, `fit_rate`, `mean_se`, `colour` and `style`; the command line is
in `invariance.companion.cli`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..evaluation.means import Score, mean_se
    from ..evaluation.rates import RateFit, fit_rate
    from .run import style
    from .run.counting import instructions
    from .run.plots import curve, family, panel, rows, ticks
    from .run.run import Run
    from .run.style import colour, label_ends, look, marker, shades

__all__ = [
    "RateFit",
    "Run",
    "Score",
    "colour",
    "curve",
    "family",
    "fit_rate",
    "instructions",
    "label_ends",
    "look",
    "marker",
    "mean_se",
    "panel",
    "rows",
    "shades",
    "style",
    "ticks",
]

# found on first use: the command line and the runner start without pandas and matplotlib
_HOMES = {
    "Run": "companion.run.run",
    "instructions": "companion.run.counting",
    **dict.fromkeys(("curve", "family", "panel", "rows", "ticks"), "companion.run.plots"),
    **dict.fromkeys(("Score", "mean_se"), "evaluation.means"),
    **dict.fromkeys(("RateFit", "fit_rate"), "evaluation.rates"),
    **dict.fromkeys(("colour", "label_ends", "look", "marker", "shades"), "companion.run.style"),
}


def __getattr__(name: str) -> Any:
    if name == "style":
        return import_module("invariance.companion.run.style")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"invariance.{_HOMES[name]}"), name)
