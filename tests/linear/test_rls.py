"""Leave-one-out of regularised least squares against refitting without each sample."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_classification

from invariance.kernels import Gaussian, Linear
from invariance.linear import BlockRidgeClassifier, RLSClassifier, RLSRegressor


def ridge(X, Y, lam, intercept, n):
    """The definition: normal equations of (1/n)|Y - XW - b|^2 + lam |W|^2, b unpenalised."""
    p = X.shape[1]
    A = np.c_[X, np.ones(len(X))] if intercept else X
    penalty = n * lam * np.diag([1.0] * p + [0.0] * intercept)
    W = np.linalg.solve(A.T @ A + penalty, A.T @ Y)
    return lambda Z: (np.c_[Z, np.ones(len(Z))] if intercept else Z) @ W


@settings(max_examples=30, deadline=None)
@given(
    st.integers(3, 12),
    st.integers(1, 16),
    st.integers(1, 3),
    st.booleans(),
    st.floats(-6, 1),
    st.integers(0, 10**6),
)
def test_leave_one_out_is_exact(n, p, t, intercept, log_lam, seed):
    rng = np.random.default_rng(seed)
    X, Y, lam = rng.standard_normal((n, p)), rng.standard_normal((n, t)), 10**log_lam
    # Leaving one out keeps n lambda, the weight of the penalty in the normal equations.
    brute = np.array(
        [
            ridge(np.delete(X, i, 0), np.delete(Y, i, 0), lam, intercept, n)(X[i : i + 1])[0]
            for i in range(n)
        ]
    )
    Z = rng.standard_normal((5, p))
    expected = ridge(X, Y, lam, intercept, n)(Z)
    for kernel in (None, Linear(), "precomputed"):
        model = RLSRegressor(alphas=[lam], kernel=kernel, fit_intercept=intercept)
        model.fit(X @ X.T if kernel == "precomputed" else X, Y)
        assert_allclose(model.loo_decision_, brute, rtol=1e-6, atol=1e-7)
        predicted = model.predict(Z @ X.T if kernel == "precomputed" else Z)
        assert_allclose(predicted.reshape(5, t), expected, rtol=1e-6, atol=1e-7)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_the_path_picks_the_smallest_error(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 8))
    y = X[:, 0] + rng.standard_normal(30)
    grid = np.logspace(-4, 2, 13)
    model = RLSRegressor(alphas=grid).fit(X, y)
    errors = [RLSRegressor(alphas=[lam]).fit(X, y).loo_errors_[0] for lam in grid]
    assert_allclose(model.loo_errors_, errors)
    assert model.alpha_ == grid[int(np.argmin(errors))]


def test_primal_and_dual_agree_on_either_side_of_square():
    rng = np.random.default_rng(0)
    for n, p in ((20, 19), (20, 20), (20, 21), (20, 60)):
        X, y = rng.standard_normal((n, p)), rng.standard_normal(n)
        primal = RLSRegressor(alphas=[0.1]).fit(X, y)
        dual = RLSRegressor(alphas=[0.1], kernel=Linear()).fit(X, y)
        assert_allclose(primal.loo_decision_, dual.loo_decision_, rtol=1e-8)
        assert_allclose(primal.predict(X), dual.predict(X), rtol=1e-8)


def test_duplicated_samples_and_constant_features():
    X = np.repeat(np.random.default_rng(0).standard_normal((10, 4)), 3, axis=0)
    X = np.c_[X, np.ones(30), np.zeros(30)]
    y = X[:, 0]
    assert_allclose(RLSRegressor().fit(X, y).predict(X), y, atol=1e-6)
    y = np.array([0.0, 1.0, 1.0, 1.0])
    for X in (np.zeros((4, 1)), np.full((4, 2), 3.0)):
        assert_allclose(RLSRegressor().fit(X, y).predict(X[:2]), 0.75)
        assert RLSClassifier().fit(X, y).predict(X[:1]) == 1


def test_loo_error_of_the_classifier_is_the_brute_force_one():
    X, y = make_classification(40, 5, random_state=1)
    lam = 0.05
    model = RLSClassifier(alphas=[lam]).fit(X, y)
    signs = 2.0 * y - 1
    wrong = 0
    for i in range(len(X)):
        f = ridge(np.delete(X, i, 0), np.delete(signs, i)[:, None], lam, True, len(X))
        wrong += (f(X[i : i + 1])[0, 0] > 0) != (y[i] == 1)
    assert abs(model.loo_errors_[0] * len(X) - wrong) <= 0.5


def test_clear_errors():
    X, y = np.random.default_rng(0).standard_normal((6, 3)), np.arange(6) % 2
    with pytest.raises(ValueError, match="square at fit"):
        RLSClassifier(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="not symmetric"):
        RLSClassifier(kernel="precomputed").fit(np.triu(np.ones((6, 6))), y)
    with pytest.raises(ValueError, match="one class"):
        RLSClassifier().fit(X, np.zeros(6))


@pytest.mark.parametrize("model", [RLSClassifier(), RLSRegressor()], ids=str)
def test_what_is_no_number_is_refused(model):
    X, y = np.random.default_rng(0).standard_normal((6, 3)), np.arange(6) % 2

    def broken(x, z):
        return np.nan if x[0] > 0 else 1.0

    with pytest.raises(ValueError, match=r"Gram matrix must be finite, but entry .* is nan"):
        clone(model).set_params(kernel=broken).fit(X, y)
    fitted = clone(model).set_params(kernel=lambda x, z: np.inf if x[0] > 9 else x @ z).fit(X, y)
    with pytest.raises(ValueError, match="new points .* must be finite"):
        fitted.predict(10 + np.abs(X))


@pytest.mark.parametrize("size", [1e160, 1e-200])
@pytest.mark.parametrize(
    "model", [RLSClassifier(), RLSRegressor(), BlockRidgeClassifier()], ids=str
)
def test_features_whose_squares_float64_cannot_hold_are_refused(model, size):
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    with pytest.raises(ValueError, match="scale the features"):
        clone(model).fit(size * X, y)
    alphas = 1e-3 if isinstance(model, BlockRidgeClassifier) else [1e-3]
    for small in (1e-100, 1e100):  # and what it can hold is right, with alpha on the same scale
        plain = type(model)(alphas).fit(X, y)
        scaled = type(model)(np.multiply(alphas, small**2)).fit(small * X, y)
        assert_allclose(scaled.predict(small * X), plain.predict(X), rtol=1e-6)


def test_small_kernels_are_as_good_as_large_ones():
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = X[:, 0] ** 2
    one = RLSRegressor(kernel="precomputed").fit(X @ X.T, y)
    two = RLSRegressor(kernel="precomputed").fit(1e-20 * X @ X.T, y)
    assert_allclose(two.loo_decision_, one.loo_decision_, rtol=1e-6)


def test_parameters_set_after_fit_wait_for_the_next_fit():
    X, y = np.random.default_rng(0).standard_normal((30, 3)), np.arange(30) % 2
    Z = X[:5] + 0.1
    for kernel in (None, Gaussian(0.5), "rbf"):
        model = RLSClassifier(kernel=kernel).fit(X, y)
        expected = model.decision_function(Z)
        if kernel is not None and not isinstance(kernel, str):
            model.set_params(kernel__gamma=7.0)
            assert_allclose(model.decision_function(Z), expected)
        model.set_params(kernel="linear", fit_intercept=False, alphas=[1e3], class_weight={1: 9})
        assert_allclose(model.decision_function(Z), expected)
        assert not np.allclose(model.fit(X, y).decision_function(Z), expected)
        assert_allclose(model.set_params(kernel=None).fit(X, y).predict(Z).shape, (5,))
