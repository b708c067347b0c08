"""Definiteness, Gershgorin's margin and the three repairs of an indefinite Gram matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from invariance.kernels import (
    Gaussian,
    SpectrumRepair,
    gershgorin_margin,
    gram_report,
    largest_definite,
)


def indefinite(n, seed, shift=0.3):
    """A symmetric matrix whose leading blocks are definite up to some point."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    noise = rng.standard_normal((n, n))
    return Gaussian(0.5)(X) + shift * (noise + noise.T) / 4


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 25), st.integers(0, 10**6), st.floats(0, 2))
def test_largest_definite_against_eigenvalues_of_every_leading_block(n, seed, shift):
    K = indefinite(n, seed, shift)
    smallest = [np.linalg.eigvalsh(K[:k, :k])[0] for k in range(1, n + 1)]
    found = largest_definite(K)
    assert all(value > -1e-10 for value in smallest[:found])
    if found < n:
        assert smallest[found] < 1e-10


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10**6))
def test_gershgorin_bounds_the_smallest_eigenvalue(n, seed):
    K = indefinite(n, seed)
    discs = min(K[i, i] - np.abs(np.delete(K[i], i)).sum() for i in range(n))
    assert_allclose(gershgorin_margin(K), discs, atol=1e-12)
    assert gershgorin_margin(K) <= np.linalg.eigvalsh(K)[0] + 1e-12


def test_report():
    K = indefinite(20, 0)
    report, values = gram_report(K), np.linalg.eigvalsh(K)
    assert_allclose([report.smallest, report.largest], values[[0, -1]])
    assert report.n_negative == (values < 0).sum() > 0
    assert report.symmetric and not report.positive_definite
    assert_allclose(report.negative_share, -values[values < 0].sum() / np.abs(values).sum())
    assert "SpectrumRepair" in str(report) and "Not symmetric" not in str(report)
    K[0, 1] += 1
    assert "Not symmetric" in str(gram_report(K))
    good = gram_report(np.eye(4) + 0.1)
    assert good.positive_definite and good.definite_up_to == 4 and good.n_negative == 0
    assert "SpectrumRepair" not in str(good)
    assert gram_report(np.zeros((2, 2))).definite_up_to == 0


@pytest.mark.parametrize("method", ["clip", "flip", "shift", "nystrom"])
@pytest.mark.parametrize("seed", range(5))
def test_repaired_matrices_are_positive_semi_definite(method, seed):
    K = indefinite(25, seed)
    repaired = SpectrumRepair(method).fit_transform(K)
    assert_allclose(repaired, repaired.T)
    values = np.linalg.eigvalsh(repaired)
    assert values[0] > -1e-9 * values[-1]


def test_a_definite_matrix_stays_as_it_is():
    K = Gaussian(0.5)(np.random.default_rng(0).standard_normal((15, 4)))
    for method in ("clip", "flip", "shift", "nystrom"):
        repair = SpectrumRepair(method)
        assert_allclose(repair.fit_transform(K), K, atol=1e-9)
        assert_allclose(repair.transform(K[:3]), K[:3], atol=1e-9)


def test_clipping_is_the_nearest_and_shifting_the_least():
    K = indefinite(20, 1)
    values, vectors = np.linalg.eigh(K)
    clipped = SpectrumRepair("clip").fit(K)
    assert_allclose(clipped.fit_transform(K), (vectors * np.maximum(values, 0)) @ vectors.T)
    # A training row as a new point gets its own row of the clipped matrix.
    assert_allclose(clipped.transform(K), clipped.fit_transform(K), atol=1e-10)
    shifted = SpectrumRepair("shift").fit_transform(K)
    assert_allclose(shifted - K, -values[0] * np.eye(20), atol=1e-12)
    assert_allclose(np.linalg.eigvalsh(shifted)[0], 0, atol=1e-12)


def test_flipping_keeps_the_square_and_every_part():
    K = indefinite(20, 3)
    flip = SpectrumRepair("flip").fit(K)
    repaired = flip.fit_transform(K)
    assert_allclose(repaired @ repaired, K @ K, atol=1e-10)
    assert_allclose(flip.transform(K), repaired, atol=1e-10)
    # A difference of two kernels with orthogonal ranges becomes their sum.
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))[0]
    S, D = basis[:, :4] * [1, 2, 3, 4], basis[:, 4:7] * [0.5, 1, 1.5]
    sums = SpectrumRepair("flip").fit_transform(S @ S.T - D @ D.T)
    assert_allclose(sums, S @ S.T + D @ D.T, atol=1e-12)


def test_nystrom_keeps_the_landmarks():
    K = indefinite(20, 2)
    repair = SpectrumRepair("nystrom", n_landmarks=3).fit(K)
    repaired = repair.fit_transform(K)
    assert_allclose(repaired[:3], K[:3], atol=1e-10)
    assert np.linalg.matrix_rank(repaired, tol=1e-9) == 3
    assert_allclose(repair.transform(K), repaired, atol=1e-10)
    assert SpectrumRepair("nystrom").fit(K).n_landmarks_ == largest_definite(K)


def test_in_a_pipeline():
    K, y = indefinite(30, 0), np.arange(30) % 2
    model = make_pipeline(SpectrumRepair(), SVC(kernel="precomputed")).fit(K, y)
    assert model.predict(K[:5]).shape == (5,)


def test_clear_errors():
    for function in (gershgorin_margin, gram_report, largest_definite, SpectrumRepair().fit):
        with pytest.raises(ValueError, match="a Gram matrix is square"):
            function(np.ones((3, 2)))
    with pytest.raises(ValueError, match="method to be"):
        SpectrumRepair("square").fit(np.eye(2))
    with pytest.raises(ValueError, match="between 1 and that many"):
        SpectrumRepair("nystrom", n_landmarks=3).fit([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="2 features"):
        SpectrumRepair().fit(np.eye(2)).transform(np.ones((1, 3)))


@pytest.mark.parametrize("method", ["clip", "flip", "shift", "nystrom"])
def test_cross_validation_takes_rows_and_columns_of_the_gram_matrix(method):
    K, y = indefinite(60, 0), np.arange(60) % 2
    model, folds = make_pipeline(SpectrumRepair(method), SVC(kernel="precomputed")), []
    for train, test in StratifiedKFold(3).split(K, y):
        model.fit(K[np.ix_(train, train)], y[train])
        folds.append(model.score(K[np.ix_(test, train)], y[test]))
    assert_allclose(cross_val_score(model, K, y, cv=3), folds)
    search = GridSearchCV(model, {"spectrumrepair__method": [method]}, cv=3).fit(K, y)
    assert_allclose(search.best_score_, np.mean(folds))
