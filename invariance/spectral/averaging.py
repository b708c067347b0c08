"""`SpectralAveraging`: regression that is exactly invariant, at the price of the generators."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import lstsq
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..core import parameters as kinds
from ..core.arrays import validate_data
from ..core.parameters import ParameterError, check_parameters, stores_parameters
from ..groups.base import GROUP, Transformations
from ..linear.ridge import fit_ridge
from ..theory import soleymani2025 as theory
from .actions import Actions, Symmetry
from .base import BASIS, Basis, OracleCalls, block_diagonal
from .expansion import Expansion
from .projection import invariant_vectors
from .torus import Torus

#: Eigenfunctions among which a cutoff is sought, if the generators permute a frame.
SEARCHED = 10_000

#: Eigenfunctions among which a cutoff is sought, if the generators mix a frame.
SEARCHED_MIXING = 2_000

#: Invariant functions among which a cutoff is sought; never more than samples.
SEARCHED_INVARIANT = 500


@stores_parameters
class SpectralAveraging(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Spec-Avg: an expansion in eigenfunctions that is exactly invariant under a group.

    Keep the eigenspaces with :math:`D_\lambda \le D`, estimate the coefficients, and project
    them, an eigenspace at a time, onto the invariant subspace that the group's *generators* cut
    out (Soleymani et al. 2025, algorithm 1). Only the coefficients of an orthonormal basis of the
    invariant functions are computed, which is the same.

    By default they come from ridge regression, penalty and cutoff from leave-one-out, to which the
    variance of the coefficients is added. The paper's: ``estimator="mean", cutoff="theorem"``.

    Parameters
    ----------
    basis : Basis, optional
        The manifold. Default: `Torus` with as many dimensions as X has features (coordinates are
        read modulo 2). A truncated basis is taken as it is when neither ``degree`` nor ``cutoff``
        says otherwise.
    group : FiniteGroup or continuous group, optional
        Acts on the manifold by isometries. Default: the trivial group.
    degree : int, optional
        Label of the highest eigenspace kept (polynomial degree on the sphere, frequency on the
        circle, squared norm of the frequency vector on the torus).
    cutoff : float or "theorem", optional
        Or else the number D of eigenfunctions, rounded down to whole eigenspaces with a warning.
        "theorem" is :math:`D = n^{1/(1+\alpha)}` with :math:`\alpha = 2s/d`. When neither is
        given, "ridge" chooses by leave-one-out among at most `SEARCHED` eigenfunctions and
        `SEARCHED_INVARIANT` invariant ones; other estimators take "theorem".
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
        :math:`\frac1n \sum_i (y_i - f(x_i))^2 + \alpha |f|^2`. Default: 1e-10 to 1e2, four a
        decade.
    outputs : group, optional
        How the columns of y turn where they are coordinates of vectors: its elements are written
        as those of ``group`` and act on rows of y. The fitted function is then exactly
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
            A weight counts as so many copies of its sample.
        """
        check_parameters(self)
        points, labels = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, multi_output=True
        )
        labels = labels.astype(float)
        weights = _check_sample_weight(sample_weight, points, dtype=float, ensure_non_negative=True)
        total = float(weights.sum())
        if not total > 0:
            raise ParameterError("sample_weight must hold a positive weight, all of them are zero")
        # In a unit in which squares of targets neither overflow nor vanish; it rounds nothing.
        _, exponent = np.frexp(np.abs(labels).max())
        targets = np.ldexp(labels, -exponent).reshape(len(labels), -1)
        p = 1 if self.outputs is None else targets.shape[1]
        if self.outputs is not None:
            targets = targets.reshape(-1, 1)
        manifold: Basis = Torus(points.shape[1]) if self.basis is None else self.basis
        manifold.check_points(points)
        message = manifold.outside(points)
        if message is not None:
            warnings.warn(message, UserWarning, stacklevel=2)
        used = np.repeat(weights, p)

        self.oracle_calls_ = OracleCalls()
        manifold, searched = self._truncated(manifold, total)
        most = p * int(np.count_nonzero(weights))
        self._find_functions(manifold, p, min(SEARCHED_INVARIANT, most) if searched else None)
        self._check_number(most)
        features = self._features(points, self.oracle_calls_)
        if self.estimator == "ridge":
            solution = self._solve_ridge(features, targets, used, searched)
        else:
            solution = self._solve(features, targets, used, total)
        coefficients = np.ldexp(self.vectors_ @ solution, exponent)
        self.coef_ = coefficients.reshape(-1, *labels.shape[1:])
        return self

    def _truncated(self, manifold: Basis, n_samples: float) -> tuple[Basis, bool]:
        """The basis, and whether its cutoff remains to be chosen by leave-one-out."""
        d, cutoff = manifold.manifold_dimension, self.cutoff
        smoothness = d / 2 + 1 if self.smoothness is None else float(self.smoothness)
        if smoothness <= d / 2:
            says = f"smoothness={smoothness:g} is at most half the manifold's dimension, {d / 2:g}"
            warnings.warn(f"{says}: the theorem does not cover it", UserWarning, stacklevel=3)
        if cutoff is None and self.degree is None:
            if manifold.degree is not None or self.estimator == "ridge":
                return manifold, manifold.degree is None
        elif not isinstance(cutoff, str):
            return manifold.truncate(self.degree, cutoff), False
        elif self.degree is not None:
            raise ParameterError(f"give degree or cutoff, not both ({self.degree}, {cutoff})")
        if n_samples < 1:
            wrong = f"sample_weight sums to {n_samples:.3g}: weights count as so many copies"
            raise ParameterError(f"{wrong}; multiply them, or give degree or cutoff")
        cutoff = theory.cutoff(n_samples, smoothness, d=d)
        return manifold.truncate(cutoff=cutoff, warn=False), False

    def _find_functions(self, manifold: Basis, p: int, most: int | None) -> None:
        """Find orthonormal invariant vectors of each eigenspace, in all at most ``most``.

        If ``most`` is None, the basis has an end and all its eigenspaces are taken. Otherwise the
        basis is extended in steps, each to twice as many functions.
        """
        symmetry = None
        if self.group is not None or len(manifold.exchanges()[0]):
            symmetry = Symmetry.generated(manifold, self.group, self.outputs, p)
        spaces: list[Any] = []
        if most is None:
            basis = manifold
            for k in range(len(basis.labels_)):
                spaces.append(self._invariant_vectors(basis, k, symmetry, p))
        else:
            basis = self._search_functions(manifold, p, symmetry, most, spaces)
        self.basis_ = basis
        self.invariant_dimensions_ = np.array([vectors.shape[1] for vectors in spaces])
        self.vectors_ = block_diagonal([sparse.csr_array(vectors) for vectors in spaces])

    def _search_functions(
        self, manifold: Basis, p: int, symmetry: Symmetry | None, most: int, spaces: list[Any]
    ) -> Basis:
        """Append the invariant vectors of eigenspaces to a list, and return their basis."""
        n_invariant = 0
        size = 2 * most
        while True:
            basis = manifold.truncate(cutoff=min(size, SEARCHED), warn=False)
            for k in range(len(spaces), len(basis.labels_)):
                vectors = self._invariant_vectors(basis, k, symmetry, p, limited=k > 0)
                if vectors is not None:
                    n_invariant += vectors.shape[1]
                if k and (vectors is None or n_invariant > most):
                    return basis.truncate(degree=basis.labels_[k - 1])
                spaces.append(vectors)
            if size >= SEARCHED:
                return basis
            size *= 2

    def _invariant_vectors(
        self, basis: Basis, k: int, symmetry: Symmetry | None, p: int, *, limited: bool = False
    ) -> Any:
        """Invariant vectors of an eigenspace; None if ``limited`` and the search ends before it."""
        if symmetry is None:
            return sparse.eye_array(basis.dimensions_[k] * p, format="csc")
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
        """Values of the invariant functions, shape (n, r), or (n p, r) of p outputs that turn."""
        D, r = self.basis_.n_functions_, self.vectors_.shape[1]
        p, weights = self.vectors_.shape[0] // D, self.vectors_
        if p > 1:  # the outputs of a function side by side
            weights = sparse.csr_array(weights.reshape((D, p * r)))
        return self.basis_._combined(X, weights, calls).reshape(p * len(X), r)

    def _sobolev_scale(self) -> NDArray:
        """D_lambda^(-alpha/2) for each non-constant invariant function."""
        counts = np.repeat(self.basis_.counts_[1:], self.invariant_dimensions_[1:])
        if self.smoothness is None:
            return np.ones(len(counts))
        return counts ** (-theory.alpha(self.smoothness, self.basis_.manifold_dimension) / 2)

    def _solve_ridge(
        self, features: NDArray, targets: NDArray, weights: NDArray, searched: bool
    ) -> NDArray:
        """Coefficients of the invariant functions, shape (r, t), up to the best cutoff."""
        m = int(self.invariant_dimensions_[0])
        scale = self._sobolev_scale()
        constant = features[:, :m]
        varying = features[:, m:] * scale
        if self.alphas is None:
            alphas = np.logspace(-10, 2, 49)
        else:
            alphas = np.asarray(self.alphas, dtype=float)
        p = self.vectors_.shape[0] // self.basis_.n_functions_  # squares are sums over p outputs
        n_varying = varying.shape[1]
        counts = np.cumsum(self.invariant_dimensions_) - m
        cutoffs = [0] if searched else [n_varying]
        # A cutoff that adds hardly any function to the last one is skipped.
        for count in counts[1:]:
            is_larger = count == n_varying or count >= 1.15 * cutoffs[-1]
            if count > cutoffs[-1] and is_larger:
                cutoffs.append(int(count))
        fits = {}
        for count in cutoffs:
            squares = scale[:count] ** 2 / p if searched else None
            fits[count] = fit_ridge(
                constant, varying[:, :count], targets, weights, alphas / p, squares
            )
        best = min(fits, key=lambda count: fits[count].error)
        if best < n_varying:
            spaces = 1 + int(np.argmax(counts >= best))
            self.basis_ = self.basis_.truncate(degree=self.basis_.labels_[spaces - 1])
            self.invariant_dimensions_ = self.invariant_dimensions_[:spaces]
            size = p * self.basis_.n_functions_
            self.vectors_ = self.vectors_[:size, : m + best]
        self.alpha_ = fits[best].alpha * p
        constants = fits[best].coefficients[:m]
        shrunk = fits[best].coefficients[m:]
        return np.concatenate([constants, shrunk * scale[:best, None]])

    def _solve(
        self, features: NDArray, targets: NDArray, weights: NDArray, total: float
    ) -> NDArray:
        """The same by one of the other estimators; ``total`` counts the samples."""
        if self.estimator == "mean":
            return features.T @ (weights[:, None] * targets) / total
        root = np.sqrt(weights)[:, None]
        if self.estimator == "least_squares":
            return np.asarray(lstsq(root * features, root * targets)[0])
        free = features[:, : self.invariant_dimensions_[0]]
        offset = np.asarray(lstsq(root * free, root * targets)[0])
        gaps = weights[:, None] * (targets - free @ offset)
        return np.concatenate([offset, features[:, free.shape[1] :].T @ gaps / total])

    @property
    def expansion_(self) -> Expansion:
        """The fitted function."""
        check_is_fitted(self)
        return Expansion(self.basis_, self.coef_)

    def predict(self, X: ArrayLike) -> NDArray:
        """Values at points X of shape (n, n_features), shape (n,) or (n, t)."""
        check_is_fitted(self)
        points: NDArray = validate_data(self, X, dtype=np.float64, reset=False)
        return self.expansion_.predict(points)

    def discrepancy(self, X: ArrayLike, *, relative: bool = True, **options: Any) -> float:
        """`invariance_discrepancy` (with its options) of the fitted function.

        By default relative to its largest value. Under the group and, on a basis with exchangeable
        factors, under their exchange; the worst of several outputs.
        """
        options |= {"outputs": self.outputs, "relative": relative}
        return self.expansion_.discrepancy(X, self.group, **options)
