"""`Kernel` and the base kernels: linear, polynomial, Gaussian, Laplacian.

A kernel is a callable ``k(X, Y) -> (n, m)``. It derives from scikit-learn's Gaussian-process
kernel, so that ``SVC(kernel=k)``, ``KernelRidge(kernel=k)``, ``GaussianProcessRegressor(kernel=k)``
and ``pairwise_kernels`` take it as it is, and sums, products and powers of kernels are kernels.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.utils.validation import check_array

from ..array_api import check_arrays, is_foreign, numpy_only
from ..checks import check_positive

__all__ = ["Gaussian", "Kernel", "Laplacian", "Linear", "Polynomial", "row_blocks"]

#: Default bound, in bytes, on the temporary arrays of a blocked computation.
BLOCK_BYTES = 128 * 2**20


def row_blocks(n_rows: int, bytes_per_row: float, block_bytes: int = BLOCK_BYTES):
    """Slices that cover ``range(n_rows)`` with at most ``block_bytes`` of temporaries each.

    >>> list(row_blocks(5, bytes_per_row=10, block_bytes=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, int(block_bytes // max(bytes_per_row, 1)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _points(X: ArrayLike, name: str) -> NDArray:
    """X as a matrix of real numbers, one point a row."""
    if getattr(X, "ndim", 2) > 2:
        raise ValueError(
            f"{name} takes flattened points of shape (n, d), got an array of shape {X.shape}: pass "
            "X.reshape(len(X), -1)"
        )
    try:
        return check_array(X, dtype=(np.float64, np.float32), estimator=name)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(
            f"{name}: the points are not all of one shape, so they are no rows of a matrix (n, d): "
            "crop or pad images to one rectangle first"
        ) from error


def _check_finite(name: str, values: NDArray, *points: NDArray) -> None:
    """Refuse values that overflowed; the points are finite."""
    # The extremes are infinite or NaN where any value is, and need no array of their own.
    if not np.isfinite(values.min()) or not np.isfinite(values.max()):
        largest = max(float(max(X.max(), -X.min())) for X in points)
        raise ValueError(
            f"{name}: values beyond {values.dtype} or not a number; the largest absolute feature "
            f"of the points is {largest:g}: scale the points down (divide by 255 where they are "
            "pixels from 0 to 255), or take smaller degrees or scales"
        )


class Kernel(BaseEstimator, GaussianProcessKernel):
    """Base class of all kernels: ``k(X, Y)`` of shape (n, m), ``k(X)`` the Gram matrix.

    A subclass implements ``_gram(X, Y)``; a composed kernel holds its parts as parameters, which
    ``get_params`` and ``set_params`` reach as ``part__parameter``.

    Attributes
    ----------
    unitary_invariant : bool
        Whether k(Ax, Az) = k(x, z) for every orthogonal A, which lets an average over two copies
        of a group be taken over one.
    """

    unitary_invariant: bool = False

    #: ``_gram_arrays(xp, X, Y)`` is `_gram` in another library; None takes NumPy's arrays only.
    _gram_arrays = None

    @abstractmethod
    def _gram(self, X: NDArray, Y: NDArray | None) -> NDArray:
        """The kernel matrix of shape (n, m) between rows; ``Y=None`` means ``Y=X``."""

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False):
        """The matrix of k(x_i, y_j).

        Parameters
        ----------
        X : array-like of shape (n, d)
        Y : array-like of shape (m, d), default X
        eval_gradient : bool
            For `GaussianProcessRegressor`; these kernels have no hyperparameters that it tunes, so
            the gradient has shape (n, n, 0).

        Returns
        -------
        ndarray of shape (n, m), float32 when both inputs are float32, else float64
            For arrays of another library an array of that library, on their device.
        """
        if is_foreign(X) or is_foreign(Y):
            return self._of_arrays(X, Y)
        X = _points(X, type(self).__name__)
        if Y is not None:
            Y = _points(Y, type(self).__name__)
            if X.shape[1] != Y.shape[1]:
                raise ValueError(
                    f"{type(self).__name__}: X has {X.shape[1]} features and Y has {Y.shape[1]}; "
                    "both must be points of the same space"
                )
        # Overflow is refused below, in the user's terms.
        with np.errstate(over="ignore", invalid="ignore"):
            gram = self._gram(X, Y)
        _check_finite(type(self).__name__, gram, *((X,) if Y is None else (X, Y)))
        if eval_gradient:
            return gram, np.empty((*gram.shape, 0))
        return gram

    def _of_arrays(self, X, Y):
        """The kernel matrix of points given in another library than NumPy."""
        self._check_takes(X, Y)
        xp = check_arrays(type(self).__name__, X, Y)
        if Y is None:
            return self._gram_arrays(xp, X, X)
        dtype = xp.result_type(X, Y)
        return self._gram_arrays(xp, xp.astype(X, dtype), xp.astype(Y, dtype))

    def _check_takes(self, X, Y) -> None:
        """Refuse other libraries than NumPy before asking for any conversion within them."""
        if self._gram_arrays is None:
            numpy_only(
                type(self).__name__,
                "take one of the kernels for other libraries: BestFit, CDF, Gaussian, Linear, "
                "Locality and Polynomial",
                X,
                Y,
            )

    def diag(self, X: ArrayLike) -> NDArray:
        """k(x_i, x_i) for each row, shape (n,)."""
        X = _points(X, type(self).__name__)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._diag(X)
        _check_finite(type(self).__name__, values, X)
        return values

    def _diag(self, X: NDArray) -> NDArray:
        return np.array([self._gram(x[None], None)[0, 0] for x in X])

    def is_stationary(self) -> bool:
        return False

    @property
    def hyperparameters(self) -> list:
        """None that a Gaussian process would tune by gradient: grid search is the way here."""
        return []


class Linear(Kernel):
    """k(x, z) = <x, z>.

    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    unitary_invariant = True

    def _gram(self, X, Y):
        return X @ (X if Y is None else Y).T

    def _gram_arrays(self, xp, X, Y):
        return X @ Y.T

    def _diag(self, X):
        return np.einsum("nd,nd->n", X, X)


class Polynomial(Kernel):
    """k(x, z) = (constant + scale <x, z>)^degree.

    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    unitary_invariant = True

    def __init__(self, degree: int = 3, scale: float = 1.0, constant: float = 1.0):
        self.degree = degree
        self.scale = scale
        self.constant = constant

    def of_inner_products(self, inner: NDArray) -> NDArray:
        """The kernel as a function of the inner product <x, z>."""
        if int(self.degree) != self.degree or self.degree < 1:
            raise ValueError(f"Polynomial needs an integer degree >= 1, got {self.degree!r}")
        return (self.constant + self.scale * inner) ** int(self.degree)

    def _gram(self, X, Y):
        return self.of_inner_products(X @ (X if Y is None else Y).T)

    def _gram_arrays(self, xp, X, Y):
        return self.of_inner_products(X @ Y.T)

    def _diag(self, X):
        return self.of_inner_products(np.einsum("nd,nd->n", X, X))


class Gaussian(Kernel):
    """k(x, z) = exp(-gamma |x - z|^2).

    >>> Gaussian(gamma=0.5)([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065]])
    """

    unitary_invariant = True

    def __init__(self, gamma: float = 1.0):
        self.gamma = gamma

    def of_squared_distances(self, squared: NDArray) -> NDArray:
        """The kernel as a function of |x - z|^2."""
        check_positive(type(self).__name__, gamma=self.gamma)
        return np.exp(-self.gamma * squared)

    def _gram(self, X, Y):
        return self.of_squared_distances(squared_distances(X, Y))

    def _gram_arrays(self, xp, X, Y):
        check_positive(type(self).__name__, gamma=self.gamma)
        return xp.exp(-self.gamma * squared_distances_arrays(xp, X, Y))

    def _diag(self, X):
        return np.ones(len(X))

    def is_stationary(self) -> bool:
        return True


class Laplacian(Kernel):
    """k(x, z) = exp(-gamma |x - z|_1).

    >>> Laplacian(gamma=1.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.1353]])
    """

    def __init__(self, gamma: float = 1.0):
        self.gamma = gamma

    def _gram(self, X, Y):
        check_positive(type(self).__name__, gamma=self.gamma)
        return np.exp(-self.gamma * manhattan_distances(X, Y))

    def _diag(self, X):
        return np.ones(len(X))

    def is_stationary(self) -> bool:
        return True


def squared_distances(X: NDArray, Y: NDArray | None = None) -> NDArray:
    """|x_i - y_j|^2 by one matrix product, never negative, zero on the diagonal when Y is None."""
    squared = -2 * (X @ (X if Y is None else Y).T)
    norms = np.einsum("nd,nd->n", X, X)
    squared += norms[:, None]
    squared += norms if Y is None else np.einsum("nd,nd->n", Y, Y)
    np.maximum(squared, 0, out=squared)
    if Y is None:
        np.fill_diagonal(squared, 0)
    return squared


def squared_distances_arrays(xp, X, Y):
    """`squared_distances` in another library; zero on the diagonal when Y is X."""
    squared = xp.sum(X * X, axis=1)[:, None] - 2 * (X @ Y.T) + xp.sum(Y * Y, axis=1)[None, :]
    squared = xp.where(squared > 0, squared, xp.zeros_like(squared))
    if Y is X:
        index = xp.arange(X.shape[0], device=X.device)
        squared = xp.where(index[:, None] == index[None, :], xp.zeros_like(squared), squared)
    return squared
