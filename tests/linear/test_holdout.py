"""ridge_by_holdout against scikit-learn's kernel ridge regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.kernel_ridge import KernelRidge

from invariance.kernels import Gaussian
from invariance.linear import ridge_by_holdout

RELATIVE = {"relative_to": "diagonal"}


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
    alphas = [1e-8, 1e-5, 1e-2, 1.0]
    found = ridge_by_holdout(gram, y, alphas=alphas, n_held_out=100, **RELATIVE)
    train, held = np.arange(300), np.arange(300, 400)
    expected = [
        np.mean(np.unique(y)[scores(gram, y, train, held, lam).argmax(axis=1)] == y[held])
        for lam in alphas
    ]
    assert_allclose(found.accuracies, expected)
    best = [lam for lam, e in zip(alphas, expected, strict=True) if e == max(expected)]
    assert found.alpha == max(best)
    everyone = np.arange(400)
    refitted = gram @ found.dual_coef + found.intercept
    assert_allclose(refitted, scores(gram, y, everyone, everyone, found.alpha), atol=1e-6)


def test_float32_is_enough_above_its_rounding(digits):
    gram, y = digits
    one = ridge_by_holdout(gram.astype(np.float32), y, alphas=[1e-6], n_held_out=100, **RELATIVE)
    two = ridge_by_holdout(gram, y, alphas=[1e-6], n_held_out=100, **RELATIVE)
    assert_allclose(gram @ one.dual_coef, gram @ two.dual_coef, atol=1e-2)


@pytest.mark.filterwarnings("ignore::invariance.linear.IndefiniteWarning")
def test_bad_input_is_named(digits):
    gram, y = digits
    indefinite = gram - 0.5 * np.eye(400)
    with pytest.raises(ValueError, match="not positive definite at any alpha up to 1.0e-05"):
        ridge_by_holdout(
            indefinite, y, alphas=[1e-6, 1e-5], n_held_out=100, repair=None, **RELATIVE
        )
    assert np.isnan(
        ridge_by_holdout(
            indefinite, y, alphas=[1e-6, 1.0], n_held_out=100, repair=None, **RELATIVE
        ).accuracies[0]
    )
    with pytest.raises(
        ValueError, match="n_held_out to be a whole number >= 1 and <= 399, got 400"
    ):
        ridge_by_holdout(gram, y, alphas=[1.0], n_held_out=400)
    with pytest.raises(ValueError, match="expected a square Gram matrix"):
        ridge_by_holdout(gram[:10], y, alphas=[1.0], n_held_out=100)
    for alphas in ([1e-3, np.nan], [-1.0], [np.inf], []):
        with pytest.raises(ValueError, match="alphas to be .* finite numbers >= 0, at least one"):
            ridge_by_holdout(gram, y, alphas=alphas, n_held_out=100)
    holed = gram.copy()
    holed[3, 7] = holed[7, 3] = np.nan
    with pytest.raises(ValueError, match=r"Gram matrix must be finite, but entry \(3, 7\) is nan"):
        ridge_by_holdout(holed, y, alphas=[1.0], n_held_out=100)
