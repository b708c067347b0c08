"""Indefinite Gram matrices: definiteness, Gershgorin's margin, and repairs in pipelines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from invariance import kernels
from invariance.groups import Translations
from invariance.linear import RLSClassifier

METHODS = ["clip", "flip", "shift", "nystrom"]


def repair(method="clip"):
    return kernels.GramTransformer("precomputed", repair=method)


def indefinite(n, seed, shift=0.3):
    """A symmetric matrix whose leading blocks are definite up to some point."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    noise = rng.standard_normal((n, n))
    return kernels.Gaussian(0.5)(X) + shift * (noise + noise.T) / 4


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 25), st.integers(0, 10**6), st.floats(0, 2))
def test_largest_definite_agrees_with_the_eigenvalues_of_every_leading_block(n, seed, shift):
    K = indefinite(n, seed, shift)
    smallest = [np.linalg.eigvalsh(K[:k, :k])[0] for k in range(1, n + 1)]
    size = kernels.largest_definite(K)
    assert all(value > -1e-10 for value in smallest[:size])
    if size < n:
        assert smallest[size] < 1e-10


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10**6))
def test_gershgorin_bounds_the_smallest_eigenvalue(n, seed):
    K = indefinite(n, seed)
    discs = min(K[i, i] - np.abs(np.delete(K[i], i)).sum() for i in range(n))
    assert_allclose(kernels.gershgorin_margin(K), discs, atol=1e-12)
    assert kernels.gershgorin_margin(K) <= np.linalg.eigvalsh(K)[0] + 1e-12


def test_the_report_counts_negative_eigenvalues_and_names_the_remedy():
    K = indefinite(20, 0)
    report = kernels.gram_report(K)
    values = np.linalg.eigvalsh(K)
    assert_allclose([report.smallest, report.largest], values[[0, -1]])
    assert report.n_negative == (values < 0).sum() > 0
    assert report.symmetric and not report.positive_definite
    assert_allclose(report.negative_share, -values[values < 0].sum() / np.abs(values).sum())
    assert "GramTransformer" in str(report) and "Not symmetric" not in str(report)
    K[0, 1] += 1
    assert "Not symmetric" in str(kernels.gram_report(K))
    definite = kernels.gram_report(np.eye(4) + 0.1)
    assert definite.positive_definite and definite.definite_up_to == 4 and definite.n_negative == 0
    assert "GramTransformer" not in str(definite)
    assert kernels.gram_report(np.zeros((2, 2))).definite_up_to == 0


@pytest.mark.parametrize("method", METHODS)
def test_repaired_matrices_are_positive_semi_definite_and_definite_ones_are_unchanged(method):
    for seed in range(5):
        repaired = repair(method).fit_transform(indefinite(25, seed))
        assert_allclose(repaired, repaired.T)
        values = np.linalg.eigvalsh(repaired)
        assert values[0] > -1e-9 * values[-1]
    K = kernels.Gaussian(0.5)(np.random.default_rng(0).standard_normal((15, 4)))
    model = repair(method)
    assert_allclose(model.fit_transform(K), K, atol=1e-9)
    assert_allclose(model.transform(K[:3]), K[:3], atol=1e-9)


@pytest.mark.parametrize("unit", [2.0**-1070, 2.0**-1030, 1.0, 2.0**1000])
def test_shares_of_a_report_have_no_unit(unit):
    report = kernels.gram_report(unit * np.array([[1.0, 3.0], [1.0, 1.0]]))
    assert report.asymmetry == pytest.approx(2 / 3)
    # The symmetric part has the eigenvalues -1 and 3.
    assert report.negative_share == pytest.approx(1 / 4)
    zero_report = kernels.gram_report(np.zeros((2, 2)))
    assert zero_report.asymmetry == 0
    assert zero_report.negative_share == 0


def test_clip_drops_negative_eigenvalues_and_shift_adds_the_smallest_multiple_of_the_identity():
    K = indefinite(20, 1)
    values, vectors = np.linalg.eigh(K)
    clipped = repair("clip").fit(K)
    assert_allclose(clipped.fit_transform(K), (vectors * np.maximum(values, 0)) @ vectors.T)
    # A training point given as a new point gets its row of the clipped matrix.
    assert_allclose(clipped.transform(K), clipped.fit_transform(K), atol=1e-10)
    shifted = repair("shift").fit_transform(K)
    assert_allclose(shifted - K, -values[0] * np.eye(20), atol=1e-12)
    assert_allclose(np.linalg.eigvalsh(shifted)[0], 0, atol=1e-12)


