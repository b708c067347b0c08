"""`check_gram`, `check_lambdas`: what learners ask of a Gram matrix and of a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import check_finite

__all__ = ["check_gram", "check_lambdas"]


def check_gram(gram: NDArray, targets: NDArray, called: str = "label") -> None:
    """Refuse a Gram matrix that is not square or not finite, or other than one target a row."""
    n = len(targets) if targets.ndim == 1 else -1
    if n < 1 or gram.shape != (n, n):
        raise ValueError(
            f"expected a square Gram matrix and one {called} a row, got shapes {gram.shape} and "
            f"{targets.shape}"
        )
    check_finite("the Gram matrix", gram)


def check_lambdas(lambdas: ArrayLike) -> NDArray:
    """A grid of lambdas as a row of floats: finite, none below zero, at least one."""
    grid = np.atleast_1d(np.asarray(lambdas, dtype=float))
    if grid.ndim != 1 or not grid.size or not np.all((grid >= 0) & (grid < np.inf)):
        raise ValueError(f"lambdas must be finite numbers >= 0, at least one, got {lambdas!r}")
    return grid
