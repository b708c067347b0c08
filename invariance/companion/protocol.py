"""How a method is fitted and measured: the same way for all of them.

Least squares with every choice made by leave-one-out on the training points, and a clock and a
memory meter around it.
"""

import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.kernel_ridge import KernelRidge

from invariance.groups import Group
from invariance.kernels import Kernel, SpectrumRepair

__all__ = [
    "Predict",
    "Trial",
    "best_by_leave_one_out",
    "best_with_copies",
    "share_of_changes",
    "trial",
]

Predict = Callable[[NDArray], NDArray]


class Trial(NamedTuple):
    """One method fitted once.

    Attributes
    ----------
    score : float
        Accuracy or risk on test points.
    discrepancy : float
        How far the fitted function is from invariant.
    fit_s, predict_s : float
        CPU seconds of fitting, choice of parameters included, and of predicting all test points.
    peak_mb : float
        Largest memory of NumPy arrays and Python objects allocated by both, in MiB; NaN where it
        was not measured.
    """

    score: float
    discrepancy: float
    fit_s: float
    predict_s: float
    peak_mb: float


def trial(
    fit: Callable[[], Predict],
    points: NDArray,
    score: Callable[[NDArray], float],
    discrepancy: Callable[[Predict], float],
    memory: bool = False,
) -> Trial:
    """Fit, predict, and measure.

    Parameters
    ----------
    fit : callable
        Does everything from training data to a function that predicts.
    points : ndarray
        Test points.
    score : callable
        From predictions to accuracy or risk.
    discrepancy : callable
        From the fitted function to its departure from invariance.
    memory : bool
        Fit and predict once more under `tracemalloc`, which would slow the clock.

    Examples
    --------
    >>> done = trial(lambda: lambda X: X[:, 0], np.eye(3), np.mean, lambda f: 0.0, memory=True)
    >>> round(done.score, 3), done.peak_mb < 1
    (0.333, True)
    """
    start = time.process_time()
    predict = fit()
    fitted = time.process_time()
    predicted = predict(points)
    done = time.process_time()
    peak = np.nan
    if memory:
        tracemalloc.start()
        fit()(points)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
    return Trial(
        float(score(predicted)), float(discrepancy(predict)), fitted - start, done - fitted, peak
    )


def share_of_changes(
    predict: Predict, group: Group, X: NDArray, n_elements: int = 8, random_state=0
) -> float:
    """How often a predicted class changes under a random transformation.

    Parameters
    ----------
    predict : callable
        From points of shape (n, d) to classes.
    group : Group
    X : ndarray of shape (n, d)
    n_elements : int
        Transformations, the same ones for every point.
    random_state : int, RandomState or None

    Examples
    --------
    >>> from invariance.groups import Negation
    >>> signs = share_of_changes(lambda X: X[:, 0] > 0, Negation(), np.ones((5, 1)), 100)
    >>> bool(0.35 < signs < 0.65)
    True
    """
    moved = group.act(group.sample(n_elements, random_state), X)
    classes = predict(moved.reshape(-1, X.shape[1])).reshape(len(moved), -1)
    return float(np.mean(classes != predict(X)))


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
        Chooses its lambda by leave-one-out as well.
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
    ridge = KernelRidge(kernel="precomputed", alpha=best.lambda_ * len(points))
    ridge.fit(best.kernel(points), targets - mean)

    def predict(Z: NDArray) -> NDArray:
        decided = ridge.predict(best.kernel(Z, points)) + mean
        return decided if classes is None else classes[decided.argmax(axis=1)]

    return predict
