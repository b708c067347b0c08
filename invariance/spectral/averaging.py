"""`SpectralAveraging`: regression that is exactly invariant, at the price of the generators."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import lstsq
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import RidgeCV
from sklearn.utils.validation import check_is_fitted, validate_data

from ..groups import FiniteGroup
from ..groups.base import check_transformations
from ..theory import soleymani2025 as theory
from .base import Basis, OracleCalls
from .discrepancy import invariance_discrepancy
from .expansion import Expansion
from .projection import invariant_subspace
from .torus import Torus

__all__ = ["SpectralAveraging"]

ESTIMATORS = ("mean", "centered", "least_squares", "ridge")


class SpectralAveraging(RegressorMixin, BaseEstimator):
    r"""Spec-Avg: an expansion in eigenfunctions that is exactly invariant under a finite group.

    Keep the eigenspaces with :math:`D_\lambda \le D`, estimate the coefficients, and project
    them, an eigenspace at a time, onto the invariant subspace that the group's *generators* cut
    out (Soleymani et al. 2025, algorithm 1). Because the primary estimate ``mean`` is linear,
    projecting it equals estimating only the coefficients of an orthonormal basis of the invariant
    functions, and that is how every estimator is computed: nothing is ever estimated outside
    the invariant subspace, and a prediction is one evaluation of the basis.

    Parameters
    ----------
    basis : Basis, optional
        The manifold. Default: `Torus` with as many dimensions as X has features, on which every
        real point lies (coordinates are read modulo 2). A truncated basis is taken as it is when
        no ``degree``, ``cutoff`` or ``smoothness`` says otherwise.
    group : FiniteGroup, optional
        Acts on the manifold by isometries. Default: the trivial group, so no invariance.
    degree : int, optional
        Label of the highest eigenspace kept (polynomial degree on the sphere, frequency on the
        circle, squared norm of the frequency vector on the torus).
    cutoff : float, optional
        Or else the number D of eigenfunctions, rounded down to whole eigenspaces with a warning.
    smoothness : float, optional
        Or else the Sobolev exponent s: the cutoff is :math:`D = n^{1/(1+\alpha)}` with
        :math:`\alpha = 2s/d`. When none of the three is given, s = d/2 + 1. Together with
        ``degree`` or ``cutoff`` it only shapes the penalty of ``ridge``.
    estimator : {"mean", "centered", "least_squares", "ridge"} or linear regressor
        "mean": as published, :math:`\tilde f = \frac1n \sum_i y_i \phi(x_i)` (eq. 1).
        "centered": the same after subtracting the mean of y, which otherwise leaks into every
        coefficient. "least_squares": least squares within the invariant subspace. "ridge": the
        same with a penalty chosen by leave-one-out, on :math:`\sum_\lambda D_\lambda^\alpha
        |f_\lambda|^2` when ``smoothness`` is given and on :math:`|f|^2` otherwise. Or any
        scikit-learn regressor with ``coef_`` and ``intercept_``, such as ``LassoCV()``, fitted to
        the values of the invariant functions.
    penalties : array-like, optional
        Candidates for "ridge", per sample. Default: 1e-10 to 1e2, four a decade.
    method : {"auto", "components", "null_space"}
        How the invariant subspace is found; see `project`.

    Attributes
    ----------
    basis_ : Basis
        The truncated basis; ``basis_.n_functions_`` is the effective cutoff D.
    invariant_dimensions_ : ndarray of shape (K,)
        Invariant functions in each kept eigenspace.
    coef_ : ndarray of shape (D,)
        Coefficients in the full basis; they are invariant.
    vectors_ : sparse array of shape (D, r)
        Orthonormal basis of the invariant subspace.
    penalty_ : float
        Chosen penalty per sample ("ridge" only).
    estimator_ : estimator
        The fitted linear regressor, where one was given.
    oracle_calls_ : OracleCalls
        Calls made by `fit`.

    Raises
    ------
    ValueError
        For points off the manifold, a group that does not act on it, both ``degree`` and
        ``cutoff``, or "least_squares" with more invariant functions than samples.

    Warns
    -----
    UserWarning
        For s <= d/2, which the theorem does not cover, for a cutoff inside an eigenspace, and for
        more invariant functions than samples.

    Examples
    --------
    >>> from invariance.groups import Permutations
    >>> from invariance.spectral import Sphere, SpectralAveraging
    >>> X = Sphere(30).sample(500, random_state=0)
    >>> y = (X**3).sum(axis=1)
    >>> model = SpectralAveraging(Sphere(30), Permutations(30), degree=3, estimator="ridge")
    >>> model.fit(X, y).invariant_dimensions_              # Permutations(30).order is 30!
    array([1, 1, 1, 2])
    >>> bool(model.discrepancy(X) < 1e-12), round(model.score(X, y), 6)
    (True, 1.0)
    """

    def __init__(
        self,
        basis: Basis | None = None,
        group: FiniteGroup | None = None,
        degree: int | None = None,
        cutoff: float | None = None,
        smoothness: float | None = None,
        estimator: str | RegressorMixin = "mean",
        penalties: ArrayLike | None = None,
        method: str = "auto",
    ):
        self.basis = basis
        self.group = group
        self.degree = degree
        self.cutoff = cutoff
        self.smoothness = smoothness
        self.estimator = estimator
        self.penalties = penalties
        self.method = method

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # The default basis is periodic, which scikit-learn's linear test problem is not.
        tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> SpectralAveraging:
        """Estimate the invariant coefficients.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points of the manifold, assumed uniform.
        y : array-like of shape (n,)
        """
        if isinstance(self.estimator, str) and self.estimator not in ESTIMATORS:
            raise ValueError(
                f"estimator must be one of {ESTIMATORS} or a linear regressor, "
                f"got {self.estimator!r}"
            )
        if self.group is not None:
            check_transformations(type(self).__name__, self.group)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        y = y.astype(float)
        manifold = Torus(X.shape[1]) if self.basis is None else self.basis
        manifold.check_points(X)
        self.basis_ = self._truncated(manifold, len(X))
        self.oracle_calls_ = OracleCalls()
        if self.group is None:
            subspaces = [sparse.eye_array(d, format="csc") for d in self.basis_.dimensions_]
        else:
            subspaces = invariant_subspace(self.basis_, self.group, self.method, self.oracle_calls_)
        self.invariant_dimensions_ = np.array([u.shape[1] for u in subspaces])
        self.vectors_ = sparse.csr_array(sparse.block_diag(subspaces, format="csr"))
        self._check_determined(len(X))
        features = self.basis_.combine(X, self.vectors_, self.oracle_calls_)
        self.coef_ = self.vectors_ @ self._solve(features, y)
        return self

    def _truncated(self, manifold: Basis, n_samples: int) -> Basis:
        if self.degree is not None and self.cutoff is not None:
            raise ValueError(
                f"give degree or cutoff, not both (degree={self.degree!r}, cutoff={self.cutoff!r})"
            )
        if {self.degree, self.cutoff, self.smoothness} == {None} and manifold.degree is not None:
            return manifold
        d = manifold.manifold_dimension
        smoothness = d / 2 + 1 if self.smoothness is None else self.smoothness
        if not np.isreal(smoothness) or not smoothness > 0:
            raise ValueError(f"smoothness must be a positive number, got {self.smoothness!r}")
        if smoothness <= d / 2:
            warnings.warn(
                f"smoothness={smoothness:g} is not above half the manifold's dimension "
                f"({d / 2:g}): the theorem does not cover it, and functions of this class need "
                "not even be continuous",
                UserWarning,
                stacklevel=3,
            )
        if self.degree is not None:
            return manifold.truncate(degree=self.degree)
        if self.cutoff is not None:
            return manifold.truncate(cutoff=self.cutoff)
        return manifold.truncate(cutoff=theory.cutoff(n_samples, smoothness, d=d), warn=False)

    def _check_determined(self, n_samples: int) -> None:
        kept = self.vectors_.shape[1]
        if kept <= n_samples:
            return
        message = (
            f"the cutoff keeps {kept} invariant functions ({self.basis_.n_functions_} "
            f"eigenfunctions), more than the {n_samples} samples"
        )
        if self.estimator == "least_squares":
            raise ValueError(
                f"{message}: least squares has no unique solution; lower the degree or the "
                "cutoff, or use estimator='ridge'"
            )
        warnings.warn(
            f"{message}: expect a large error unless the estimator shrinks it",
            UserWarning,
            stacklevel=3,
        )

    def _solve(self, features: NDArray, y: NDArray) -> NDArray:
        """Coefficients of the invariant functions, shape (r,)."""
        if not isinstance(self.estimator, str):
            return self._solve_with_regressor(features, y)
        if self.estimator == "mean":
            return features.T @ y / len(y)
        if self.estimator == "least_squares":
            return lstsq(features, y)[0]
        # The first function is constant, equal to 1 or -1.
        coefficients = np.empty(features.shape[1])
        others = features[:, 1:]
        if self.estimator == "centered":
            offset = y.mean()
            coefficients[1:] = others.T @ (y - offset) / len(y)
        elif others.shape[1] == 0:
            offset = y.mean()
            self.penalty_ = 0.0
        else:
            scale = self._sobolev_scale()
            penalties = np.logspace(-10, 2, 49) if self.penalties is None else self.penalties
            ridge = RidgeCV(alphas=np.asarray(penalties, dtype=float) * len(y))
            ridge.fit(others * scale, y)
            coefficients[1:] = ridge.coef_ * scale
            offset = ridge.intercept_
            self.penalty_ = float(ridge.alpha_ / len(y))
        coefficients[0] = offset * np.sign(features[0, 0])
        return coefficients

    def _solve_with_regressor(self, features: NDArray, y: NDArray) -> NDArray:
        self.estimator_ = clone(self.estimator).fit(features[:, 1:], y)
        coefficients = np.empty(features.shape[1])
        coefficients[1:] = self.estimator_.coef_
        coefficients[0] = self.estimator_.intercept_ * np.sign(features[0, 0])
        return coefficients

    def _sobolev_scale(self) -> NDArray:
        """D_lambda^(-alpha/2) for each non-constant invariant function."""
        counts = np.repeat(self.basis_.counts_, self.invariant_dimensions_)[1:]
        if self.smoothness is None:
            return np.ones(len(counts))
        return counts ** (-theory.alpha(self.smoothness, self.basis_.manifold_dimension) / 2)

    @property
    def expansion_(self) -> Expansion:
        """The fitted function."""
        check_is_fitted(self)
        return Expansion(self.basis_, self.coef_)

    def predict(self, X: ArrayLike) -> NDArray:
        """Values at points of shape (n, n_features)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.expansion_.predict(X)

    def discrepancy(
        self, X: ArrayLike, n_elements: int = 100, relative: bool = True, random_state=0
    ) -> float:
        """`invariance_discrepancy` of the fitted function, relative to its largest value."""
        check_is_fitted(self)
        if self.group is None:
            return 0.0
        return float(
            invariance_discrepancy(self.predict, self.group, X, n_elements, relative, random_state)
        )
