"""`TangentDistance`: distance between the tangent planes of two images' transformations."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import prod
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from sklearn.base import BaseEstimator

from ..core.config import block_bytes_of
from ..core.parameters import BLOCK_BYTES, Number, OneOf, check_parameters, stores_parameters
from ..orbits import row_blocks
from .base import as_points

__all__ = ["TANGENTS", "TangentDistance"]

#: Infinitesimal transformations, by name, of gradients (along columns and rows) and coordinates.
TANGENTS = {
    "horizontal": lambda gx, gy, x, y: gx,
    "vertical": lambda gx, gy, x, y: gy,
    "rotation": lambda gx, gy, x, y: y * gx - x * gy,
    "scaling": lambda gx, gy, x, y: x * gx + y * gy,
    "axis": lambda gx, gy, x, y: x * gx - y * gy,
    "diagonal": lambda gx, gy, x, y: y * gx + x * gy,
    "thickness": lambda gx, gy, x, y: gx**2 + gy**2,
}


@stores_parameters
class TangentDistance(BaseEstimator):
    r"""Least distance between images along their tangent vectors.

    With t_i(x) the derivatives of x under small transformations (Simard et al. 1998),

    .. math:: d(x, z)^2 = \min_{a, b} \Big\lVert x + \sum_i a_i t_i(x)
              - z - \sum_i b_i t_i(z) \Big\rVert^2

    for the two-sided distance; one-sided ones leave a or b out. A callable like a kernel:
    ``TangentDistance(...)(X, Z)`` is a matrix of distances for ``metric="precomputed"``.

    Parameters
    ----------
    shape : tuple (height, width)
    vectors : sequence of str
        Of "horizontal", "vertical" (translations), "rotation", "scaling", "axis", "diagonal" (the
        two hyperbolic deformations) and "thickness" (the squared gradient).
    side : {"both", "first", "second"}
        Whose tangent plane is used.
    smoothing : float
        Standard deviation, in pixels, of the Gaussian under which images are differentiated; the
        images themselves stay as they are. Zero takes central differences of the raw pixels.
    ridge : float
        Added to the (dimensionless) normal equations of two-sided distances, against planes that
        are all but parallel.
    block_bytes : int or None
        Bound on temporary arrays; None is the configured one.

    Raises
    ------
    ValueError
        For unknown vectors or side, a negative ``ridge``, or points that do not match ``shape``.

    Examples
    --------
    >>> bump = np.exp(-((np.arange(16) - 7.0) ** 2) / 8)
    >>> x, z = np.outer(bump, bump).reshape(1, -1), np.outer(bump, np.roll(bump, 1)).reshape(1, -1)
    >>> float(np.linalg.norm(x - z).round(2)), TangentDistance((16, 16))(x, z).round(2)
    (1.23, array([[0.16]]))
    """

    shape: tuple[int, int]
    vectors: tuple[str, ...] = ("horizontal", "vertical", "thickness")
    _: KW_ONLY
    side: Annotated[str, OneOf("both", "first", "second")] = "both"
    smoothing: Annotated[float, Number(0)] = 0.9
    ridge: Annotated[float, Number(0)] = 1e-6
    block_bytes: Annotated[int | None, BLOCK_BYTES] = None

    def tangents(self, X: ArrayLike) -> NDArray[Any]:
        """Tangent vectors of each image, shape (n, k, d)."""
        X = self._points(X)
        vectors = [self.vectors] if isinstance(self.vectors, str) else list(self.vectors)
        unknown = [v for v in vectors if v not in TANGENTS]
        if unknown or not vectors:
            raise ValueError(f"vectors must be some of {', '.join(TANGENTS)}; got {self.vectors!r}")
        if not self.smoothing >= 0:
            raise ValueError(f"smoothing must be >= 0 pixels, got {self.smoothing!r}")
        images = X.reshape(len(X), *self.shape)
        smooth = (
            ndimage.gaussian_filter(images, self.smoothing, axes=(1, 2), mode="constant")
            if self.smoothing > 0
            else images
        )
        down, right = np.gradient(smooth, axis=(1, 2))
        y, x = np.meshgrid(
            *(np.arange(s, dtype=X.dtype) - (s - 1) / 2 for s in self.shape), indexing="ij"
        )
        return np.stack(
            [TANGENTS[v](right, down, x, y).reshape(len(X), -1) for v in vectors], axis=1
        )

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[Any]:
        """Distances of shape (n, m).

        Parameters
        ----------
        X : array-like of shape (n, d)
        Y : array-like of shape (m, d), default X
        """
        check_parameters(self)
        X = self._points(X)
        Y = X if Y is None else self._points(Y)
        squared = np.empty((len(X), len(Y)), np.result_type(X, Y))
        k = 1 if isinstance(self.vectors, str) else len(self.vectors)
        budget = block_bytes_of(self.block_bytes) / 2
        # What becomes of a point, of a pair of points: tangents, bases, products of two bases.
        point, pair = 8 * X.shape[1] * (4 * k + 8), 8 * (5 * k**2 + 8 * k + 4)
        for columns in row_blocks(len(Y), point, budget):
            second = Y[columns]
            Q = self._bases(second)
            own = np.einsum("mkd,md->mk", Q, second)
            norms = np.einsum("md,md->m", second, second)
            for rows in row_blocks(len(X), point + pair * len(second), budget):
                first = X[rows]
                squared[rows, columns] = self._squared(
                    first, self._bases(first), second, Q, own, norms
                )
        return np.sqrt(np.maximum(squared, 0, out=squared), out=squared)

    def _points(self, X: ArrayLike) -> NDArray[Any]:
        X = as_points(X, type(self).__name__)
        sizes = np.asarray(self.shape)
        if sizes.shape != (2,) or sizes.dtype.kind not in "iu" or np.any(sizes < 2):
            raise ValueError(
                "shape must be (height, width), at least two pixels each since images are "
                f"differentiated both ways, got {self.shape!r}"
            )
        if X.shape[1] != prod(self.shape):
            raise ValueError(
                f"points have {X.shape[1]} features, which do not make images of shape {self.shape}"
            )
        return X

    def _bases(self, X: NDArray[Any]) -> NDArray[Any]:
        """Orthonormal bases of the tangent planes, (n, k, d); missing directions are zero."""
        T = self.tangents(X).astype(X.dtype, copy=False)
        values, vectors = np.linalg.eigh(T.astype(float) @ T.swapaxes(1, 2).astype(float))
        kept = values > 1e-10 * np.maximum(values[:, -1:], np.finfo(float).tiny)
        scale = np.where(kept, 1 / np.sqrt(np.where(kept, values, 1)), 0)
        return np.asarray((scale[:, :, None] * vectors.swapaxes(1, 2)).astype(X.dtype) @ T)

    def _squared(self, X: Any, P: Any, Y: Any, Q: Any, own: Any, norms: Any) -> Any:
        """Squared distances: |x - z|^2 less its projection on the span of both planes."""
        n, k, d = P.shape
        squared = np.einsum("nd,nd->n", X, X)[:, None] - 2 * X @ Y.T + norms
        if self.side != "second":
            # Coordinates of x - z in the plane of x, (n, m, k).
            u = np.einsum("nkd,nd->nk", P, X)[:, None] - (P.reshape(n * k, d) @ Y.T).reshape(
                n, k, -1
            ).swapaxes(1, 2)
            squared -= np.einsum("nmk,nmk->nm", u, u)
        if self.side != "first":
            m = len(Q)
            v = (X @ Q.reshape(m * k, d).T).reshape(n, m, k) - own
            if self.side == "second":
                return squared - np.einsum("nmk,nmk->nm", v, v)
            cross = (P.reshape(n * k, d) @ Q.reshape(m * k, d).T).reshape(n, k, m, k)
            cross = np.ascontiguousarray(cross.transpose(0, 2, 1, 3), dtype=float)
            # What the plane of z adds to that of x: its part orthogonal to the latter.
            rest = v - (u[:, :, None, :] @ cross)[:, :, 0]
            gram = (1 + self.ridge) * np.eye(k) - cross.swapaxes(2, 3) @ cross
            solved = np.linalg.solve(gram, rest[..., None])[..., 0]
            squared -= np.einsum("nmk,nmk->nm", rest, solved)
        return squared
