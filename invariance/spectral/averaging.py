"""`SpectralAveraging`: regression that is exactly invariant, at the price of the generators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lstsq
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..core.arrays import validate_data
from ..core.parameters import (
    Array,
    Has,
    OneOf,
    ParameterError,
    check_parameters,
    short,
    stores_parameters,
)
from ..groups import Transformations
from ..linear.ridge import RidgeFit
from .base import GROUP
from .invariants import InvariantLearner

__all__ = ["SpectralAveraging"]

ESTIMATORS = ("mean", "centered", "least_squares", "ridge")


@stores_parameters
class SpectralAveraging(MultiOutputMixin, RegressorMixin, InvariantLearner):
    r"""Spec-Avg: an expansion in eigenfunctions that is exactly invariant under a group.

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
    group : FiniteGroup or continuous group, optional
        Acts on the manifold by isometries. Default: the trivial group, so no invariance. A
        continuous group, such as `Rotations3D`, is given by the generators of its Lie algebra,
        which annihilate exactly the invariant functions.
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
        scikit-learn regressor that predicts ``X @ coef_ + intercept_``, such as ``LassoCV()``,
        fitted to the values of the invariant functions. For any other learner, such as one with a
        link, put `Eigenfunctions` with the same ``group`` in front of it;
        `SpectralAveragingClassifier` classifies.
    alphas : array-like, optional
        Candidates for "ridge", on the scale of `invariance.linear`: minimise
        :math:`\frac1n \sum_i (y_i - f(x_i))^2 + \alpha |f|^2`. Default: 1e-10 to 1e2, four a
        decade.
    method : {"auto", "components", "null_space"}
        How the invariant subspace is found; see `project`.
    density : callable, optional
        Density of the points relative to the uniform probability measure, from points (n,
        n_features) to positive values (n,). Every sample then counts by the density's inverse, so
        that "mean" and "centered" stay unbiased for points that are not uniform.
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
    noise_ : float or ndarray of shape (t,)
        Variance of the noise ("ridge" only): the most likely one, see `predict`.
    estimator_ : estimator
        The fitted linear regressor, where one was given.
    oracle_calls_ : OracleCalls
        Calls made by `fit`.

    Raises
    ------
    ParameterError
        For a parameter that is not what it may be, points off the manifold, a group that does not
        act on it, both ``degree`` and ``cutoff``, "least_squares" with more invariant functions
        than samples, or a regressor that is not linear.

    Warns
    -----
    UserWarning
        For s <= d/2, which the theorem does not cover, for a cutoff inside an eigenspace, and for
        more invariant functions than samples, and for points spread over more than one period of a
        torus.

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

    Three particles on a sphere, in any order and however the whole is turned:

    >>> from invariance.groups import Rotations3D
    >>> from invariance.spectral import Product
    >>> particles = Product([Sphere(3)] * 3, exchangeable=True)
    >>> X = particles.sample(200, random_state=0)
    >>> a, b, c = X[:, :3], X[:, 3:6], X[:, 6:]
    >>> y = (a * b).sum(axis=1) + (b * c).sum(axis=1) + (c * a).sum(axis=1)
    >>> model = SpectralAveraging(particles, Rotations3D(), degree=4, estimator="ridge")
    >>> model.fit(X, y).invariant_dimensions_
    array([1, 0, 1])
    >>> bool(model.discrepancy(X) < 1e-12), round(model.score(X, y), 6)
    (True, 1.0)

    A vector for each particle, which turns with them:

    >>> force = np.concatenate([b + c - 2 * a, c + a - 2 * b, a + b - 2 * c], axis=1)
    >>> model = SpectralAveraging(
    ...     particles, Rotations3D(), outputs=Rotations3D(), degree=2, estimator="ridge"
    ... ).fit(X, force)
    >>> bool(model.discrepancy(X) < 1e-12), round(model.score(X, force), 6)
    (True, 1.0)
    """

    _: KW_ONLY
    estimator: Annotated[
        str | RegressorMixin,
        OneOf(*ESTIMATORS) | Has("a linear regressor, such as LassoCV()", "fit"),
    ] = "mean"
    alphas: Annotated[ArrayLike | None, Array(ndim=1, above=0) | None] = None
    density: Annotated[
        Callable[[NDArray], NDArray] | None,
        Has("a function from points to values", "__call__") | None,
    ] = None
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
            Points of the manifold, uniform or of the given ``density``.
        y : array-like of shape (n,) or (n, t)
        sample_weight : array-like of shape (n,), optional
            A weight counts as so many copies of its sample.
        """
        check_parameters(self)
        points: NDArray
        labels: NDArray
        points, labels = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, multi_output=True
        )
        labels = labels.astype(float)
        weights = self._weights(sample_weight, points)
        targets = labels.reshape(len(labels), -1)
        p = 1 if self.outputs is None else targets.shape[1]
        features = self._fit_features(points, weights, p)
        if self.outputs is not None:
            targets = targets.reshape(-1, 1)
        self._single = targets.shape[1] == 1 and (p > 1 or labels.ndim == 1)
        inverse = None if self.density is None else self._inverse_density(points)
        if isinstance(self.estimator, str):
            used = weights if inverse is None else weights * inverse
            solution = self._solve(features, targets, np.repeat(used, p), weights.sum())
        else:
            given = None if inverse is None and np.all(weights == 1) else weights
            if given is not None:
                given = np.repeat(given if inverse is None else given * inverse, p)
            solution = self._solve_with_regressor(features, targets, given)
        self.coef_ = (self.vectors_ @ solution).reshape(-1, *labels.shape[1:])
        return self

    def _inverse_density(self, X: NDArray) -> NDArray:
        assert self.density is not None
        values = np.asarray(self.density(X), dtype=float)
        if values.shape != (len(X),) or not np.all(np.isfinite(values) & (values > 0)):
            raise ParameterError(
                f"density must give one positive number per point, shape ({len(X)},), but "
                f"{short(self.density)} gave {short(values)}"
            )
        return 1 / values

    def _solve(
        self, features: NDArray, targets: NDArray, weights: NDArray, total: float
    ) -> NDArray:
        """Coefficients of the invariant functions, shape (r, t); ``total`` counts the samples."""
        if self.estimator == "mean":
            return features.T @ (weights[:, None] * targets) / total
        root = np.sqrt(weights)[:, None]
        if self.estimator == "least_squares":
            return np.asarray(lstsq(root * features, root * targets)[0])
        free, others = self._split(features)
        if self.estimator == "centered":
            offset = np.linalg.lstsq(root * free, root * targets)[0]
            gaps = weights[:, None] * (targets - free @ offset)
            return np.concatenate([offset, features[:, free.shape[1] :].T @ gaps / total])
        alphas = np.logspace(-10, 2, 49) if self.alphas is None else np.asarray(self.alphas, float)
        p = self.vectors_.shape[0] // self.basis_.n_functions_  # alpha is beside sums over outputs
        self._ridge = RidgeFit(free, others, targets, weights, alphas / p)
        self.alpha_ = self._ridge.alpha * p
        self.noise_ = float(self._ridge.noise[0]) if self._single else self._ridge.noise
        constants, shrunk = np.split(self._ridge.coefficients, [free.shape[1]])
        return np.concatenate([constants, shrunk * self._sobolev_scale()[:, None]])

    def _solve_with_regressor(
        self, features: NDArray, targets: NDArray, weights: NDArray | None
    ) -> NDArray:
        name = type(self.estimator).__name__
        options = {}
        if weights is not None:
            if not has_fit_parameter(self.estimator, "sample_weight"):
                raise ParameterError(
                    f"{name} takes no sample_weight; leave out sample_weight and density"
                )
            options["sample_weight"] = weights
        y = targets[:, 0] if self._single else targets
        remedy = (
            "take one that predicts X @ coef_ + intercept_, or put Eigenfunctions(basis, group, "
            f"degree=...) in front of {name} with make_pipeline"
        )
        model: Any = clone(self.estimator)
        asked = model.get_params() if hasattr(model, "get_params") else {}
        if self.outputs is not None and "fit_intercept" in asked:
            model.set_params(fit_intercept=False)
        # The first function is constant: an intercept, where the regressor fits none itself.
        turned = self.outputs is not None
        first = 0 if turned or asked.get("fit_intercept") is False else 1
        while True:
            used = features[:, first:]
            self.estimator_ = clone(model).fit(used, y, **options)
            if not hasattr(self.estimator_, "coef_"):
                raise ParameterError(f"{name} has no coef_ once it is fitted; {remedy}")
            if first == 0 or hasattr(self.estimator_, "intercept_"):
                break
            first = 0
        inner = np.zeros((features.shape[1], targets.shape[1]))
        found = np.reshape(self.estimator_.coef_, (-1, used.shape[1]))
        intercept = np.reshape(getattr(self.estimator_, "intercept_", 0.0), -1)
        predicted = np.reshape(self.estimator_.predict(used), targets.shape)
        linear = used @ found.T + intercept
        size = max(1.0, float(np.abs(predicted).max()))
        if linear.shape != predicted.shape or np.abs(linear - predicted).max() > 1e-6 * size:
            raise ParameterError(
                f"{name} does not predict X @ coef_ + intercept_ (a link function?), so that its "
                f"coefficients are no expansion in eigenfunctions; {remedy}"
            )
        if turned and np.any(intercept):
            raise ParameterError(f"{name} fits an intercept, which does not turn with outputs")
        inner[first:] = found.T
        if not turned:
            inner[0] += intercept * np.sign(features[0, 0])
        return inner

    def _penalised(self, X: NDArray) -> NDArray:
        """The features whose coefficients ridge regression shrinks alike, shape (n, r - 1)."""
        return self._split(self._features(X))[1]

    def predict(
        self, X: ArrayLike, *, return_std: bool = False
    ) -> NDArray | tuple[NDArray, NDArray]:
        """Values at points of shape (n, n_features).

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        return_std : bool
            Also the standard deviation of the function's values ("ridge" only), the estimate being
            the posterior mean for coefficients drawn from N(0, ``noise_`` / (n ``alpha_``)), of
            which ``smoothness`` shrinks the higher ones. It speaks of functions in the span: what
            the cutoff leaves out is not in it, nor is the noise.

        Returns
        -------
        ndarray of shape (n,) or (n, t); with ``return_std`` a pair of them
        """
        check_is_fitted(self)
        points: NDArray = validate_data(self, X, dtype=np.float64, reset=False)
        values = self.expansion_.predict(points)
        if not return_std:
            return values
        if not hasattr(self, "alpha_"):
            raise ParameterError(
                f"return_std needs estimator='ridge', the model was fitted with {self.estimator!r}"
            )
        variances = self._ridge.variances(*self._split(self._features(points)))
        return values, np.sqrt(variances).reshape(values.shape)
