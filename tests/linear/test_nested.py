"""Nested cross-validation against plain loops over scikit-learn's kernel ridge regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_ridge import KernelRidge

from invariance.kernels import Gaussian
from invariance.linear import nested_ridge

RELATIVE = {"relative_to": "diagonal"}


def plain(gram, y, train, test, lam):
    alpha = lam * len(train) * gram[train, train].mean()
    model = KernelRidge(alpha=alpha, kernel="precomputed")
    model.fit(gram[np.ix_(train, train)], y[train] - y[train].mean())
    return model.predict(gram[np.ix_(test, train)]) + y[train].mean()


@pytest.mark.parametrize("n_inner", [None, 2])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_plain_loops(seed, n_inner):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((43, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(43) + 5
    gram = Gaussian(0.5)(X)
    folds = [f for f in np.array_split(rng.permutation(43), 4)]
    alphas = np.logspace(-6, 0, 5)
    found = nested_ridge(gram, y, folds=folds, alphas=alphas, n_inner=n_inner, **RELATIVE)
    for a in range(4):
        rest = [c for c in range(4) if c != a]
        inner = rest if n_inner is None else [(a - 1) % 4, (a + 1) % 4]
        errors = np.zeros((len(inner), 5))
        for i, b in enumerate(inner):
            train = np.concatenate([folds[c] for c in rest if c != b])
            for j, lam in enumerate(alphas):
                residual = plain(gram, y, train, folds[b], lam) - y[folds[b]]
                errors[i, j] = np.sqrt(np.mean(residual**2))
        assert_allclose(found.inner[a], errors.mean(axis=0), rtol=1e-6)
        assert found.chosen[a] == alphas[errors.mean(axis=0).argmin()]
        train = np.concatenate([folds[c] for c in rest])
        expected = plain(gram, y, train, folds[a], found.chosen[a])
        assert_allclose(found.predictions[folds[a]], expected, rtol=1e-6)


def test_the_gram_matrix_is_left_as_it_was_and_test_targets_do_not_leak():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    gram = Gaussian(0.5)(X)
    before = gram.copy()
    folds = list(np.arange(30).reshape(3, 10))
    one = nested_ridge(gram, y, folds=folds, alphas=[1e-3, 1e-1])
    assert_array_equal(gram, before)
    changed = y.copy()
    changed[folds[0]] += 100
    two = nested_ridge(gram, changed, folds=folds, alphas=[1e-3, 1e-1])
    assert_array_equal(one.predictions[folds[0]], two.predictions[folds[0]])
    assert one.chosen[0] == two.chosen[0]


@pytest.mark.filterwarnings("ignore::invariance.linear.IndefiniteWarning")
def test_indefinite_matrices_need_larger_alphas_where_they_are_not_repaired():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    gram = Gaussian(0.5)(X)
    gram -= 0.05 * np.eye(30)
    folds = list(np.arange(30).reshape(3, 10))
    with pytest.raises(ValueError, match="not positive definite at any alpha up to 1.0e-09"):
        nested_ridge(gram, y, folds=folds, alphas=[1e-10, 1e-9], repair=None, **RELATIVE)
    found = nested_ridge(gram, y, folds=folds, alphas=[1e-10, 1e-1], repair=None, **RELATIVE)
    assert np.all(found.chosen == 1e-1) and np.isfinite(found.predictions).all()
    with pytest.raises(ValueError, match=r"alphas to be .* finite numbers >= 0.* got \[nan\]"):
        nested_ridge(gram, y, folds=folds, alphas=[np.nan])
    with pytest.raises(ValueError, match="at least 3 folds, got 2"):
        nested_ridge(gram, y, folds=folds[:2], alphas=[1.0])
    with pytest.raises(ValueError, match="n_inner to be .* a whole number >= 2 and <= 2, got 1"):
        nested_ridge(gram, y, folds=folds, alphas=[1.0], n_inner=1)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"gram": np.eye(9) * np.nan}, r"Gram matrix must be finite, but entry \(0, 0\) is nan"),
        ({"gram": np.ones((9, 8))}, r"square Gram matrix .* shapes \(9, 8\) and \(9,\)"),
        ({"y": np.ones(8)}, r"one target per row, got shapes \(9, 9\) and \(8,\)"),
        ({"y": np.append(np.ones(8), np.inf)}, "y must be finite, but entry 8 is inf"),
        ({"folds": [[0, 1, 2], [2, 3], [4, 5]]}, "point 2 is in fold 0 and again in fold 1"),
        ({"folds": [[0, 0], [2, 3], [4, 5]]}, "point 0 is in fold 0 and again in fold 0"),
        ({"folds": [[0, 1], [], [4, 5]]}, "at least one index, but fold 1 is"),
        ({"folds": [[0, 1], [2, 3], [4, 9]]}, "fold 2 has index 9, outside 0 .. 8"),
    ],
)
def test_bad_input_is_named(changes, message):
    good = {"gram": np.eye(9), "y": np.arange(9.0), "folds": list(np.arange(9).reshape(3, 3))}
    with pytest.raises(ValueError, match=message):
        nested_ridge(**{**good, **changes}, alphas=[1.0])