def test_flip_preserves_the_squared_matrix_and_makes_differences_sums():
    K = indefinite(20, 3)
    flip = repair("flip").fit(K)
    repaired = flip.fit_transform(K)
    assert_allclose(repaired @ repaired, K @ K, atol=1e-10)
    assert_allclose(flip.transform(K), repaired, atol=1e-10)
    # A difference of two kernels with orthogonal ranges becomes their sum.
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))[0]
    S = basis[:, :4] * [1, 2, 3, 4]
    D = basis[:, 4:7] * [0.5, 1, 1.5]
    assert_allclose(repair("flip").fit_transform(S @ S.T - D @ D.T), S @ S.T + D @ D.T, atol=1e-12)


def test_nystrom_preserves_the_rows_of_the_landmarks():
    K = indefinite(20, 2)
    model = repair("nystrom").fit(K)
    repaired = model.fit_transform(K)
    m = kernels.largest_definite(K)
    assert model.n_landmarks_ == m < 20
    assert_allclose(repaired[:m], K[:m], atol=1e-10)
    assert np.linalg.matrix_rank(repaired, tol=1e-9) == m
    assert_allclose(model.transform(K), repaired, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_cross_validation_takes_rows_and_columns_of_the_gram_matrix(method):
    K = indefinite(60, 0)
    y = np.arange(60) % 2
    model = make_pipeline(repair(method), SVC(kernel="precomputed"))
    folds = []
    for train, test in StratifiedKFold(3).split(K, y):
        model.fit(K[np.ix_(train, train)], y[train])
        folds.append(model.score(K[np.ix_(test, train)], y[test]))
    assert_allclose(cross_val_score(model, K, y, cv=3), folds)
    search = GridSearchCV(model, {"gramtransformer__repair": [method]}, cv=3).fit(K, y)
    assert_allclose(search.best_score_, np.mean(folds))


# -- from points ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    # Shifts that are not closed under inversion: the matrix is asymmetric and indefinite.
    kernel = kernels.BestFit(
        kernels.Polynomial(4), Translations((8, 8), shifts=[[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]])
    )
    return X[:150], y[:150], kernel


@pytest.mark.parametrize("method", METHODS)
def test_repairing_from_points_is_repairing_their_gram_matrix(digits, method):
    X, _, kernel = digits
    gram = kernel(X[:100])
    rows = kernel(X[100:], X[:100])
    assert np.linalg.eigvalsh((gram + gram.T) / 2)[0] < -1e-3
    transformer = kernels.GramTransformer(kernel, repair=method)
    plain = repair(method)
    assert_allclose(transformer.fit_transform(X[:100]), plain.fit_transform(gram))
    assert_allclose(transformer.transform(X[100:]), plain.transform(rows))
    assert_allclose(transformer.eigenvalues_, plain.eigenvalues_)
    untouched = kernels.GramTransformer(kernel, repair=None)
    assert_allclose(untouched.fit_transform(X[:100]), gram)
    assert_allclose(untouched.transform(X[100:]), rows)


@pytest.mark.parametrize(
    "learner", [SVC(kernel="precomputed"), RLSClassifier(kernel="precomputed")], ids=str
)
def test_cross_validation_splits_points(digits, learner):
    X, y, kernel = digits
    model = make_pipeline(kernels.GramTransformer(kernel), learner)
    scores = []
    for train, test in StratifiedKFold(3).split(X, y):
        by_hand = repair()
        fitted = clone(learner).fit(by_hand.fit_transform(kernel(X[train])), y[train])
        scores.append(fitted.score(by_hand.transform(kernel(X[test], X[train])), y[test]))
    assert np.mean(scores) > 0.85
    grid = {"gramtransformer__kernel__base__degree": [1, 4]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)  # the second degree is that of the fixture
    assert_allclose(search.cv_results_["mean_test_score"][1], np.mean(scores))
