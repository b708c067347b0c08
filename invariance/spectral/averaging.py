"""`SpectralAveraging`: regression that is exactly invariant, at the cost of the generators."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import lstsq
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..core import parameters as kinds
from ..core.arrays import validate_data
from ..core.parameters import ParameterError, check_parameters, stores_parameters
from ..groups.base import GROUP, Transformations
from ..linear.classes import checked_weights
from ..linear.ridge import fit_ridge
from ..theory import soleymani2025 as theory
from .actions import Actions, Symmetry
from .base import BASIS, Basis, OracleCalls, block_diagonal
from .expansion import Expansion
from .projection import invariant_vectors
from .torus import Torus

#: Number of eigenfunctions among which a cutoff is searched, if the generators permute a frame.
SEARCHED = 10_000

#: Number of eigenfunctions among which a cutoff is searched, if the generators mix a frame.
SEARCHED_MIXING = 2_000

#: Number of invariant functions among which a cutoff is searched, at most that of the samples.
SEARCHED_INVARIANT = 500


@stores_parameters
class SpectralAveraging(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Spec-Avg: an expansion in eigenfunctions that is exactly invariant under a group.

    Keep the eigenspaces with :math:`D_\lambda \le D`, estimate the coefficients, and project
    them, one eigenspace at a time, onto the invariant subspace that the group's *generators*
    define (Soleymani et al. 2025, algorithm 1). Only the coefficients of an orthonormal basis of
    the invariant functions are computed, which is the same.

    By default they come from ridge regression. Penalty and cutoff are chosen by the leave-one-out
    error plus the variance of the coefficients. The paper takes ``estimator="mean",
    cutoff="theorem"``.

    Parameters
    ----------
    basis : Basis, optional
        The manifold. Default: `Torus` with as many dimensions as X has features (coordinates are
        read modulo 2). A truncated basis is taken as it is, unless ``degree`` or ``cutoff`` is
        given.
    group : FiniteGroup or continuous group, optional
        Acts on the manifold by isometries. Default: the trivial group.
    degree : int, optional
        Label of the highest eigenspace kept (polynomial degree on the sphere, frequency on the
        circle, squared norm of the frequency vector on the torus).
    cutoff : float or "theorem", optional
        Instead of ``degree``: the number D of eigenfunctions, rounded down to whole eigenspaces
        with a warning. "theorem" is :math:`D = n^{1/(1+\alpha)}` with :math:`\alpha = 2s/d`. When
        neither is given, "ridge" chooses by leave-one-out among at most `SEARCHED` eigenfunctions
        and `SEARCHED_INVARIANT` invariant ones; other estimators take "theorem".
    smoothness : float, optional
        The Sobolev exponent s; default s = d/2 + 1. If given it also shapes the penalty of "ridge".
    estimator : {"ridge", "mean", "centered", "least_squares"}
        "ridge": least squares within the invariant subspace, with a penalty chosen by
        leave-one-out, on :math:`\sum_\lambda D_\lambda^\alpha |f_\lambda|^2` when ``smoothness``
        is given and on :math:`|f|^2` otherwise. "mean": as published, :math:`\tilde f = \frac1n
        \sum_i y_i \phi(x_i)` (eq. 1). "centered": the same after subtracting the mean of y.
        "least_squares": without a penalty. Any other learner can be fitted to the values of the
        invariant functions, ``model.basis_.combine(X, model.vectors_)``.
    alphas : array-like, optional
        Candidates for "ridge", on the scale of `invariance.linear`: minimise
        :math:`\frac1n \sum_i (y_i - f(x_i))^2 + \alpha |f|^2`. Default: 1e-10 to 1e2, four per
        decade.
    outputs : group, optional
        The action on rows of y, if these are vectors: its elements are written as those of
        ``group``. The fitted function is then exactly
        *equivariant*, f(g x) = g f(x); see `project`. "ridge" leaves out one value at a time.

    Attributes
    ----------
    basis_ : Basis
        The truncated basis; ``basis_.n_functions_`` is the effective cutoff D.
    invariant_dimensions_ : ndarray of shape (K,)
        Invariant functions in each kept eigenspace.
    coef_ : ndarray of shape (D,) or (D, t)
        Coefficients in the full basis; they are invariant. One column per output.
    vectors_ : sparse array of shape (D, r)
        Orthonormal basis of the invariant subspace; (D t, r) with ``outputs``.
    alpha_ : float
        The chosen alpha ("ridge" only).
    oracle_calls_ : OracleCalls
        Calls made by `fit`.

    Raises
    ------
    ParameterError
        For points off the manifold, a group that does not act on it, or "least_squares" with more
        invariant functions than samples.

    Examples
    --------
    >>> from invariance.groups import Permutations
    >>> from invariance.spectral import Sphere, SpectralAveraging
    >>> X = Sphere(30).sample(500, random_state=0)
    >>> y = (X**3).sum(axis=1)
    >>> model = SpectralAveraging(Sphere(30), Permutations(30)).fit(X, y)
    >>> model.invariant_dimensions_                        # Permutations(30).order is 30!
    array([1, 1, 1, 2])
    >>> bool(model.discrepancy(X) < 1e-12), round(model.score(X, y), 6)
    (True, 1.0)
    """

    basis: Annotated[Basis | None, BASIS | None] = None
    group: Annotated[Transformations | None, GROUP | None] = None
    _: KW_ONLY
    degree: Annotated[float | None, kinds.Number(0) | None] = None
    cutoff: Annotated[float | str | None, kinds.Number(1) | kinds.OneOf("theorem") | None] = None
    smoothness: Annotated[float | None, kinds.Positive() | None] = None
    estimator: Annotated[str, kinds.OneOf("mean", "centered", "least_squares", "ridge")] = "ridge"
    alphas: Annotated[ArrayLike | None, kinds.Array(ndim=1, above=0) | None] = None
    outputs: Annotated[Transformations | None, GROUP | None] = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # The default basis is periodic, which scikit-learn's linear test problem is not.
        tags.regressor_tags.poor_score = True
        return tags

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SpectralAveraging:
        """Estimate the invariant coefficients.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points of the manifold, uniform; others weighted by the inverse of their density.
        y : array-like of shape (n,) or (n, t)
        sample_weight : array-like of shape (n,), optional
            A weight counts as so many copies of its sample. For "ridge" this holds at one alpha and
            cutoff; others may be chosen, because a copy that stays gives away the one that is left
            out.
        """
        check_parameters(self)
        points, labels = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, multi_output=True
        )
        labels = labels.astype(float)
        weights = checked_weights(sample_weight, points)
        n_samples = float(weights.sum())
        if not n_samples > 0:
            raise ParameterError("sample_weight must hold a positive weight, all of them are zero")
        targets = labels.reshape(len(labels), -1)
        targets = np.where(weights[:, None] > 0, targets, 0.0)
        # Division by a power of two rounds nothing, and squares of the quotients do not overflow.
        _, exponent = np.frexp(np.abs(targets).max())
        targets = np.ldexp(targets, -exponent)
        n_outputs = 1
        if self.outputs is not None:
            n_outputs = targets.shape[1]
            targets = targets.reshape(-1, 1)
        manifold: Basis = Torus(points.shape[1])
        if self.basis is not None:
            # A copy: changes of the basis after fitting must not change the fitted model.
            manifold = clone(self.basis, safe=False)
        manifold.check_points(points)
        message = manifold.outside(points)
        if message is not None:
            warnings.warn(message, UserWarning, stacklevel=2)

        self.oracle_calls_ = OracleCalls()
        manifold, searches = self._truncated(manifold, n_samples)
        n_values = n_outputs * int(np.count_nonzero(weights))
        limit = min(SEARCHED_INVARIANT, n_values) if searches else None
        self._find_functions(manifold, n_outputs, limit)
        self._check_number(n_values)
        features = self._features(points, self.oracle_calls_)
        value_weights = np.repeat(weights, n_outputs)
        if self.estimator == "ridge":
            solution = self._solve_ridge(features, targets, value_weights, searches)
        else:
            solution = self._solve(features, targets, value_weights, n_samples)
        coefficients = np.ldexp(self.vectors_ @ solution, exponent)
        self.coef_ = coefficients.reshape(-1, *labels.shape[1:])
        return self

    def _truncated(self, manifold: Basis, n_samples: float) -> tuple[Basis, bool]:
        """Return the basis, and whether its cutoff remains to be chosen by leave-one-out."""
        d = manifold.manifold_dimension
        cutoff = self.cutoff
        smoothness = d / 2 + 1 if self.smoothness is None else float(self.smoothness)
        if smoothness <= d / 2:
            message = (
                f"smoothness={smoothness:g} is at most half the manifold's dimension, {d / 2:g}: "
                "the theorem does not cover it"
            )
            warnings.warn(message, UserWarning, stacklevel=3)
        if cutoff is None and self.degree is None:
            if manifold.degree is not None:
                return manifold, False
            if self.estimator == "ridge":
                return manifold, True
        elif not isinstance(cutoff, str):
            return manifold.truncate(self.degree, cutoff), False
        elif self.degree is not None:
            raise ParameterError(f"give degree or cutoff, not both ({self.degree}, {cutoff})")
        if n_samples < 1:
            raise ParameterError(
                f"sample_weight sums to {n_samples:.3g}: weights count as so many copies; multiply "
                "them, or give degree or cutoff"
            )
        cutoff = theory.cutoff(n_samples, smoothness, d=d)
        return manifold.truncate(cutoff=cutoff, warn=False), False

    def _find_functions(self, manifold: Basis, n_outputs: int, limit: int | None) -> None:
        """Compute orthonormal invariant vectors of each eigenspace, in all at most ``limit``.

        If ``limit`` is None, the basis is finite and all its eigenspaces are taken. Otherwise the
        basis is extended in steps, each to twice as many functions.
        """
        symmetry = None
        exchanges, _ = manifold.exchanges()
        if self.group is not None or len(exchanges):
            symmetry = Symmetry.generated(manifold, self.group, self.outputs, n_outputs)
        spaces: list[Any] = []
        if limit is None:
            basis = manifold
            for k in range(len(basis.labels_)):
                spaces.append(self._invariant_vectors(basis, k, symmetry, n_outputs))
        else:
            basis = self._search_functions(manifold, n_outputs, symmetry, limit, spaces)
        self.basis_ = basis
        self.invariant_dimensions_ = np.array([vectors.shape[1] for vectors in spaces])
        self.vectors_ = block_diagonal([sparse.csr_array(vectors) for vectors in spaces])

    def _search_functions(
        self,
        manifold: Basis,
        n_outputs: int,
        symmetry: Symmetry | None,
        limit: int,
        spaces: list[Any],
    ) -> Basis:
        """Append the invariant vectors of eigenspaces to a list, and return their basis."""
        n_invariant = 0
        cutoff = 2 * limit
        while True:
            basis = manifold.truncate(cutoff=min(cutoff, SEARCHED), warn=False)
            for k in range(len(spaces), len(basis.labels_)):
                vectors = self._invariant_vectors(basis, k, symmetry, n_outputs, limited=k > 0)
                if vectors is not None:
                    n_invariant += vectors.shape[1]
                if k > 0 and (vectors is None or n_invariant > limit):
                    return basis.truncate(degree=basis.labels_[k - 1])
                spaces.append(vectors)
            if cutoff >= SEARCHED:
                return basis
            cutoff *= 2

    def _invariant_vectors(
        self,
        basis: Basis,
        k: int,
        symmetry: Symmetry | None,
        n_outputs: int,
        *,
        limited: bool = False,
    ) -> Any:
        """Return invariant vectors of eigenspace k.

        With ``limited``, the result is None if the search ends before this eigenspace.
        """
        if symmetry is None:
            return sparse.eye_array(basis.dimensions_[k] * n_outputs, format="csc")
        actions = Actions(basis, k, symmetry, self.oracle_calls_)
        if limited and actions.mixing and basis.counts_[k] > SEARCHED_MIXING:
            return None
        return invariant_vectors(actions)

    def _check_number(self, n_samples: int) -> None:
        """Warn about too many invariant functions, or about the constant one alone."""
        n_invariant = self.vectors_.shape[1]
        n_constant = int(self.invariant_dimensions_[0])
        n_functions = self.basis_.n_functions_
        state = f"the cutoff keeps {n_invariant} invariant functions ({n_functions} eigenfunctions)"
        if n_invariant == n_constant and self.degree != 0:
            message = (
                f"{state}, so that the model can only be constant: give a higher degree, or no "
                "degree and cutoff and estimator='ridge', which searches"
            )
            warnings.warn(message, UserWarning, stacklevel=3)
        if n_invariant <= n_samples:
            return
        message = (
            f"{state}, more than the {n_samples} samples: expect a large error unless the "
            "estimator shrinks it; lower the degree, or take 'ridge'"
        )
        if self.estimator == "least_squares":
            raise ParameterError(message)
        warnings.warn(message, UserWarning, stacklevel=3)

    def _features(self, X: NDArray, calls: OracleCalls | None = None) -> NDArray:
        """Return the values of the invariant functions, shape (n, r).

        With p outputs the shape is (n p, r), the outputs of a point one after the other.
        """
        n_functions = self.basis_.n_functions_
        n_invariant = self.vectors_.shape[1]
        n_outputs = self._n_outputs()
        weights = self.vectors_
        if n_outputs > 1:
            # The outputs of a function become columns, side by side.
            weights = sparse.csr_array(weights.reshape((n_functions, n_outputs * n_invariant)))
        values = self.basis_._combined(X, weights, calls)
        return values.reshape(n_outputs * len(X), n_invariant)

    def _n_outputs(self) -> int:
        """Number of outputs on which the group acts; 1 if it acts on points only."""
        return self.vectors_.shape[0] // self.basis_.n_functions_

    def _sobolev_scale(self) -> NDArray:
        """D_lambda^(-alpha/2) for each non-constant invariant function."""
        counts = np.repeat(self.basis_.counts_[1:], self.invariant_dimensions_[1:])
        if self.smoothness is None:
            return np.ones(len(counts))
        alpha = theory.alpha(self.smoothness, self.basis_.manifold_dimension)
        return counts ** (-alpha / 2)

    def _solve_ridge(
        self, features: NDArray, targets: NDArray, weights: NDArray, searches: bool
    ) -> NDArray:
        """Return coefficients of the invariant functions, shape (r, t), up to the best cutoff."""
        n_constant = int(self.invariant_dimensions_[0])
        n_outputs = self._n_outputs()
        scale = self._sobolev_scale()
        constant = features[:, :n_constant]
        varying = features[:, n_constant:] * scale
        if self.alphas is None:
            alphas = np.logspace(-10, 2, 49)
        else:
            alphas = np.asarray(self.alphas, dtype=float)
        counts = np.cumsum(self.invariant_dimensions_) - n_constant
        fits = {}
        for count in _cutoffs(counts, searches):
            # Squares of values are sums over the outputs.
            squares = scale[:count] ** 2 / n_outputs if searches else None
            fits[count] = fit_ridge(
                constant, varying[:, :count], targets, weights, alphas / n_outputs, squares
            )
        best = min(fits, key=lambda count: fits[count].error)
        if best < varying.shape[1]:
            n_spaces = 1 + int(np.argmax(counts >= best))
            self.basis_ = self.basis_.truncate(degree=self.basis_.labels_[n_spaces - 1])
            self.invariant_dimensions_ = self.invariant_dimensions_[:n_spaces]
            n_rows = n_outputs * self.basis_.n_functions_
            self.vectors_ = self.vectors_[:n_rows, : n_constant + best]
        self.alpha_ = fits[best].alpha * n_outputs
        coefficients = fits[best].coefficients
        rescaled = coefficients[n_constant:] * scale[:best, None]
        return np.concatenate([coefficients[:n_constant], rescaled])

    def _solve(
        self, features: NDArray, targets: NDArray, weights: NDArray, n_samples: float
    ) -> NDArray:
        """Return coefficients of the invariant functions by an estimator other than "ridge"."""
        if self.estimator == "mean":
            return features.T @ (weights[:, None] * targets) / n_samples
        roots = np.sqrt(weights)[:, None]
        if self.estimator == "least_squares":
            return np.asarray(lstsq(roots * features, roots * targets)[0])
        n_constant = self.invariant_dimensions_[0]
        constant = features[:, :n_constant]
        offset = np.asarray(lstsq(roots * constant, roots * targets)[0])
        residuals = weights[:, None] * (targets - constant @ offset)
        means = features[:, n_constant:].T @ residuals / n_samples
        return np.concatenate([offset, means])

    @property
    def expansion_(self) -> Expansion:
        """The fitted function."""
        check_is_fitted(self)
        return Expansion(self.basis_, self.coef_)

    def predict(self, X: ArrayLike) -> NDArray:
        """Return values at points X of shape (n, n_features), shape (n,) or (n, t)."""
        check_is_fitted(self)
        points: NDArray = validate_data(self, X, dtype=np.float64, reset=False)
        return self.expansion_.predict(points)

    def discrepancy(self, X: ArrayLike, *, relative: bool = True, **options: Any) -> float:
        """Return `invariance_discrepancy` (with its options) of the fitted function.

        By default it is relative to the largest value. It covers the group, the exchanges of
        factors of the basis, and all outputs.
        """
        return self.expansion_.discrepancy(
            X, self.group, outputs=self.outputs, relative=relative, **options
        )


def _cutoffs(counts: NDArray, searches: bool) -> list[int]:
    """Return the numbers of varying invariant functions to compare by leave-one-out.

    ``counts`` are those up to each eigenspace. A cutoff that adds hardly any function to the one
    before it is skipped.
    """
    n_varying = int(counts[-1])
    if not searches:
        return [n_varying]
    cutoffs = [0]
    for count in map(int, counts[1:]):
        is_larger = count == n_varying or count >= 1.15 * cutoffs[-1]
        if count > cutoffs[-1] and is_larger:
            cutoffs.append(count)
    return cutoffs
