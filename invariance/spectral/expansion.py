"""`Expansion`, `Eigenfunctions` and `transform_to_invariant`: make any fitted expansion invariant.

The projection does not care where the coefficients came from. A lasso, a robust regression or
anything else that ends in a linear combination of eigenfunctions can be made exactly invariant
after the fact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from ..groups import FiniteGroup
from .base import Basis, OracleCalls
from .discrepancy import invariance_discrepancy
from .projection import project
from .torus import Torus

__all__ = ["Eigenfunctions", "Expansion", "transform_to_invariant"]


@dataclass(frozen=True)
class Expansion:
    """A function given by its coefficients in a truncated basis.

    Parameters
    ----------
    basis : Basis
    coefficients : ndarray of shape (D,)

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

    def __post_init__(self):
        if np.shape(self.coefficients) != (self.basis.n_functions_,):
            raise ValueError(
                f"the basis holds {self.basis.n_functions_} functions, but the coefficients have "
                f"shape {np.shape(self.coefficients)}"
            )

    def predict(self, X: ArrayLike, calls: OracleCalls | None = None) -> NDArray:
        """Values at points of shape (n, n_features): one evaluation of the basis (eq. 23)."""
        return self.basis.combine(X, self.coefficients[:, None], calls)[:, 0]

    def invariant(self, group: FiniteGroup, method: str = "auto") -> Expansion:
        """The nearest invariant expansion; see `project`."""
        return Expansion(self.basis, project(self.coefficients, self.basis, group, method))

    def discrepancy(self, X: ArrayLike, group: FiniteGroup, relative: bool = True, **options):
        """`invariance_discrepancy` of this function."""
        return invariance_discrepancy(self.predict, group, X, relative=relative, **options)


class Eigenfunctions(TransformerMixin, BaseEstimator):
    """Eigenfunctions as features, for use in front of any linear model.

    Parameters
    ----------
    basis : Basis, optional
        Default: `Torus` of as many dimensions as the data have features.
    degree : int
        Label of the highest eigenspace kept.

    Attributes
    ----------
    basis_ : Basis
        The truncated basis; column j of the output is its j-th function.

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
    """

    def __init__(self, basis: Basis | None = None, degree: int = 1):
        self.basis = basis
        self.degree = degree

    def fit(self, X: ArrayLike, y=None) -> Eigenfunctions:
        """Fix the manifold and check that the points lie on it."""
        X = validate_data(self, X, dtype=np.float64)
        basis = Torus(X.shape[1]) if self.basis is None else self.basis
        basis = basis.truncate(degree=self.degree)
        basis.check_points(X)
        self.basis_ = basis
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        """Shape (n, D)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.basis_.evaluate(X)

    @property
    def _n_features_out(self) -> int:
        return self.basis_.n_functions_

    def get_feature_names_out(self, input_features=None) -> NDArray:
        """Names ``eigenfunctions0``, ``eigenfunctions1``, ..."""
        check_is_fitted(self)
        return np.array([f"eigenfunctions{j}" for j in range(self._n_features_out)], dtype=object)


def transform_to_invariant(
    model, group: FiniteGroup, basis: Basis | None = None, method: str = "auto"
) -> Expansion:
    """The invariant function nearest to a fitted expansion in eigenfunctions.

    Parameters
    ----------
    model : estimator
        A fitted linear model (``coef_``, ``intercept_``) on ``basis.evaluate(X)``, a pipeline of
        `Eigenfunctions` and such a model, or a fitted `SpectralAveraging`.
    group : FiniteGroup
    basis : Basis, optional
        The truncated basis; needed only when the model does not know it.
    method : str
        See `project`.

    Returns
    -------
    Expansion

    Raises
    ------
    TypeError
        When the model has no coefficients or no basis can be found.
    """
    last = model
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps]
        if len(steps) != 2 or not isinstance(steps[0], Eigenfunctions):
            raise TypeError(
                "the pipeline must be Eigenfunctions followed by a linear model (a scaler between "
                f"them would change the coefficients' meaning), got {steps}"
            )
        basis, last = steps[0].basis_, steps[1]
    check_is_fitted(last)
    basis = getattr(last, "basis_", basis)
    if basis is None or not hasattr(last, "coef_"):
        raise TypeError(
            f"{type(last).__name__} is no expansion in eigenfunctions: it needs coef_, and a "
            "basis (pass basis=...)"
        )
    coefficients = np.array(last.coef_, dtype=float).reshape(-1)
    # Eigenspace 0 holds the constant function 1, so an intercept is a coefficient like any other.
    coefficients[0] += float(np.squeeze(getattr(last, "intercept_", 0.0)))
    return Expansion(basis, coefficients).invariant(group, method)
