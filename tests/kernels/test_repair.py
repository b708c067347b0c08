"""Repairs of indefinite kernels in pipelines: on matrices, and from points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from invariance.groups import Translations
from invariance.kernels import (
    BestFit,
    Gaussian,
    GramTransformer,
    Linear,
    Polynomial,
    SpectrumRepair,
)
from invariance.linear import RLSClassifier

METHODS = ["clip", "flip", "shift", "nystrom"]


def expected_failures(estimator):
    """Landmarks need a first point with a positive diagonal, which the check's matrix has not."""
    landmarks = getattr(estimator, "method", None) == "nystrom"
    return {"check_positive_only_tag_during_fit": "no landmark"} if landmarks else {}


@parametrize_with_checks(
    [
        *(SpectrumRepair(method) for method in METHODS),
        *(GramTransformer(Gaussian(0.1), repair=repair) for repair in (*METHODS, None)),
        GramTransformer("sigmoid"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    # a set of shifts that is no group and is not closed under inversion: asymmetric, indefinite
    kernel = BestFit(
        Polynomial(4), Translations((8, 8), shifts=[[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]])
    )
    return X[:150], y[:150], kernel


@pytest.mark.parametrize("method", METHODS)
def test_from_points_it_is_the_repair_of_their_matrix(digits, method):
    X, _, kernel = digits
    gram, rows = kernel(X[:100]), kernel(X[100:], X[:100])
    assert np.linalg.eigvalsh((gram + gram.T) / 2)[0] < -1e-3
    transformer, plain = GramTransformer(kernel, repair=method), SpectrumRepair(method)
    assert_allclose(transformer.fit_transform(X[:100]), plain.fit_transform(gram))
    assert_allclose(transformer.transform(X[100:]), plain.transform(rows))
    assert_allclose(transformer.repair_.eigenvalues_, plain.eigenvalues_)
    untouched = GramTransformer(kernel, repair=None)
    assert_allclose(untouched.fit_transform(X[:100]), gram)
    assert_allclose(untouched.transform(X[100:]), rows)


@pytest.mark.parametrize(
    "learner", [SVC(kernel="precomputed"), RLSClassifier(kernel="precomputed")], ids=str
)
def test_cross_validation_splits_points(digits, learner):
    X, y, kernel = digits
    model, scores = make_pipeline(GramTransformer(kernel), learner), []
    for train, test in StratifiedKFold(3).split(X, y):
        repair = SpectrumRepair()
        fitted = clone(learner).fit(repair.fit_transform(kernel(X[train])), y[train])
        scores.append(fitted.score(repair.transform(kernel(X[test], X[train])), y[test]))
    assert_allclose(cross_val_score(model, X, y, cv=3), scores)
    assert np.mean(scores) > 0.85


def test_grid_search_reaches_the_kernel_and_the_repair(digits):
    X, y, kernel = digits
    model = make_pipeline(GramTransformer(kernel), SVC(kernel="precomputed"))
    grid = {
        "gramtransformer__repair": ["clip", "flip"],
        "gramtransformer__kernel__base__degree": [1, 4],
    }
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert_array_equal(search.predict(X[:5]), search.best_estimator_.predict(X[:5]))


def test_what_is_set_later_waits_for_the_next_fit(digits):
    X, _, kernel = digits
    kernel = clone(kernel)
    transformer = GramTransformer(kernel).fit(X[:40])
    before = transformer.transform(X[40:50])
    kernel.base.degree = 1
    transformer.set_params(repair=None)
    assert_allclose(transformer.transform(X[40:50]), before)
    assert not np.allclose(transformer.fit(X[:40]).transform(X[40:50]), before)


def test_names_of_what_comes_out():
    assert list(SpectrumRepair().fit(np.eye(2)).get_feature_names_out()) \
        == ["spectrumrepair0", "spectrumrepair1"]  # fmt: skip
    assert len(GramTransformer().fit(np.eye(3)[:, :2]).get_feature_names_out()) == 3


def test_clear_errors():
    X = np.eye(4)
    for kernel in (None, 3, Linear):
        with pytest.raises(ValueError, match="GramTransformer needs kernel to be"):
            GramTransformer(kernel).fit(X)
    with pytest.raises(ValueError, match="GramTransformer needs repair to be"):
        GramTransformer(repair="raise").fit(X)
    with pytest.raises(ValueError, match="SpectrumRepair needs n_landmarks to be"):
        SpectrumRepair(n_landmarks=0).fit(X)
    with pytest.raises(ValueError, match="NaN|finite"):
        GramTransformer(lambda x, z: np.nan).fit(X)


def test_explain_is_the_kernels_or_by_the_clock(digits):
    X, _, kernel = digits
    assert GramTransformer(kernel).explain(X) == kernel.explain(X)
    told = GramTransformer("rbf").explain(X)
    assert told.way == "evaluation" and told.seconds > 0
