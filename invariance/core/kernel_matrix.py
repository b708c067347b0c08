"""Kernels in any form that scikit-learn accepts: their matrix, their points, and its repair."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels

from .arrays import check_array, validate_data

Array = NDArray[Any]


def kernel_matrix(kernel: Any, X: Array, Y: Array | None = None) -> Array:
    """Return k(x_i, y_j), shape (n, m), for a kernel object, a name or a function of two points.

    >>> kernel_matrix("linear", np.array([[1.0, 2.0]]))
    array([[5.]])
    """
    if not hasattr(kernel, "diag"):
        return np.asarray(pairwise_kernels(X, Y, metric=kernel))
    if Y is None:
        return np.asarray(kernel(X))
    return np.asarray(kernel(X, Y))


def is_known_definite(kernel: Any) -> bool:
    """Whether a kernel states that all its Gram matrices are positive semi-definite."""
    return getattr(kernel, "positive_definite", None) is True


def takes_sets(kernel: Any) -> bool:
    """Whether a kernel, or a part of it, takes padded sets of points."""
    if getattr(kernel, "takes_sets", False):
        return True
    # The class is examined: the value of theta needs parameters that have not been checked yet.
    is_kernel = hasattr(type(kernel), "diag") and hasattr(type(kernel), "theta")
    return is_kernel and any(map(takes_sets, vars(kernel).values()))


def check_points(estimator: Any, X: Any, kernel: Any, *, reset: bool = True, **checks: Any) -> Any:
    """Return points (n, d), or padded sets (n, largest, d) if the kernel takes them."""
    if not takes_sets(kernel):
        return validate_data(estimator, X, reset=reset, **checks)
    checks["allow_nd"] = True
    checks["ensure_all_finite"] = "allow-nan"
    if reset:
        return validate_data(estimator, X, reset=True, **checks)
    return check_array(X, **checks)


def repaired_eigenvalues(values: Array, repair: str | None) -> tuple[Array, Array]:
    r"""Return repaired eigenvalues, and the factors applied to out-of-sample rows.

    With :math:`K = V \Lambda V^T` the training matrix becomes :math:`V L V^T`, and the row k of a
    new point :math:`k V S V^T`, for the following (L, S):

    - "clip": (max(:math:`\Lambda`, 0), 1 if :math:`\Lambda > 0` and else 0), also for None;
    - "flip": (:math:`|\Lambda|`, sign :math:`\Lambda`);
    - "shift": (:math:`\Lambda - \lambda_{\min}`, 1): a ridge, which does not apply to new points.

    Dual coefficients :math:`V S (L + r)^{-1} V^T y` then predict from unchanged rows.
    """
    if repair == "shift":
        return values - min(values.min(initial=0), 0), np.ones_like(values)
    if repair == "flip":
        return np.abs(values), np.sign(values)
    return np.maximum(values, 0), (values > 0).astype(values.dtype)
