"""Whatever scikit-learn takes as a kernel: its matrix, and the points that it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels

from .arrays import check_array, validate_data


def kernel_matrix(kernel: Any, X: NDArray[Any], Y: NDArray[Any] | None = None) -> NDArray[Any]:
    """k(x_i, y_j), shape (n, m), for a kernel object, a name or a function of two points.

    Kernel objects, those of this package and of scikit-learn's Gaussian processes, are asked for
    ``kernel(X)`` where Y is None, and can make use of its symmetry.

    >>> kernel_matrix("linear", np.array([[1.0, 2.0]]))
    array([[5.]])
    """
    if hasattr(kernel, "diag"):
        return np.asarray(kernel(X) if Y is None else kernel(X, Y))
    return np.asarray(pairwise_kernels(X, Y, metric=kernel))


def takes_sets(kernel: Any) -> bool:
    """Whether a kernel, or one that it is made of, takes padded sets of points."""
    if getattr(kernel, "takes_sets", False):
        return True
    # Asked of the class: the value of theta needs parameters that have not been checked yet.
    is_kernel = hasattr(type(kernel), "diag") and hasattr(type(kernel), "theta")
    return is_kernel and any(map(takes_sets, vars(kernel).values()))


def check_points(estimator: Any, X: Any, kernel: Any, *, reset: bool = True, **how: Any) -> Any:
    """Points (n, d) for an estimator, or padded sets (n, largest, d) where its kernel takes them.

    New sets may be larger or smaller than those of `fit`. More arguments are those of
    `validate_data`.
    """
    if takes_sets(kernel):
        how |= {"allow_nd": True, "ensure_all_finite": "allow-nan"}
        if not reset:
            return check_array(X, **how)
    return validate_data(estimator, X, reset=reset, **how)
