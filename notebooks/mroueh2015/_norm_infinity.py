"""`NormInfinityClassifier`: empirical risk minimisation over a box of weights, solved exactly."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from invariance.core import parameters as kinds
from invariance.core.arrays import validate_data
from invariance.core.extras import need
from invariance.core.parameters import arguments, short, stores_parameters
from invariance.linear.classes import OneVsRest, check_two_classes

#: The hinge loss is a linear program, which simplex and interior points with crossover end on an
#: exact vertex; the other two are cone programs.
_SOLVERS = {"hinge": "HIGHS", "logistic": "CLARABEL", "square": "CLARABEL"}
_LOSSES = kinds.OneOf(*_SOLVERS)
#: Warn about duality gaps above this, in units of the risk at w = 0.
_TOLERANCE = 1e-5


@arguments(loss=_LOSSES, margins=kinds.Array(empty=True))
def margin_loss(loss: str, margins: ArrayLike) -> NDArray:
    """Return the losses V(u) of margins u = y f(x), elementwise.

    Parameters
    ----------
    loss : {"hinge", "logistic", "square"}
        max(0, 1 - u), log(1 + exp(-u)) or (1 - u)^2.

    >>> margin_loss("hinge", [-1.0, 0.5, 2.0])
    array([2. , 0.5, 0. ])
    """
    u = np.asarray(margins, dtype=float)
    if loss == "square":
        return np.square(1 - u)
    if loss == "hinge":
        return np.maximum(1 - u, 0)
    return np.logaddexp(0, -u)


@stores_parameters
class NormInfinityClassifier(OneVsRest, BaseEstimator):
    r"""Linear classifier with bounded weights and no other regularisation.

    The empirical risk minimiser of Mroueh et al. 2015, section 4, with B = C/m on CDF features,

    .. math:: \min_{\lVert w \rVert_\infty \le B} \; \frac1N \sum_{i=1}^N V(y_i \langle w, x_i
              \rangle), \qquad y_i \in \{-1, 1\},

    for a convex loss V, modelled in CVXPY, which the extra ``qp`` installs. Several classes are
    separated one against the rest. There is no intercept: CDF features hold one (their last
    threshold is always passed); add a constant column to other features.

    Parameters
    ----------
    bound : float
        B, the largest absolute weight.
    loss : {"hinge", "logistic", "square"}
        HiGHS solves the hinge loss and Clarabel the others: 1,000 samples by 1,000 features take
        seconds, 2,000 by 3,000 minutes.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray of shape (1, p) for two classes, else (n_classes, p)
    risk_ : ndarray, one entry per row of ``coef_``
        Minimal empirical risk.
    duality_gap_ : ndarray, one entry per row of ``coef_``
        Bound on how far ``risk_`` lies above the minimum, by Fenchel's dual at a feasible a:
        :math:`-\frac1N \sum_i V^*(-a_i) - B \lVert \frac1N \sum_i a_i y_i x_i \rVert_1`.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.5], [1.0, -0.5], [-1.0, 0.5], [-1.0, -0.5]])
    >>> model = NormInfinityClassifier(bound=0.25, loss="hinge").fit(X, [1, 1, 0, 0])
    >>> model.coef_[:, 0].round(6), model.risk_.round(6)
    (array([0.25]), array([0.75]))
    """

    bound: Annotated[float, kinds.Number(above=0, most=1e10)] = 1.0
    loss: Annotated[str, _LOSSES] = "hinge"

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> NormInfinityClassifier:
        """Solve one program per class, or a single one for two classes.

        The empirical average is weighted by ``sample_weight`` and divided by its sum: with
        probabilities, and both labels of every point, the *expected* risk is minimised.
        """
        points, labels, weights = self._checked(X, y, sample_weight, dtype=np.float64)
        is_used = weights > 0
        self.classes_, codes = np.unique(labels[is_used], return_inverse=True)
        check_two_classes(self.classes_)
        points, codes, weights = _merge(points[is_used], codes, weights[is_used])
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        solutions = []
        for k in positives:
            targets = np.where(codes == k, 1.0, -1.0)
            solutions.append(self._solve(points, targets, weights))
        coefs, risks, gaps = zip(*solutions, strict=True)
        self.coef_ = np.array(coefs)
        self.risk_ = np.array(risks)
        self.duality_gap_ = np.array(gaps)
        largest = self.duality_gap_.max()
        risk_at_zero = float(margin_loss(self.loss, 0.0))
        if largest > _TOLERANCE * risk_at_zero:
            message = (
                f"the duality gap is {largest:.1e}, beside a risk of {risk_at_zero:.3g} at zero; "
                "scale the features"
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def _solve(self, X: NDArray, y: NDArray, c: NDArray) -> tuple[NDArray, float, float]:
        """Return weights, risk and duality gap of one binary program with sample weights c."""
        cp = need("cvxpy", "qp")
        # Unit box: the weights and the margins then have the same scale whatever the bound.
        signed = self.bound * y[:, None] * X
        w = cp.Variable(X.shape[1], bounds=[-1, 1])
        u = cp.Variable(len(X))
        margins = u == signed @ w
        if self.loss == "hinge":
            risk = c @ cp.pos(1 - u)
        elif self.loss == "logistic":
            risk = c @ cp.logistic(-u)
        else:
            risk = cp.sum_squares(cp.multiply(np.sqrt(c), 1 - u))
        solver = _SOLVERS[self.loss]
        with warnings.catch_warnings():
            # The duality gap is a measurement; the solver's warning is a guess.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            with suppress(cp.error.SolverError):  # w.value is then None
                cp.Problem(cp.Minimize(risk), [margins]).solve(solver=solver)
        if w.value is None:
            raise RuntimeError(
                f"the solver {solver} returned no weights at bound={short(self.bound)}; scale the "
                "features"
            )
        v = np.clip(w.value, -1, 1)
        solved_margins = signed @ v
        value = float(c @ margin_loss(self.loss, solved_margins))
        # Dual points: the solver's multipliers and, if the loss is smooth, minus its slope at u.
        # Both are feasible once clipped, and the better one certifies more.
        candidates = [margins.dual_value / c]
        if self.loss == "logistic":
            candidates.append(expit(-solved_margins))
        elif self.loss == "square":
            candidates.append(2 * (1 - solved_margins))
        dual = max(self._dual(a, c, signed) for a in candidates)
        return self.bound * v, value, value - dual

    def _dual(self, a: NDArray, c: NDArray, signed: NDArray) -> float:
        """Fenchel's dual at a, moved into the domain of the conjugate first."""
        if self.loss == "square":
            conjugate = np.square(a) / 4 - a
        elif self.loss == "hinge":
            a = np.clip(a, 0, 1)
            conjugate = -a
        else:
            a = np.clip(a, 0, 1)
            conjugate = -entr(a) - entr(1 - a)
        return float(-c @ conjugate - np.abs((c * a) @ signed).sum())

    def _decide(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64) @ self.coef_.T


def _merge(X: NDArray, codes: NDArray, weights: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Return samples sorted, equal ones merged, with weights that sum to one.

    Points of one orbit have equal features, so there can be many. The order fixed here makes the
    chosen minimiser, if there are several, independent of that of the samples.
    """
    samples = np.column_stack([codes, X])
    rows, row_of_sample = np.unique(samples, axis=0, return_inverse=True)
    total = np.bincount(row_of_sample.ravel(), weights)
    return rows[:, 1:], rows[:, 0], total / total.sum()
