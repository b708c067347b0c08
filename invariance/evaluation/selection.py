"""Kernels and feature maps chosen by the leave-one-out error of regularised least squares."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.kernel_ridge import KernelRidge

from ..kernels import Kernel, SpectrumRepair
from .trials import Predict

__all__ = ["best_by_leave_one_out", "best_with_copies"]


def best_by_leave_one_out(
    candidates: Sequence[Any], X: NDArray, y: NDArray, learner: Any, repair: bool = False
) -> Predict:
    """Regularised least squares on the kernel or feature map with the least leave-one-out error.

    Parameters
    ----------
    candidates : sequence of Kernel or transformer
        The same method with other parameters.
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
    learner : RLSClassifier or RLSRegressor
        Chooses its alpha by leave-one-out as well.
    repair : bool
        Clip the negative eigenvalues of Gram matrices, see `SpectrumRepair`.

    Returns
    -------
    callable
        From points of shape (m, d) to predictions.

    Examples
    --------
    >>> from invariance.kernels import Gaussian
    >>> from invariance.linear import RLSRegressor
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> f = best_by_leave_one_out([Gaussian(1e-6), Gaussian(5.0)], X, X[:, 0] ** 2, RLSRegressor())
    >>> bool(abs(f(np.array([[0.5]]))[0] - 0.25) < 1e-3)
    True
    """
    best = None
    for candidate in candidates:
        model, mend = clone(learner), None
        if isinstance(candidate, Kernel):
            train = candidate(X)
            train = (train + train.T) / 2
            if repair:
                mend = SpectrumRepair()
                train = mend.fit_transform(train)
            model.set_params(kernel="precomputed")
        else:
            candidate = clone(candidate)
            train = candidate.fit_transform(X)
        model.fit(train, y)
        error = model.loo_errors_.min()
        if best is None or error < best[0]:
            best = error, candidate, mend, model
    _, chosen, mend, model = best

    def predict(Z: NDArray) -> NDArray:
        if not isinstance(chosen, Kernel):
            return model.predict(chosen.transform(Z))
        rows = chosen(Z, X)
        return model.predict(rows if mend is None else mend.transform(rows))

    return predict


def best_with_copies(
    kernels: Sequence[Kernel], X: NDArray, y: NDArray, moved: NDArray, learner: Any
) -> Predict:
    """Kernel ridge regression on training points and moved copies of them: augmentation.

    Kernel and penalty are those that leave-one-out prefers without the copies, because the copies
    of a point that is left out would give it away.

    Parameters
    ----------
    kernels : sequence of Kernel
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
    moved : ndarray of shape (r, n, d)
        The training points after r transformations.
    learner : RLSClassifier or RLSRegressor
        What chooses.

    Examples
    --------
    >>> from invariance.kernels import Gaussian
    >>> from invariance.linear import RLSRegressor
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> f = best_with_copies([Gaussian(1.0)], X, X[:, 0] ** 2, -X[None], RLSRegressor())
    >>> bool(abs(f(np.array([[-0.5]]))[0] - 0.25) < 0.01)
    True
    """
    plain = [clone(learner).set_params(kernel=kernel).fit(X, y) for kernel in kernels]
    best = min(plain, key=lambda model: model.loo_errors_.min())
    points = np.concatenate([X, moved.reshape(-1, X.shape[1])])
    values = np.tile(y, len(moved) + 1)
    classes = np.unique(y) if is_classifier(learner) else None
    targets = values if classes is None else np.where(values[:, None] == classes, 1.0, -1.0)
    mean = targets.mean(axis=0)
    ridge = KernelRidge(kernel="precomputed", alpha=best.alpha_ * len(points))
    ridge.fit(best.kernel(points), targets - mean)

    def predict(Z: NDArray) -> NDArray:
        decided = ridge.predict(best.kernel(Z, points)) + mean
        return decided if classes is None else classes[decided.argmax(axis=1)]

    return predict
