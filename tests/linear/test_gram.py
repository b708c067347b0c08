"""Precomputed Gram matrices: leave-one-out for points, and for points with their copies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge

from invariance.kernels import Gaussian
from invariance.linear import RLSClassifier, left_out_with_copies, rls_by_cholesky

# ------------------------------------------------------------ leave-one-out


def problem(n=60, d=5, seed=0, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    X = rng.standard_normal((n, d)) + 1.5 * np.eye(classes, d)[y]
    return X, y


def left_out(gram, y, ridge):
    """The definition: n fits, each with its own intercept."""
    n = len(y)
    Y = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    decided = np.empty_like(Y)
    for i in range(n):
        rest = np.arange(n) != i
        # Minimize |Y - K a - b|^2 + ridge a^T K a over a and b.
        K = gram[np.ix_(rest, rest)]
        system = np.block(
            [
                [K + ridge * np.eye(n - 1), np.ones((n - 1, 1))],
                [np.ones((1, n - 1)), np.zeros((1, 1))],
            ]
        )
        solved = np.linalg.solve(system, np.vstack([Y[rest], np.zeros((1, Y.shape[1]))]))
        decided[i] = gram[i, rest] @ solved[:-1] + solved[-1]
    return decided


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([2, 3, 5]))
def test_the_error_agrees_with_n_fits_without_one_point(seed, classes):
    X, y = problem(seed=seed, classes=classes, n=40)
    gram = X @ X.T + 0.1 * np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(-1))
    model = rls_by_cholesky(gram, y, start=1e-3)
    for alpha, error in model.loo_errors.items():
        expected = np.mean(left_out(gram, y, alpha * len(y)).argmax(axis=1) != y)
        assert 0 <= error - expected <= 0.5 / len(y)
    assert model.loo_errors[model.alpha] == min(model.loo_errors.values())


def test_predictions_agree_with_the_eigenvalue_path():
    X, y = problem(n=200, d=20)
    Z, _ = problem(n=50, d=20, seed=1)
    model = rls_by_cholesky(X @ X.T, y, start=0.1)
    centred = X - X.mean(axis=0)
    assert abs(len(X) * model.scale / np.linalg.eigvalsh(centred @ centred.T)[-1] - 1) < 0.05
    by_eigenvalues = RLSClassifier(alphas=[model.alpha]).fit(X, y)
    assert_allclose(model.decide(Z @ X.T), by_eigenvalues.decision_function(Z), atol=1e-9)
    single = rls_by_cholesky((X @ X.T).astype(np.float32), y, start=0.1)
    assert single.alpha / single.scale == model.alpha / model.scale
    assert_allclose(single.decide(Z @ X.T), model.decide(Z @ X.T), atol=1e-3)


def test_the_search_for_alpha_stops_at_a_local_minimum_and_above_rounding():
    X, y = problem(n=100, d=30, seed=3)
    model = rls_by_cholesky(X @ X.T, y, start=1e-6)
    errors = model.loo_errors
    step = 10**0.5
    for neighbour in (model.alpha * step, model.alpha / step):
        near = [e for alpha, e in errors.items() if np.isclose(alpha, neighbour)]
        assert near and near[0] >= errors[model.alpha]
    single = rls_by_cholesky((X @ X.T).astype(np.float32), y, start=1e-5)
    assert min(single.loo_errors) / single.scale >= 8 * np.finfo(np.float32).eps


@pytest.mark.parametrize("start", [1e-6, 1e-9, 1e-12, 1e-15])
def test_tiny_penalties_are_not_lost_in_the_direction_of_the_intercept(start):
    """The leave-one-out errors of a well-conditioned matrix hardly depend on tiny penalties."""
    X, y = problem(n=80, d=5)
    gram = np.exp(-2 * ((X[:, None] - X) ** 2).sum(-1))
    model = rls_by_cholesky(gram, y, start=start)
    for alpha, error in list(model.loo_errors.items())[:3]:
        expected = np.mean(left_out(gram, y, alpha * len(y)).argmax(axis=1) != y)
        assert expected > 0.2 and 0 <= error - expected <= 0.5 / len(y)


# ------------------------------------------------------------ leave-one-out with copies

N = 24
COPIES = 3
rng = np.random.default_rng(0)
POINTS = rng.standard_normal((N, 4))
LABELS = np.array(["a", "b", "c"])[np.digitize(POINTS[:, 0] + POINTS[:, 1], [-0.6, 0.6])]
AUGMENTED = np.concatenate([POINTS, *(POINTS + 0.3 * rng.standard_normal((2, N, 4)))])


def share_by_refits(copies, alpha):
    """Share of points predicted correctly by fits without the point and its copies."""
    X = AUGMENTED[: copies * N]
    classes = np.unique(LABELS)
    Y = np.where(LABELS[:, None] == classes, 1.0, -1.0)
    is_correct = []
    for i in range(N):
        rest = np.arange(len(X)) % N != i
        model = KernelRidge(alpha=alpha * len(X), kernel=Gaussian(0.5))
        model.fit(X[rest], np.tile(Y - Y.mean(axis=0), (copies, 1))[rest])
        is_correct.append(classes[np.argmax(model.predict(X[[i]]) + Y.mean(axis=0))] == LABELS[i])
    return np.mean(is_correct)


@pytest.mark.parametrize("copies", [1, COPIES])
def test_leave_one_out_with_copies_agrees_with_refits(copies):
    alphas = [1e-6, 1e-3, 0.1]
    shares = left_out_with_copies(Gaussian(0.5)(AUGMENTED[: copies * N]), LABELS, alphas=alphas)
    assert shares.tolist() == [share_by_refits(copies, alpha) for alpha in alphas]
    assert len(np.unique(shares)) > 1


def test_the_copies_of_a_point_do_not_reveal_its_label():
    """Copies that stay in the training data would reveal random labels."""
    labels = rng.permutation(LABELS)
    gram = Gaussian(5.0)(AUGMENTED[np.arange(2 * N) % N])
    assert left_out_with_copies(gram, labels, alphas=[1e-6])[0] < 0.7
    assert left_out_with_copies(gram, np.tile(labels, 2), alphas=[1e-6])[0] == 1


def test_the_share_of_negative_definite_matrices_is_nan():
    assert np.isnan(left_out_with_copies(-Gaussian(0.5)(AUGMENTED), LABELS, alphas=[1e-3])).all()


@pytest.mark.parametrize(
    ("dtype", "exponents"), [(np.float64, (-560, -530, 0, 530)), (np.float32, (-80, 0, 80))]
)
def test_a_search_for_alpha_has_the_scale_of_the_matrix(dtype, exponents):
    X, y = problem()
    gram = X @ X.T
    relative_scales = []
    for exponent in exponents:
        model = rls_by_cholesky(np.ldexp(gram.astype(dtype), exponent), y)
        relative_scales.append((np.ldexp(model.scale, -exponent), np.ldexp(model.alpha, -exponent)))
    assert_allclose(relative_scales, relative_scales[-1:] * len(exponents), rtol=1e-4)
