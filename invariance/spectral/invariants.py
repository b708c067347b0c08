"""What learners on invariant functions share: the cutoff, the subspace, its functions' values."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..groups import Transformations
from ..core.parameters import (
    Number,
    OneOf,
    ParameterError,
    Positive,
    check_parameters,
    stores_parameters,
)
from ..theory import soleymani2025 as theory
from .base import BASIS, GROUP, Basis, OracleCalls
from .expansion import Expansion
from .explain import SpectralCost, cost
from .projection import invariant_subspace
from .torus import Torus

__all__ = ["InvariantLearner"]


@stores_parameters
class InvariantLearner(BaseEstimator):
    """Base of what is learnt among the invariant functions of a truncated basis."""

    basis: Annotated[Basis | None, BASIS | None] = None
    group: Annotated[Transformations | None, GROUP | None] = None
    _: KW_ONLY
    degree: Annotated[float | None, Number(0) | None] = None
    cutoff: Annotated[float | None, Number(1) | None] = None
    smoothness: Annotated[float | None, Positive() | None] = None
    method: Annotated[str, OneOf("auto", "components", "null_space")] = "auto"

    estimator: Any = field(default=None, init=False)
    #: How outputs turn with the group; None where they stay.
    outputs: Any = field(default=None, init=False)
    coef_: NDArray = field(init=False)

    def _weights(self, sample_weight: ArrayLike | None, X: NDArray) -> NDArray:
        weights: NDArray = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not weights.sum() > 0:
            raise ParameterError("sample_weight must hold a positive weight, all of them are zero")
        return weights

    def _fit_features(self, X: NDArray, weights: NDArray, n_outputs: int = 1) -> NDArray:
        """Truncate the basis, find the invariant functions, and give their values at X."""
        manifold: Basis = Torus(X.shape[1]) if self.basis is None else self.basis
        manifold.check_points(X)
        doubt = manifold.outside(X)
        if doubt is not None:
            warnings.warn(doubt, UserWarning, stacklevel=3)
        self.basis_ = self._truncated(manifold, float(weights.sum()))
        self.oracle_calls_ = OracleCalls()
        if self.group is None and not len(self.basis_.exchanges()[0]):
            sizes = self.basis_.dimensions_ * n_outputs
            subspaces = [sparse.eye_array(size, format="csc") for size in sizes]
        else:
            subspaces = invariant_subspace(
                self.basis_,
                self.group,
                method=self.method,
                outputs=self.outputs,
                n_outputs=n_outputs,
                calls=self.oracle_calls_,
            )
        self.invariant_dimensions_ = np.array([u.shape[1] for u in subspaces])
        self.vectors_ = sparse.csr_array(sparse.block_diag(subspaces, format="csr"))
        self._check_determined(n_outputs * int(np.count_nonzero(weights)))
        return self._features(X, self.oracle_calls_)

    def _features(self, X: NDArray, calls: OracleCalls | None = None) -> NDArray:
        """Values of the invariant functions, shape (n, r), or (n p, r) of p outputs that turn."""
        D = self.basis_.n_functions_
        p, r = self.vectors_.shape[0] // D, self.vectors_.shape[1]
        weights = self.vectors_
        if p > 1:  # the outputs of a function side by side
            weights = sparse.csr_array(weights.reshape((D, p * r)))
        return self.basis_.combine(X, weights, calls=calls).reshape(p * len(X), r)

    def _split(self, features: NDArray) -> tuple[NDArray, NDArray]:
        """The constant functions, and the others as ridge regression shrinks them alike."""
        m = int(self.invariant_dimensions_[0])
        return features[:, :m], features[:, m:] * self._sobolev_scale()

    def _sobolev_scale(self) -> NDArray:
        """D_lambda^(-alpha/2) for each non-constant invariant function."""
        counts = np.repeat(self.basis_.counts_[1:], self.invariant_dimensions_[1:])
        if self.smoothness is None:
            return np.ones(len(counts))
        return counts ** (-theory.alpha(self.smoothness, self.basis_.manifold_dimension) / 2)

    def _truncated(self, manifold: Basis, n_samples: float) -> Basis:
        if self.degree is not None and self.cutoff is not None:
            raise ParameterError(
                f"give degree or cutoff, not both (degree={self.degree!r}, cutoff={self.cutoff!r})"
            )
        if {self.degree, self.cutoff, self.smoothness} == {None} and manifold.degree is not None:
            return manifold
        d = manifold.manifold_dimension
        smoothness = d / 2 + 1 if self.smoothness is None else float(self.smoothness)
        if smoothness <= d / 2:
            warnings.warn(
                f"smoothness={smoothness:g} is not above half the manifold's dimension "
                f"({d / 2:g}): the theorem does not cover it, and functions of this class need "
                "not even be continuous",
                UserWarning,
                stacklevel=4,
            )
        if self.degree is not None:
            return manifold.truncate(degree=self.degree)
        if self.cutoff is not None:
            return manifold.truncate(cutoff=self.cutoff)
        if n_samples < 1:
            raise ParameterError(
                f"the cutoff follows from the number of samples, but sample_weight sums to "
                f"{n_samples:.3g}: a weight counts as so many copies of its sample; multiply the "
                "weights, or give degree or cutoff"
            )
        return manifold.truncate(cutoff=theory.cutoff(n_samples, smoothness, d=d), warn=False)

    def _check_determined(self, n_samples: int) -> None:
        kept = self.vectors_.shape[1]
        if kept <= n_samples:
            return
        message = (
            f"the cutoff keeps {kept} invariant functions ({self.basis_.n_functions_} "
            f"eigenfunctions), more than the {n_samples} samples"
        )
        if isinstance(self.estimator, str) and self.estimator == "least_squares":
            raise ParameterError(
                f"{message}: least squares has no unique solution; lower the degree or the "
                "cutoff, or use estimator='ridge'"
            )
        warnings.warn(
            f"{message}: expect a large error unless the estimator shrinks it",
            UserWarning,
            stacklevel=4,
        )

    @property
    def expansion_(self) -> Expansion:
        """The fitted function."""
        check_is_fitted(self)
        return Expansion(self.basis_, self.coef_)

    def discrepancy(
        self,
        X: ArrayLike,
        *,
        n_elements: int = 100,
        relative: bool = True,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> float:
        """`invariance_discrepancy` of the fitted function, relative to its largest value.

        Under the group and, on a basis with exchangeable factors, under their exchange; the worst
        of several outputs.
        """
        options: dict[str, Any] = {"n_elements": n_elements, "random_state": random_state}
        options |= {"relative": relative, "verbose": verbose, "outputs": self.outputs}
        return self.expansion_.discrepancy(X, self.group, **options)

    def explain(self, X: ArrayLike, n_outputs: int = 1) -> SpectralCost:
        """What `fit` to points X will cost, before it is begun: functions, evaluations, seconds.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        n_outputs : int
            Columns of y, where they turn with the group.
        """
        check_parameters(self)
        n, d = np.shape(X)
        basis = self._truncated(Torus(d) if self.basis is None else self.basis, float(n))
        p = 1 if self.outputs is None else n_outputs
        return cost(basis, self.group, n, outputs=self.outputs, n_outputs=p)
