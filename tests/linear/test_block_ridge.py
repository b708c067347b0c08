"""BlockRidgeClassifier against RLSClassifier, whole and in blocks."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from invariance.linear import BlockRidgeClassifier, RLSClassifier


@parametrize_with_checks([BlockRidgeClassifier(alpha=1e-3), BlockRidgeClassifier(block_rows=7)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


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


def test_blocks_and_order_do_not_matter():
    X, y = load_digits(return_X_y=True)
    whole = BlockRidgeClassifier(alpha=1e-2).fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    parts = BlockRidgeClassifier(alpha=1e-2)
    for rows in np.array_split(order, 9):
        parts.partial_fit(X[rows], y[rows], classes=range(10))
    assert parts.n_seen_ == len(X)
    assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-7)


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
    assert_allclose(
        model.decision_function(X),
        BlockRidgeClassifier().fit(X, y).decision_function(X),
        atol=1e-8,
    )


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


def test_bad_input_is_named():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="needs classes"):
        BlockRidgeClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="label 2 is not among classes"):
        BlockRidgeClassifier().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="alpha to be a finite number > 0, got 0"):
        BlockRidgeClassifier(alpha=0).fit(X, y)
    with pytest.raises(ValueError, match="dtype to be"):
        BlockRidgeClassifier(dtype="float16").fit(X, y)
    with pytest.raises(ValueError, match="alpha to be a finite number > 0, got nan"):
        BlockRidgeClassifier(alpha=np.nan).fit(X, y)
    for block_rows in (-1, 0, 2.5, None):
        with pytest.raises(
            ValueError, match=f"block_rows to be a whole number >= 1, got {block_rows}"
        ):
            BlockRidgeClassifier(block_rows=block_rows).fit(X, y)
    model = BlockRidgeClassifier().fit(X, y)
    for alpha in (np.nan, -1.0):
        with pytest.raises(ValueError, match="scores needs alphas to be a finite number > 0"):
            model.scores(X, y, alphas=[1e-3, alpha])
    with pytest.raises(
        ValueError, match="one label per row: 150 rows, but labels of shape \\(3,\\)"
    ):
        model.scores(X, y[:3], alphas=[1e-3])
