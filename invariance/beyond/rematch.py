"""`REMatchKernel`: a kernel between sets whose points are matched in part."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..core import parameters as kinds
from ..core.parameters import ParameterError, stores_parameters
from .padded import PointSets
from .sets import KernelOfSets

Array = NDArray[Any]

#: Weights of the entropy fall by this factor, each with the last one's plan to begin with.
_WEIGHT_RATIO = 4.0
#: Relative error of a row's sum at which the next weight follows.
_TOL_OF_A_WEIGHT = 0.01
#: Least weight of the entropy, as a part of the largest value of a pair of sets: the match is the
#: best one, and with a smaller weight, rounding would lose the sums of the rows.
_LEAST_WEIGHT = 1e-10
#: Part of a row's sum that is added to Newton's matrix, which is singular if no mass can move.
_DAMPING = 1e-10
#: Largest change of a potential in one step: a factor of seven.
_LONGEST_STEP = 2.0
#: Steps that are assumed when a cost is estimated, and operations of one, for a pair of points.
_TYPICAL_STEPS = 8
_OPERATIONS_PER_STEP = 200


@stores_parameters
class REMatchKernel(KernelOfSets):
    r"""The kernel values of matched points, if each point may be matched to several in part.

    The regularised entropy match (REMatch) of De, Bartók, Csányi and Ceriotti (2016) of sets with m
    and m' points is

    .. math:: K(x, z) = \sum_{i, j} P_{ij} \, k_0(x_i, z_j), \qquad
        P = \operatorname*{arg\,max}_{P \ge 0}
        \sum_{i, j} P_{ij} \bigl( k_0(x_i, z_j) - \alpha \log P_{ij} \bigr),

    where the rows of P sum to 1/m and its columns to 1/m'. A large ``alpha`` gives the mean over
    all pairs (`SetKernel`), and a small one the best matching (`MatchingKernel`, for sets of equal
    size). With potentials f and g, :math:`\log P_{ij} = k_0(x_i, z_j) / \alpha + f_i + g_j`. They
    are found by Newton's method, first for larger weights and then for ``alpha``, so that nothing
    overflows, and the number of steps hardly grows as ``alpha`` falls.

    The kernel need not be positive definite: see `gram_report` and `GramTransformer`.

    Parameters
    ----------
    base : Kernel
        Kernel of points.
    alpha : float
        Weight of the entropy, in units of the base kernel's values.
    pooling : {"mean", "sum"}
        "sum" multiplies by the size of the larger set.
    tol : float
        The iteration ends once no row of P is off by more than this part of its sum.
    max_iter : int
        Largest number of steps for each weight of the entropy. A ConvergenceWarning is given where
        they do not suffice.
    normalize, n_coordinates, block_bytes, verbose : as in `SetKernel`

    Raises a ParameterError for sets without points, for incomplete or infinite points, and for
    labelled points, as P would match points of different labels.

    Examples
    --------
    >>> from invariance.kernels import Gaussian
    >>> from invariance.beyond import REMatchKernel, pad_sets
    >>> X = pad_sets([[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.1, 0.0]]])
    >>> REMatchKernel(Gaussian(1.0), alpha=0.01)(X).round(4)
    array([[1.   , 0.995],
           [0.995, 1.   ]])
    """

    _: KW_ONLY
    alpha: Annotated[float, kinds.Positive()] = 0.1
    tol: Annotated[float, kinds.Positive()] = 1e-6
    max_iter: Annotated[int, kinds.Whole(1)] = 200

    _cheaper = "SetKernel, which matches nothing"

    def _points(self, X: Array) -> PointSets:
        if self.labelled:
            raise ParameterError(
                "REMatchKernel needs labelled=False, got True: one plan matches all points; "
                "make the label a coordinate that the base kernel compares"
            )
        return super()._points(X)

    def _count_operations(self, x_sets: PointSets, z_sets: PointSets) -> float:
        n_pairs = float(len(x_sets.values) * len(z_sets.values))
        steps = _TYPICAL_STEPS * _OPERATIONS_PER_STEP * n_pairs
        return super()._count_operations(x_sets, z_sets) + steps

    def _between(self, x_sets: PointSets, z_sets: PointSets) -> Array:
        gram = super()._between(x_sets, z_sets)
        if self.pooling == "sum":
            gram *= np.maximum.outer(x_sets.counts, z_sets.counts)
        return gram

    def _pooled(
        self, x_sets: PointSets, z_sets: PointSets, values: Array, first_columns: Array
    ) -> Array:
        x_points, log_rows = _places(x_sets)
        z_points, log_columns = _places(z_sets)
        similarities = values[x_points[:, None, :, None], z_points[None, :, None, :]]
        is_needed = np.arange(len(z_sets)) >= first_columns[:, None]
        rows, columns = np.nonzero(is_needed)
        pooled = np.zeros(is_needed.shape, values.dtype)
        pooled[rows, columns] = matched_similarity(
            similarities[rows, columns].astype(float),
            log_rows[rows],
            log_columns[columns],
            self.alpha,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return pooled


def _places(sets: PointSets) -> tuple[Array, Array]:
    """Return, for each place in a set, the point there and the logarithm of its share.

    Both have shape (n, largest). Where a set has no point, the share is zero.
    """
    place = np.arange(sets.counts.max())
    counts = sets.counts[:, None]
    is_point = place < counts
    starts = sets.ends[:, None] - counts
    points = np.where(is_point, starts + place, 0)
    log_shares = np.where(is_point, -np.log(counts), -np.inf)
    return points, log_shares


def matched_similarity(
    similarities: Array,
    log_rows: Array,
    log_columns: Array,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
) -> Array:
    r"""Return :math:`\sum_{ij} P_{ij} S_{ij}` for the plan P of each of several pairs of sets.

    Parameters
    ----------
    similarities : ndarray of shape (n_pairs, m, m')
    log_rows, log_columns : ndarrays of shape (n_pairs, m) and (n_pairs, m')
        Logarithms of the sums of rows and columns; minus infinity where a set has no point.
    """
    if not len(similarities):
        return np.empty(0)
    least = np.maximum(alpha, _LEAST_WEIGHT * _largest_values(similarities, log_rows, log_columns))
    g = np.where(np.isfinite(log_columns), 0.0, -np.inf)
    last = float(least.min())
    for weight in _falling_weights(float(np.ptp(similarities)), last):
        is_last = weight == last
        # Each pair of sets stops at its own least weight, so that it does not depend on others.
        weights = np.maximum(weight, least)
        scaled = similarities / weights[:, None, None]
        f = log_rows - _log_sum_exp(scaled + g[:, None], axis=2)
        g = log_columns - _log_sum_exp(scaled + f[:, :, None], axis=1)
        for _ in range(max_iter):
            plans = np.exp(scaled + f[:, :, None] + g[:, None])
            errors = _errors_of_rows(plans, log_rows)
            if errors.max() <= (tol if is_last else _TOL_OF_A_WEIGHT):
                break
            f = f + _newton_step(plans, np.exp(log_rows), np.exp(log_columns))
            g = log_columns - _log_sum_exp(scaled + f[:, :, None], axis=1)
        if not is_last:
            # Only differences of g matter, and digits of a common part would be lost.
            g -= g.max(axis=1, keepdims=True)
            # The product of a potential and the weight stays.
            g *= (weights / np.maximum(weight / _WEIGHT_RATIO, least))[:, None]
    if errors.max() > tol:
        _warn(errors, tol, alpha, max_iter)
    return np.asarray(np.sum(plans * similarities, axis=(1, 2)))


def _largest_values(similarities: Array, log_rows: Array, log_columns: Array) -> Array:
    """Return the largest absolute value between points of each pair of sets, shape (n_pairs,)."""
    is_pair = np.isfinite(log_rows)[:, :, None] & np.isfinite(log_columns)[:, None]
    return np.asarray(np.abs(similarities).max(axis=(1, 2), where=is_pair, initial=0))


def _falling_weights(spread: float, alpha: float) -> Array:
    """Return weights of the entropy, from the range of the similarities down to ``alpha``."""
    n_larger = int(np.ceil(np.log(max(spread / alpha, 1.0)) / np.log(_WEIGHT_RATIO)))
    return alpha * _WEIGHT_RATIO ** np.arange(n_larger, -1, -1)


def _errors_of_rows(plans: Array, log_rows: Array) -> Array:
    """Return the largest relative error of the sums of a plan's rows, shape (n_pairs,)."""
    shares = np.exp(log_rows)
    errors = np.abs(plans.sum(axis=2) - shares)
    np.divide(errors, shares, where=shares > 0, out=errors)
    return np.asarray(errors.max(axis=1))


def _newton_step(plans: Array, shares: Array, column_shares: Array) -> Array:
    r"""Return the change of f, if g follows so that the columns keep their sums.

    With the columns' sums b, the derivative of the rows' sums r is

    .. math:: \operatorname{diag}(r) - P \operatorname{diag}(b)^{-1} P^\top .

    It is singular, as a constant may move from f to g, so a matrix of equal entries is added.
    """
    sums = plans.sum(axis=2)
    weights = np.divide(
        1.0, column_shares, where=column_shares > 0, out=np.zeros_like(column_shares)
    )
    derivative = -(plans * weights[:, None]) @ plans.swapaxes(1, 2)
    derivative += shares[:, :, None] * shares[:, None]
    diagonal = np.arange(plans.shape[1])
    derivative[:, diagonal, diagonal] += np.where(shares > 0, (1 + _DAMPING) * sums, 1.0)
    step = np.linalg.solve(derivative, (shares - sums)[..., None])[..., 0]
    return np.asarray(np.clip(step, -_LONGEST_STEP, _LONGEST_STEP))


def _log_sum_exp(exponents: Array, axis: int) -> Array:
    """Return the logarithm of sums of exponentials; ``exponents`` are overwritten."""
    largest = exponents.max(axis=axis, keepdims=True)
    exponents -= largest
    np.exp(exponents, out=exponents)
    return np.log(exponents.sum(axis=axis)) + largest.squeeze(axis)


def _warn(errors: Array, tol: float, alpha: float, max_iter: int) -> None:
    """Warn of pairs of sets that need more steps."""
    warnings.warn(
        f"REMatchKernel: after max_iter={max_iter} steps the plans of {np.sum(errors > tol)} pairs "
        f"of sets are off by up to {errors.max():.0e} of a row's sum; raise alpha={alpha:g}, "
        "max_iter or tol",
        ConvergenceWarning,
        stacklevel=2,
    )
