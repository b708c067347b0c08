"""How methods are chosen, measured and compared.

Means with standard errors, rates with confidence intervals, choices by leave-one-out, trials with
a clock and a memory meter around them, and comparisons paired by draw.
"""

from importlib import import_module
from typing import Any

# found on first use: what needs only `mean_se` does not import every kernel and learner
_HOMES = {
    **dict.fromkeys(("Score", "mean_se", "with_error"), "means"),
    **dict.fromkeys(("RateFit", "fit_rate"), "rates"),
    **dict.fromkeys(("Answer", "Trial", "best_method", "share_of_changes", "trial"), "trials"),
    **dict.fromkeys(("best_by_leave_one_out", "best_with_copies"), "selection"),
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
