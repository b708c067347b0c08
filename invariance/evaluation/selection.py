"""Kernels and feature maps chosen by the leave-one-out error of regularised least squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from ..core.parameters import ParameterError, short
from ..kernels import GramTransformer, Kernel
from ..linear import kernel_ridge
from ..linear.ridge import in_power_of_two

Predict = Callable[[NDArray], NDArray]


def best_by_leave_one_out(
    candidates: Sequence[Any], learner: Any, *, X: NDArray, y: NDArray
) -> Predict:
    """Fit regularised least squares on the kernel or features of least leave-one-out error.

    Negative eigenvalues of kernels are clipped, for training points and new ones alike.

    Parameters
    ----------
    candidates : sequence of kernels or transformers
        The same method with other parameters; kernels may be sums and products of kernels.
    learner : RLSClassifier or RLSRegressor
        Chooses its alpha by leave-one-out as well.
    X, y : ndarray of shape (n, d) and (n,)

    Returns
    -------
    callable
        Function that returns predictions at points of shape (m, d).

    Examples
    --------
    >>> from invariance.kernels import Gaussian
    >>> from invariance.linear import RLSRegressor
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> kernels = [Gaussian(1e-6), Gaussian(5.0)]
    >>> f = best_by_leave_one_out(kernels, RLSRegressor(), X=X, y=X[:, 0] ** 2)
    >>> bool(abs(f(np.array([[0.5]]))[0] - 0.25) < 1e-3)
    True
    """

    targets, exponent = _in_unit(learner, y)

    def fit(candidate: Any) -> tuple[Any, Any]:
        model = clone(learner)
        features = clone(candidate)
        if not hasattr(candidate, "transform"):
            model.set_params(kernel="precomputed")
            features = GramTransformer(candidate, repair="clip")
        model.fit(features.fit_transform(X), targets)
        return features, model

    # One at a time: each holds a matrix as large as that of the training points.
    features, model = min(map(fit, candidates), key=lambda fitted: _least_error(fitted[1]))
    return _from_unit(lambda Z: model.predict(features.transform(Z)), exponent)


def _in_unit(learner: Any, y: NDArray) -> tuple[NDArray, int]:
    """Targets, and the exponent of their unit, which is one unless squares overflow or vanish."""
    is_plain = isinstance(y, np.ndarray) and y.dtype == np.float64 and not np.ma.is_masked(y)
    if is_classifier(learner) or not is_plain:
        return y, 0
    largest = np.abs(y).max(initial=0.0)
    if 0 < largest < 1e-100 or 1e100 < largest < np.inf:
        return in_power_of_two(y)
    return y, 0


def _from_unit(predict: Predict, exponent: int) -> Predict:
    """Predictions of targets that `_in_unit` has expressed in a unit."""
    if exponent == 0:
        return predict
    return lambda Z: np.ldexp(predict(Z), exponent)


def _least_error(model: Any) -> float:
    """The leave-one-out error at the model's alpha."""
    return float(model.loo_errors_.min())


def best_with_copies(
    kernels: Sequence[Kernel], learner: Any, *, X: NDArray, y: NDArray, moved: NDArray
) -> Predict:
    """Fit kernel ridge regression to points and transformed copies ``moved``, shape (r, n, d).

    Leave-one-out chooses kernel and alpha without the copies, because the copies of a point that
    is left out would reveal its target. Otherwise as `best_by_leave_one_out`, for learners with an
    intercept and without weights of classes.

    >>> from invariance.kernels import Gaussian
    >>> from invariance.linear import RLSRegressor
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> f = best_with_copies([Gaussian(1.0)], RLSRegressor(), X=X, y=X[:, 0] ** 2, moved=-X[None])
    >>> bool(abs(f(np.array([[-0.5]]))[0] - 0.25) < 0.01)
    True
    """
    parameters = learner.get_params(deep=False)
    if parameters.get("class_weight") is not None or not parameters.get("fit_intercept", True):
        raise ParameterError(
            "best_with_copies needs a learner with fit_intercept=True and class_weight=None, got "
            f"{short(learner)}: fit others to points and copies yourself"
        )
    y, exponent = _in_unit(learner, y)
    models = []
    for kernel in kernels:
        model = clone(learner).set_params(kernel=kernel)
        models.append(model.fit(X, y))
    best = min(models, key=_least_error)
    points = np.concatenate([X, moved.reshape(-1, X.shape[1])])
    values = np.tile(y, len(moved) + 1)
    classes = None
    targets = values
    if is_classifier(learner):
        classes = np.unique(y)
        targets = np.where(values[:, None] == classes, 1.0, -1.0)
    (dual,) = kernel_ridge(best.kernel(points), targets, alphas=best.alpha_)

    def predict(Z: NDArray) -> NDArray:
        decisions = best.kernel(Z, points) @ dual + targets.mean(axis=0)
        if classes is None:
            return decisions
        return classes[decisions.argmax(axis=1)]

    return _from_unit(predict, exponent)
