"""Kernel ridge regression on a Gram matrix, one dual solution per alpha."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from ..core.parameters import Array, Flag, Number, OneOf, ParameterError, Whole, check_values
from .gram import REPAIRS, Repair, lowest_eigenvalue, rounding
from .shifted import shifted_solutions

__all__ = ["RidgeSolver", "check_alphas", "check_scale"]

#: Kinds of the arguments that `nested_ridge` and `ridge_by_holdout` share.
_KINDS = {
    "alphas": Number(0) | Array(1, least=0),
    "relative_to": None | OneOf("diagonal"),
    "repair": None | REPAIRS,
    "verbose": Whole(0) | Flag(),
}


def check_alphas(owner: str, alphas: ArrayLike, **others: object) -> NDArray:
    """A grid of alphas as a row of floats, after a check of the arguments beside it."""
    check_values(owner, _KINDS, {"alphas": alphas, **others})
    return np.atleast_1d(np.asarray(alphas, dtype=float))


def check_scale(X: NDArray) -> None:
    """Refuse features whose squares overflow, or vanish beside the smallest number."""
    largest = float(max(X.max(initial=0), -X.min(initial=0)))
    if largest and not 1e-140 < largest < 1e140:
        raise ValueError(
            f"the largest absolute feature is {largest:.1g}, whose square float64 cannot hold to "
            "full precision: scale the features (StandardScaler), and alpha with their squares"
        )


class RidgeSolver:
    """(K + n alpha)^-1 (y - mean y) on blocks of one Gram matrix, repaired where it is indefinite.

    By Cholesky factors where the whole matrix is positive semi-definite. Where it is not,
    the eigenvectors of each block give all alphas, and training and new points are repaired alike
    (`Repair`).

    Parameters
    ----------
    owner : str
        Who warns and raises.
    gram : ndarray of shape (n, n)
    alphas : ndarray of shape (q,)
    relative_to : {None, "diagonal"}
        "diagonal" multiplies the alphas by the mean of each block's diagonal.
    repair : {"clip", "flip", "shift", "raise"} or None
        With None an alpha at which a block is not positive definite has coefficients NaN.
    """

    def __init__(
        self,
        owner: str,
        gram: NDArray,
        alphas: NDArray,
        *,
        relative_to: str | None,
        repair: str | None,
    ):
        self.alphas = alphas
        self.relative_to = relative_to
        self.repair = Repair(owner, repair)
        self._tolerance = rounding(gram)
        lowest = lowest_eigenvalue(gram)
        self._indefinite = lowest < 0
        if self._indefinite:
            trace = float(np.trace(gram, dtype=np.float64))
            self.repair.say(f"it has an eigenvalue of {lowest:.2g}, beside a trace of {trace:.2g}")

    def duals(
        self, gram: NDArray, targets: NDArray, alphas: NDArray | None = None
    ) -> list[NDArray]:
        """Dual coefficients, in the shape of the targets, for each alpha.

        Parameters
        ----------
        gram : ndarray of shape (m, m)
            A block of the matrix, in any precision; computes in float64 on one copy.
        targets : ndarray of shape (m,) or (m, t)
        alphas : ndarray, optional
            Default: those of the constructor.
        """
        scale = 1.0
        if self.relative_to == "diagonal":
            scale = float(gram.diagonal().mean(dtype=np.float64))
            if scale <= 0:
                raise ParameterError(
                    f"relative_to='diagonal' needs a Gram matrix with a positive mean diagonal, "
                    f"got {scale:.2g}; give alphas on the absolute scale, relative_to=None"
                )
        ridges = (self.alphas if alphas is None else alphas) * len(gram) * scale
        centred = targets - targets.mean(axis=0)
        if self._indefinite and self.repair.how is not None:
            return self._by_eigenvectors(gram, centred, ridges)

        def shifted(ridge: float) -> NDArray:
            # the transpose of a symmetric matrix is itself, in the order that LAPACK works on
            matrix = np.array(gram.T, dtype=np.float64, order="F")
            matrix.flat[:: len(gram) + 1] += ridge
            return matrix

        safe = np.inf if self._indefinite else self._tolerance
        found = shifted_solutions(shifted, centred, ridges, safe=safe)
        if self.repair.how is not None and any(dual is None for dual in found):
            return self._by_eigenvectors(gram, centred, ridges)  # a ridge of rounding's size
        return [np.full_like(centred, np.nan) if dual is None else dual for dual in found]

    def _by_eigenvectors(self, gram: NDArray, targets: NDArray, ridges: NDArray) -> list[NDArray]:
        values, vectors = linalg.eigh(gram.astype(np.float64), check_finite=False, overwrite_a=True)
        values, signs = self.repair(values, self._tolerance)
        inside = vectors.T @ targets
        gains = np.zeros((len(ridges), len(values)))
        np.divide(signs, values + ridges[:, None], out=gains, where=values + ridges[:, None] > 0)
        return [vectors @ (gain.reshape(-1, *[1] * (inside.ndim - 1)) * inside) for gain in gains]
