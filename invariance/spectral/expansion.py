"""`Expansion`, `Eigenfunctions` and `transform_to_invariant`: make any fitted expansion invariant.

The projection does not care where the coefficients came from. A lasso, a robust regression or
anything else that ends in a linear combination of eigenfunctions can be made exactly invariant
after the fact.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import validate_data
from ..core.parameters import (
    Has,
    Number,
    ParameterError,
    arguments,
    check_parameters,
    short,
    stores_parameters,
)
from ..groups import Transformations
from .base import BASIS, GROUP, Basis, OracleCalls
from .discrepancy import invariance_discrepancy
from .projection import invariant_subspace, project
from .torus import Torus

__all__ = ["Eigenfunctions", "Expansion", "transform_to_invariant"]


@dataclass(frozen=True)
class Expansion:
    """A function given by its coefficients in a truncated basis.

    Parameters
    ----------
    basis : Basis
    coefficients : ndarray of shape (D,), or (D, t) for t functions

    Examples
    --------
    >>> from invariance.groups import SignFlips
    >>> from invariance.spectral import Torus
    >>> f = Expansion(Torus(1, degree=1), np.array([0.0, 1.0, 1.0]))
    >>> g = f.invariant(SignFlips(1))
    >>> g.predict([[0.3]]) == g.predict([[-0.3]])
    array([ True])
    """

    basis: Basis
    coefficients: NDArray

    def __post_init__(self) -> None:
        shape = np.shape(self.coefficients)
        if len(shape) not in (1, 2) or shape[0] != self.basis.n_functions_:
            raise ParameterError(
                f"the basis holds {self.basis.n_functions_} functions, but the coefficients have "
                f"shape {shape}"
            )

    def predict(self, X: ArrayLike, *, calls: OracleCalls | None = None) -> NDArray:
        """Values at points of shape (n, n_features): one evaluation of the basis (eq. 23)."""
        columns = self.coefficients.reshape(len(self.coefficients), -1)
        values = self.basis.combine(X, columns, calls=calls)
        return values.reshape(-1, *self.coefficients.shape[1:])

    def invariant(
        self,
        group: Transformations | None,
        *,
        method: str = "auto",
        outputs: Transformations | None = None,
    ) -> Expansion:
        """The nearest invariant (with ``outputs``, equivariant) expansion; see `project`."""
        options: dict[str, Any] = {"method": method, "outputs": outputs}
        return Expansion(self.basis, project(self.coefficients, self.basis, group, **options))

    def discrepancy(
        self,
        X: ArrayLike,
        group: Transformations | None,
        *,
        outputs: Transformations | None = None,
        relative: bool = True,
        **options: Any,
    ) -> float:
        """`invariance_discrepancy` of this function, the worst of several.

        Under the group and under the exchanges that the basis brings.
        """
        worst = 0.0
        if group is not None:
            found = invariance_discrepancy(
                self.predict, group, X, outputs=outputs, relative=relative, **options
            )
            worst = float(np.max(found))
        points = np.asarray(X, dtype=float)
        for matrix, shift in zip(*self.basis.exchanges(), strict=True):
            here, there = self.predict(points), self.predict(points @ matrix.T + shift)
            size = float(np.abs(here).max()) if relative else 1.0
            if outputs is not None and here.shape == points.shape:
                here = here @ matrix.T
            worst = max(worst, float(np.abs(here - there).max()) / (size or 1.0))
        return worst


@stores_parameters
class Eigenfunctions(TransformerMixin, BaseEstimator):
    """Eigenfunctions, or the invariant ones among them, as features in front of any model.

    With a ``group`` whatever is learnt on the features is exactly invariant, linear or not.

    Parameters
    ----------
    basis : Basis, optional
        Default: `Torus` of as many dimensions as the data have features.
    group : FiniteGroup or continuous group, optional
        Keep an orthonormal basis of the invariant functions instead of all functions.
    degree : int
        Label of the highest eigenspace kept.

    Attributes
    ----------
    basis_ : Basis
        The truncated basis; without a group, column j of the output is its j-th function.
    vectors_ : sparse array of shape (D, r) or None
        Coefficients of the features, where there is a group.

    Warns
    -----
    UserWarning
        For points spread over more than one period of a torus.

    Examples
    --------
    >>> from sklearn.linear_model import LassoCV
    >>> from sklearn.pipeline import make_pipeline
    >>> from invariance.groups import Permutations
    >>> from invariance.spectral import Sphere
    >>> X = Sphere(4).sample(200, random_state=0)
    >>> model = make_pipeline(Eigenfunctions(Sphere(4), degree=3), LassoCV()).fit(X, X.prod(axis=1))
    >>> f = transform_to_invariant(model, Permutations(4))
    >>> bool(f.discrepancy(X, Permutations(4)) < 1e-12)
    True

    An exactly invariant classifier:

    >>> from sklearn.linear_model import LogisticRegression
    >>> features = Eigenfunctions(Sphere(4), Permutations(4), degree=3)
    >>> model = make_pipeline(features, LogisticRegression(C=100)).fit(X, X.sum(axis=1) > 0.5)
    >>> moved = X[:, [1, 2, 3, 0]]
    >>> bool(abs(model.predict_proba(moved) - model.predict_proba(X)).max() < 1e-12)
    True
    """

    basis: Annotated[Basis | None, BASIS | None] = None
    group: Annotated[Transformations | None, GROUP | None] = None
    _: KW_ONLY
    degree: Annotated[float, Number(0)] = 1

    def fit(self, X: ArrayLike, y: Any = None) -> Eigenfunctions:
        """Fix the manifold and check that the points lie on it."""
        check_parameters(self)
        points: NDArray = validate_data(self, X, dtype=np.float64)
        basis: Basis = Torus(points.shape[1]) if self.basis is None else self.basis
        basis = basis.truncate(degree=self.degree)
        basis.check_points(points)
        doubt = basis.outside(points)
        if doubt is not None:
            warnings.warn(doubt, UserWarning, stacklevel=2)
        self.vectors_ = None
        if self.group is not None or len(basis.exchanges()[0]):
            found = invariant_subspace(basis, self.group)
            self.vectors_ = sparse.csr_array(sparse.block_diag(found, format="csr"))
        self.basis_ = basis
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        """Shape (n, D), or (n, r) of the invariant functions."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.vectors_ is None:
            return self.basis_.evaluate(X)
        return self.basis_.combine(X, self.vectors_)

    @property
    def _n_features_out(self) -> int:
        return self.basis_.n_functions_ if self.vectors_ is None else self.vectors_.shape[1]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """Names ``eigenfunctions0``, ``eigenfunctions1``, ..."""
        check_is_fitted(self)
        return np.array([f"eigenfunctions{j}" for j in range(self._n_features_out)], dtype=object)


