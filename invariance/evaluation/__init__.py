"""Means with standard errors, rates with confidence intervals, and choices by leave-one-out."""

from importlib import import_module
from typing import Any

# Modules are imported at first use: `mean_se` alone needs no kernel and no learner.
_HOMES = {
    **dict.fromkeys(("Score", "mean_se", "with_error"), "means"),
    **dict.fromkeys(("RateFit", "fit_rate"), "rates"),
    "share_of_changes": "changes",
    **dict.fromkeys(("best_by_leave_one_out", "best_with_copies"), "selection"),
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
