"""ridge_by_holdout against scikit-learn's kernel ridge regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.kernel_ridge import KernelRidge

from invariance.kernels import Gaussian
from invariance.linear import ridge_by_holdout


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = X[:400] / 16
    return Gaussian(0.05)(X), y[:400] + 3  # labels need not start at zero


def scores(gram, y, train, test, lam):
    Y = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    alpha = lam * len(train) * gram[train, train].mean()
    model = KernelRidge(alpha=alpha, kernel="precomputed")
    model.fit(gram[np.ix_(train, train)], Y[train] - Y[train].mean(axis=0))
    return model.predict(gram[np.ix_(test, train)]) + Y[train].mean(axis=0)


def test_agrees_with_kernel_ridge(digits):
    gram, y = digits
    lambdas = [1e-8, 1e-5, 1e-2, 1.0]
    found = ridge_by_holdout(gram, y, lambdas, 100)
    train, held = np.arange(300), np.arange(300, 400)
    expected = [
        np.mean(np.unique(y)[scores(gram, y, train, held, lam).argmax(axis=1)] == y[held])
        for lam in lambdas
    ]
    assert_allclose(found.accuracies, expected)
    best = [lam for lam, e in zip(lambdas, expected, strict=True) if e == max(expected)]
    assert found.lam == max(best)
    everyone = np.arange(400)
    refitted = gram @ found.dual_coef + found.intercept
    assert_allclose(refitted, scores(gram, y, everyone, everyone, found.lam), atol=1e-6)


def test_float32_is_enough_above_its_rounding(digits):
    gram, y = digits
    one = ridge_by_holdout(gram.astype(np.float32), y, [1e-6], 100)
    two = ridge_by_holdout(gram, y, [1e-6], 100)
    assert_allclose(gram @ one.dual_coef, gram @ two.dual_coef, atol=1e-2)


def test_bad_input_is_named(digits):
    gram, y = digits
    indefinite = gram - 0.5 * np.eye(400)
    with pytest.raises(ValueError, match="not positive definite at any lambda up to 1.0e-05"):
        ridge_by_holdout(indefinite, y, [1e-6, 1e-5], 100)
    assert np.isnan(ridge_by_holdout(indefinite, y, [1e-6, 1.0], 100).accuracies[0])
    with pytest.raises(ValueError, match="n_held_out must lie between 1 and n - 1 = 399, got 400"):
        ridge_by_holdout(gram, y, [1.0], 400)
    with pytest.raises(ValueError, match="expected a square Gram matrix"):
        ridge_by_holdout(gram[:10], y, [1.0], 100)
    for lambdas in ([1e-3, np.nan], [-1.0], [np.inf], []):
        with pytest.raises(ValueError, match="lambdas must be finite numbers >= 0, at least one"):
            ridge_by_holdout(gram, y, lambdas, 100)
    holed = gram.copy()
    holed[3, 7] = holed[7, 3] = np.nan
    with pytest.raises(ValueError, match=r"Gram matrix must be finite, but entry \(3, 7\) is nan"):
        ridge_by_holdout(holed, y, [1.0], 100)
