"""BlockRidgeClassifier against RLSClassifier, whole and in blocks."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris

from invariance.linear import BlockRidgeClassifier, RLSClassifier


@pytest.mark.parametrize("alpha", [1e-4, 1e-1])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_agrees_with_rls(alpha, n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    reference = RLSClassifier(alphas=[alpha]).fit(X, y)
    model = BlockRidgeClassifier(alpha=alpha, block_rows=11).fit(X, y)
    expected = reference.decision_function(X)
    assert_allclose(model.decision_function(X), expected, atol=1e-8)
    assert_array_equal(model.predict(X), reference.predict(X))


def test_held_out_scores_and_points_added_later():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    alphas = [1e-6, 1e-3, 1e-1]
    model = BlockRidgeClassifier().fit(X[:1200], y[:1200])
    scores = model.scores(X[1200:], y[1200:], alphas=alphas)
    expected = [
        BlockRidgeClassifier(alpha=alpha).fit(X[:1200], y[:1200]).score(X[1200:], y[1200:])
        for alpha in alphas
    ]
    assert_allclose(scores, expected)
    model.partial_fit(X[1200:], y[1200:])
    whole = BlockRidgeClassifier().fit(X, y)
    assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-8)


def test_float32():
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    one = BlockRidgeClassifier(alpha=1e-2, dtype="float32").fit(X, y)
    two = BlockRidgeClassifier(alpha=1e-2).fit(X, y)
    assert one._squares.dtype == np.float32
    assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-3)
    twins = np.concatenate([X, X], axis=1)
    broken = BlockRidgeClassifier(alpha=1e-3, dtype="float32").fit(twins, y)
    assert np.isnan(broken.scores(twins, y, alphas=[1e-30])[0])
    with pytest.raises(ValueError, match="not positive definite .* raise alpha or use float64"):
        broken.set_params(alpha=1e-30).fit(twins, y)


def test_sums_in_place_and_one_copy_for_the_factor():
    X, y = np.random.default_rng(0).standard_normal((20, 1500)), np.arange(20) % 2
    model = BlockRidgeClassifier().partial_fit(X, y, classes=[0, 1])
    square = model._squares.nbytes
    tracemalloc.start()
    model.partial_fit(X, y)
    assert tracemalloc.get_traced_memory()[1] < square / 4
    tracemalloc.reset_peak()
    model.decision_function(X)
    # the covariance, which the factor replaces
    assert tracemalloc.get_traced_memory()[1] < 1.5 * square
    tracemalloc.stop()


def test_an_offset_of_the_features_costs_no_precision():
    """Features of 1000 + noise in single precision, which hold 24 bits: 14 of them of the noise."""
    X, y = load_digits(return_X_y=True)
    X = X / 16 + np.random.default_rng(0).standard_normal(X.shape) * 0.1
    train, test = slice(0, 1200), slice(1200, None)
    exact = BlockRidgeClassifier(1e-2).fit(X[train], y[train])
    far = (X + 1000).astype(np.float32)
    for dtype in ("float64", "float32"):
        model = BlockRidgeClassifier(1e-2, 300, dtype=dtype).fit(far[train], y[train])
        difference = model.decision_function(far[test]) - exact.decision_function(X[test])
        assert np.abs(difference).max() < 2e-3
        assert abs(model.score(far[test], y[test]) - exact.score(X[test], y[test])) < 0.005
        assert_allclose(
            far[test].astype(float) @ model.coef_.T + model.intercept_,
            model.decision_function(far[test]),
            atol=1e-3,
        )


def test_coefficients_are_of_what_was_seen_last():
    X, y = load_iris(return_X_y=True)
    model = BlockRidgeClassifier(1e-3)
    assert not hasattr(model, "coef_") and not hasattr(model, "intercept_")
    model.partial_fit(X[::2], y[::2], classes=[0, 1, 2])
    assert_allclose(model.coef_, BlockRidgeClassifier(1e-3).fit(X[::2], y[::2]).coef_, rtol=1e-8)
    model.partial_fit(X[1::2], y[1::2])
    whole = BlockRidgeClassifier(1e-3).fit(X, y)
    assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
    assert_allclose(model.intercept_, whole.intercept_, rtol=1e-8)
    assert_allclose(X @ model.coef_.T + model.intercept_, whole.decision_function(X), atol=1e-9)


def test_alpha_set_after_fit_waits_and_solve_does_not():
    X, y = load_iris(return_X_y=True)
    model = BlockRidgeClassifier(1e-3).fit(X, y)
    before = model.decision_function(X)
    assert_array_equal(model.set_params(alpha=10.0, dtype="float32").decision_function(X), before)
    assert model.alpha_ == 1e-3
    strong = BlockRidgeClassifier(10.0).fit(X, y)
    assert_allclose(model.solve(10.0).decision_function(X), strong.decision_function(X))
    assert model.alpha_ == 10.0 and model.solve(1e-3).alpha_ == 1e-3
    lazy = BlockRidgeClassifier(1e-3).partial_fit(X, y, [0, 1, 2]).set_params(alpha=10.0)
    assert_allclose(lazy.decision_function(X), before, rtol=1e-6)
