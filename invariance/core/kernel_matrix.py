"""Whatever scikit-learn takes as a kernel: its matrix, its points, and how it is repaired."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels

from .arrays import check_array, validate_data


def kernel_matrix(kernel: Any, X: NDArray[Any], Y: NDArray[Any] | None = None) -> NDArray[Any]:
    """k(x_i, y_j), shape (n, m), for a kernel object, a name or a function of two points.

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
    """Points (n, d), or padded sets (n, largest, d) where the kernel takes them."""
    if takes_sets(kernel):
        how |= {"allow_nd": True, "ensure_all_finite": "allow-nan"}
        if not reset:
            return check_array(X, **how)
    return validate_data(estimator, X, reset=reset, **how)


def repaired_eigenvalues(
    values: NDArray[Any], how: str | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    r"""Eigenvalues after the repair, and what training points' side of new rows is multiplied by.

    With :math:`K = V \Lambda V^T` the training matrix becomes :math:`V L V^T`, and the row k of a
    new point :math:`k V S V^T`, where (L, S) are

    - "clip": (max(:math:`\Lambda`, 0), 1 where :math:`\Lambda > 0` and else 0), also for None;
    - "flip": (:math:`|\Lambda|`, sign :math:`\Lambda`);
    - "shift": (:math:`\Lambda - \lambda_{\min}`, 1): a ridge, which new points do not see.

    Dual coefficients :math:`V S (L + r)^{-1} V^T y` then predict from rows as they are.
    """
    if how == "shift":
        return values - min(values.min(initial=0), 0), np.ones_like(values)
    if how == "flip":
        return np.abs(values), np.sign(values)
    return np.maximum(values, 0), (values > 0).astype(values.dtype)