@arguments(model=Has("a fitted estimator, such as LassoCV()", "fit", "predict"), basis=BASIS | None)
def transform_to_invariant(
    model: Any,
    group: Transformations | None,
    *,
    basis: Basis | None = None,
    method: str = "auto",
) -> Expansion:
    """The invariant function nearest to a fitted expansion in eigenfunctions.

    Parameters
    ----------
    model : estimator
        A fitted linear model (``coef_``, ``intercept_``) on ``basis.evaluate(X)``, a pipeline of
        `Eigenfunctions` and such a model, or a fitted `SpectralAveraging`.
    group : FiniteGroup or continuous group
    basis : Basis, optional
        The truncated basis; needed only when the model does not know it.
    method : str
        See `project`.

    Returns
    -------
    Expansion

    Raises
    ------
    ParameterError
        When the model has no coefficients or no basis can be found (a TypeError as well as a
        ValueError).
    """
    last: Any = model
    vectors = None
    pipeline: Any = model
    if hasattr(pipeline, "steps"):
        steps = [step for _, step in pipeline.steps]
        if len(steps) != 2 or not hasattr(steps[0], "basis_"):
            raise ParameterError(
                "the pipeline must be Eigenfunctions followed by a linear model (a scaler between "
                f"them would change the coefficients' meaning), got {short(steps)}"
            )
        basis, vectors, last = steps[0].basis_, getattr(steps[0], "vectors_", None), steps[1]
    check_is_fitted(last)
    found: Any = getattr(last, "basis_", basis)
    basis = found
    if basis is None or not hasattr(last, "coef_"):
        raise ParameterError(
            f"{type(last).__name__} is no expansion in eigenfunctions: it needs coef_, and a "
            "basis (pass basis=...)"
        )
    coefficients = np.array(last.coef_, dtype=float)
    if getattr(last, "basis_", None) is None:
        # A linear model's rows are outputs. Eigenspace 0 holds the constant function, equal to 1
        # or -1, so that an intercept is a coefficient like any other.
        coefficients = coefficients.reshape(-1, coefficients.shape[-1]).T
        if vectors is not None:
            coefficients = vectors @ coefficients
        point = basis.sample(1, random_state=0)
        first = np.zeros((basis.n_functions_, 1))
        first[0] = 1
        constant = np.sign(basis.combine(point, first)[0, 0])
        coefficients[0] += constant * np.reshape(getattr(last, "intercept_", 0.0), -1)
        if coefficients.shape[1] == 1:
            coefficients = coefficients[:, 0]
    return Expansion(basis, coefficients).invariant(group, method=method)
