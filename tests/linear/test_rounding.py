"""Least squares if differences are rounding: equal points, far offsets, tiny penalties."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg
from sklearn.linear_model import Ridge

from invariance.beyond import MaxFilter, symmetry_test
from invariance.features import GroupCDF, OrbitFourier, OrbitNystroem
from invariance.groups import CyclicShifts
from invariance.kernels import Average, BestFit, Gaussian, Linear, Polynomial
from invariance.linear import (
    BlockRidgeClassifier,
    RLSClassifier,
    RLSRegressor,
    kernel_ridge,
    rls_by_cholesky,
)
from invariance.linear.ridge import fit_ridge

SHIFTS = CyclicShifts(10)
ORBIT = np.eye(10)[np.arange(20) % 10]  # all points are shifts of each other
ELSEWHERE = np.random.default_rng(0).standard_normal((30, 10))
KERNELS = [
    Average(Gaussian(0.5), SHIFTS),
    BestFit(Gaussian(0.5), SHIFTS),
    Average(Polynomial(3), SHIFTS),
    Average(Linear(), SHIFTS),
]
FEATURES = [
    OrbitFourier(SHIFTS, 40, random_state=0),
    OrbitFourier(SHIFTS, 5, gamma=0.1, random_state=0),
    OrbitNystroem(SHIFTS, 5, gamma=0.5, random_state=0),
    GroupCDF(SHIFTS, 30, n_bins=3, random_state=0),
    MaxFilter(SHIFTS, 5, random_state=0),
]
DTYPES = [np.float64, np.float32]


def assert_mean(predicted, y, dtype):
    """Check that predictions are the mean, up to a small part of the spread of the targets."""
    spread = np.ptp(y, axis=0).max()
    tolerance = 1e-5 if dtype == np.float64 else 0.05
    expected = np.broadcast_to(np.mean(y, axis=0), predicted.shape)
    assert_allclose(predicted, expected, rtol=0, atol=tolerance * spread)


# ------------------------------------------------ training points with equal features


@pytest.mark.filterwarnings("ignore:OrbitNystroem. n_components")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alphas", [None, [1e-25], [1e-12, 1e-3]], ids=str)
def test_training_points_with_equal_features_get_the_mean(alphas, dtype):
    """The prediction is the mean for every penalty, also for new points."""
    y = np.arange(20) % 10
    targets = np.column_stack([y, -y])
    X = ORBIT.astype(dtype)
    Z = ELSEWHERE.astype(dtype)
    weights = np.random.default_rng(1).uniform(0.5, 2, 20)
    for kernel in KERNELS:
        for values in (y, targets):
            model = RLSRegressor(alphas, kernel).fit(X, values)
            assert_mean(model.predict(np.concatenate([X, Z])), values, dtype)
        model = RLSRegressor(alphas, kernel).fit(X, y, sample_weight=weights)
        mean = np.average(y, weights=weights)
        assert np.abs(model.predict(Z) - mean).max() < (1e-4 if dtype == np.float64 else 0.5)
        decided = RLSClassifier(alphas, kernel).fit(X, y).decision_function(Z)
        assert_mean(decided, np.where(np.eye(10), 1.0, -1.0), dtype)
    for features in FEATURES:
        A = features.fit_transform(X)
        B = features.transform(Z)
        for kernel in (None, Linear(), "linear"):
            model = RLSRegressor(alphas, kernel).fit(A, y)
            assert_mean(model.predict(np.concatenate([A, B])), y, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_predictions_of_equal_points_do_not_depend_on_the_batch(dtype):
    """A point has the same prediction alone and together with other points."""
    y = np.arange(20) % 10
    X = ORBIT.astype(dtype)
    for kernel in KERNELS:
        model = RLSRegressor(kernel=kernel).fit(X, y)
        alone = np.concatenate([model.predict(x[None]) for x in X[:4]])
        assert_allclose(alone, model.predict(X[:4]), atol=1e-4 if dtype == np.float64 else 0.3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_two_orbits_get_the_means_of_their_targets(dtype):
    """One direction is real, all other directions are rounding."""
    rng = np.random.default_rng(0)
    two = np.concatenate([ORBIT, np.roll(np.eye(10) + np.eye(10)[::-1], 1, axis=1)[:10]])
    two[20:] = [np.roll(np.r_[1.0, 1.0, np.zeros(8)], k) for k in range(10)]
    y = np.r_[np.zeros(20), np.ones(10)] + rng.choice([-0.1, 0.1], 30)
    X = two.astype(dtype)
    Z = ELSEWHERE.astype(dtype)
    means = np.r_[np.full(20, y[:20].mean()), np.full(10, y[20:].mean())]
    for kernel in KERNELS:
        for alphas in (None, [1e-25], [1e-9]):
            model = RLSRegressor(alphas, kernel).fit(X, y)
            assert_allclose(model.predict(X), means, atol=0.06)
            assert np.abs(model.predict(Z)).max() < 200  # a polynomial is large in new points
    for features in FEATURES:
        A = features.fit_transform(X)
        B = features.transform(Z)
        model = RLSRegressor().fit(A, y)
        assert_allclose(model.predict(A), means, atol=0.06)
        largest = np.abs(B - A.mean(axis=0)).max() / np.abs(A - A.mean(axis=0)).max()
        assert np.abs(model.predict(B)).max() < 50 * max(largest, 1)


@pytest.mark.parametrize("value", [0.0, 3.7])
@pytest.mark.parametrize("n_features", [100, 690, 720])
def test_many_constant_features_predict_the_mean(n_features, value):
    """The rounding of the mean of 700 equal numbers, which all points share, is no feature."""
    X = np.full((700, n_features), value)
    y = np.random.default_rng(0).standard_normal(700)
    model = RLSRegressor().fit(X, y)
    assert_allclose(model.predict(X[:3]), y.mean())
    left_out_means = (y.sum() - y) / 699
    assert_allclose(model.loo_decision_[:, 0], left_out_means)


@pytest.mark.parametrize("n_features", [690, 720])
def test_many_points_that_are_equal_but_for_rounding_get_the_means_of_their_targets(n_features):
    """So many that a tridiagonal basis would be taken instead of eigenvectors."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((350, n_features)).astype(np.float32)
    X = np.concatenate([X, np.nextafter(X, np.float32(9))])
    y = rng.standard_normal(700)
    means = (y[:350] + y[350:]) / 2
    predicted = RLSRegressor([1e-14]).fit(X, y).predict(X)
    assert_allclose(predicted[:350], means, atol=1e-3)
    assert_allclose(predicted[350:], means, atol=1e-3)


def test_the_errors_of_a_symmetry_test_stay_small():
    y = (np.arange(20) % 10).astype(float)
    for model in (RLSRegressor(kernel=Gaussian(0.5)), RLSRegressor([1e-20], Gaussian(0.5))):
        gain = symmetry_test(model, SHIFTS, ORBIT, y, cv=5)[repr(SHIFTS)]
        assert gain.with_group < 5


@pytest.mark.parametrize("dtype", DTYPES)
def test_gram_matrices_with_equal_rows_predict_the_mean(dtype):
    rng = np.random.default_rng(0)
    y = np.arange(21) % 3
    flat = np.full((21, 21), 0.3, dtype)
    noise = flat + (np.finfo(dtype).eps * rng.standard_normal((21, 21)) / 4).astype(dtype)
    noise = np.maximum(noise, noise.T)
    for gram in (flat, noise):
        rows = np.full((2, 21), [[0.3], [0.2]], dtype)
        model = rls_by_cholesky(gram, y)
        assert_allclose(model.decide(rows), -1 / 3, atol=1e-4 if dtype == np.float64 else 0.05)
        model = RLSRegressor(kernel="precomputed").fit(gram, y)
        assert_mean(model.predict(rows), y, dtype)
        for alphas in (0.0, 1e-25, 1e-6):
            (dual,) = kernel_ridge(gram, y, alphas=alphas)
            assert np.abs(rows @ dual).max() < 0.2
    groups = np.kron(np.array([[1.0, 0.2], [0.2, 0.7]]), np.ones((9, 9))).astype(dtype)
    labels = np.repeat([0, 1], 9)
    labels[[0, 10]] = 1, 0
    model = rls_by_cholesky(groups, labels)
    assert (model.decide(groups).argmax(axis=1) == np.repeat([0, 1], 9)).all()
    assert np.abs(model.decide(groups)).max() < 1.1
    assert np.isfinite(model.alpha) and model.alpha > 1e-12 * model.scale


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [0.0, 3.3, -1e6, 1e9])
def test_constant_features_predict_the_mean(offset, dtype):
    y = np.array([0.0, 1.0, 1.0, 1.0, 0.0])
    labels = y.astype(int)
    rounded = np.full((5, 3), offset) * (1 + np.finfo(dtype).eps * np.eye(5, 3))
    for features in (np.full((5, 8), offset), np.full((5, 1), offset), rounded):
        X = features.astype(dtype)
        for kernel in (None, "linear", Linear()):
            for alphas in (None, [1e-30]):
                model = RLSRegressor(alphas, kernel).fit(X, y)
                assert_allclose(model.predict(X + 1), 0.6, atol=0.05)
        assert (RLSClassifier().fit(X, labels).predict(X - 1) == 1).all()
        if (
            features is not rounded or offset == 3.3
        ):  # its alpha is absolute, not relative to the features
            assert (BlockRidgeClassifier().fit(X, labels).predict(X) == 1).all()


@pytest.mark.parametrize("shift", [1e4, 1e6])
@pytest.mark.parametrize("p", [3, 50])
def test_an_offset_of_the_features_changes_predictions_by_rounding_alone(p, shift):
    """A linear function is learned as well as without the offset, also in single precision."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, p))
    y = X[:, :3] @ [1.0, 2.0, -1.0]
    near = RLSRegressor([1e-3]).fit(X, y).predict(X)
    for dtype, kernel, atol in (
        (np.float64, None, 1e-6),
        (np.float64, "linear", 0.03),
        (np.float64, Linear(), 0.03),
        (np.float32, None, 0.3),
    ):
        far = (X + shift).astype(dtype)
        fixed = RLSRegressor([1e-3], kernel).fit(far, y)
        assert_allclose(fixed.predict(far), near, atol=atol)
        assert RLSRegressor(kernel=kernel).fit(far, y).score(far, y) > 0.9


def test_duplicated_rows_act_like_weights():
    """Equal rows act like one point with the sum of their weights, also with a kernel."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 3))
    y = rng.standard_normal(8)
    counts = np.array([1, 5, 2, 1, 7, 1, 3, 2])
    for kernel in (None, Gaussian(0.3), Linear()):
        for alpha in (1e-2, 1e-8):
            weighted = RLSRegressor([alpha], kernel).fit(X, y, sample_weight=counts)
            repeated = RLSRegressor([alpha], kernel)
            repeated.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
            assert_allclose(
                repeated.predict(ELSEWHERE[:, :3]), weighted.predict(ELSEWHERE[:, :3]), atol=1e-6
            )


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-30, 1e100, 1e150])
def test_predictions_do_not_depend_on_the_scale_of_the_kernel(size):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y = rng.standard_normal(30)
    for gram in (Gaussian(0.3)(X), np.full((30, 30), 0.3)):
        plain = RLSRegressor(kernel="precomputed").fit(gram, y)
        scaled = RLSRegressor(kernel="precomputed").fit(size * gram, y)
        assert_allclose(scaled.alphas_, size * plain.alphas_)
        assert_allclose(scaled.predict(size * gram), plain.predict(gram), rtol=1e-4, atol=1e-6)
        assert scaled.negative_share_ == 0


@pytest.mark.parametrize("kernel", [None, "linear", Gaussian(0.3)])
def test_leave_one_out_is_finite_if_one_point_alone_determines_a_coefficient(kernel):
    """The prediction for such a point, when left out, uses the other points alone."""
    X = np.eye(6)
    y = np.arange(6.0)
    for alphas in (None, [1e-14], [1e-30], [1e-300]):
        for intercept in (True, False):
            model = RLSRegressor(alphas, kernel, fit_intercept=intercept).fit(X, y)
            assert np.isfinite(model.loo_decision_).all() and np.isfinite(model.loo_errors_).all()
            assert np.abs(model.loo_decision_).max() < 20


@pytest.mark.parametrize("dtype", DTYPES)
def test_constant_targets_are_predicted(dtype):
    X = ELSEWHERE.astype(dtype)
    for kernel in (None, Gaussian(0.1), "linear"):
        model = RLSRegressor(kernel=kernel).fit(X, np.full((30, 2), 7.0))
        assert_allclose(model.predict(X + 1), 7.0)


def test_features_explained_by_unpenalized_columns_up_to_rounding_have_no_coefficients():
    rng = np.random.default_rng(0)
    y = rng.standard_normal((20, 1))
    units = rng.integers(-1, 2, (20, 3)) * np.finfo(float).eps
    features = np.array([0.3, -2.0, 7.0]) * (1 + units)
    fit = fit_ridge(np.ones((20, 1)), features, y, np.ones(20), np.array([1e-32]))
    assert np.abs(fit.coefficients[1:]).max() < 1e-6
    assert_allclose(fit.coefficients[0], y.mean())


# ------------------------------------------------------------ directions lost in rounding


def solved_exactly(matrix, targets):
    """Solution of a linear system in rational arithmetic."""
    rows = [
        [*map(Fraction, row), Fraction(target)] for row, target in zip(matrix, targets, strict=True)
    ]
    for i in range(len(rows)):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(len(rows)):
            if j != i and rows[j][i]:
                factor = rows[j][i]
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


@pytest.mark.parametrize("n", [10, 20])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-2, 1e-5, 1e-8])
def test_coefficients_are_as_accurate_as_those_of_a_cholesky_factor(alpha, intercept, n):
    """Rounding makes eigenvalues of smooth kernels positive or negative."""
    x = np.linspace(-1, 1, n)[:, None]
    y = np.sin(5 * x[:, 0]) + np.random.default_rng(0).standard_normal(n)
    gram = Gaussian(0.05)(x)
    rows = Gaussian(0.05)(np.linspace(-1.1, 1.1, 7)[:, None], x)
    K = [list(map(Fraction, row)) for row in gram]
    ridge = n * Fraction(alpha)
    means = [sum(row) / n if intercept else Fraction(0) for row in K]
    total_mean = sum(means) / n
    centred = [
        [K[i][j] - means[i] - means[j] + total_mean + (ridge if i == j else 0) for j in range(n)]
        for i in range(n)
    ]
    mean = sum(map(Fraction, y)) / n if intercept else Fraction(0)
    dual = solved_exactly(centred, [Fraction(value) - mean for value in y])
    constant = mean - sum(m * c for m, c in zip(means, dual, strict=True))
    expected = [
        float(constant + sum(Fraction(k) * c for k, c in zip(row, dual, strict=True)))
        for row in rows
    ]
    dual = np.array(dual, dtype=float)
    model = RLSRegressor([alpha], "precomputed", fit_intercept=intercept).fit(gram, y)
    means = gram.mean(axis=0) * intercept
    shifted = gram - means - means[:, None] + means.mean() + n * alpha * np.eye(n)
    factored = linalg.solve(shifted, y - intercept * y.mean(), assume_a="pos")
    decided = (rows - means) @ factored + intercept * y.mean()

    def relative_error(values, exact):
        return np.abs(values - exact).max() / np.abs(exact).max()

    assert (
        relative_error(model.dual_coef_[:, 0], dual) < 20 * relative_error(factored, dual) + 1e-14
    )
    assert (
        relative_error(model.predict(rows), expected)
        < 20 * relative_error(decided, expected) + 1e-14
    )


def two_clusters(rng, n, p):
    centres = 836 * rng.choice([-1.0, 1.0], (2, p))
    return centres[np.arange(n) % 2] + rng.standard_normal((n, p))


def a_wide_column(rng, n, p):
    X = rng.standard_normal((n, p))
    X[:, p // 2] *= 1e4
    return X


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n, p", [(6, 5), (12, 5), (4, 5), (3, 8)])
@pytest.mark.parametrize("draw", [two_clusters, a_wide_column])
def test_features_of_several_sizes_lose_no_digits(draw, n, p, intercept):
    """Squaring features loses half of their digits; a singular value decomposition does not."""
    rng = np.random.default_rng(n)
    X = draw(rng, n, p)
    y = rng.standard_normal(n)
    new = draw(rng, 3, p)
    rows = [list(map(Fraction, row)) for row in X]
    means = [sum(column) / n if intercept else Fraction(0) for column in zip(*rows, strict=True)]
    centred = [[a - m for a, m in zip(row, means, strict=True)] for row in rows]
    mean = sum(map(Fraction, y)) / n if intercept else Fraction(0)
    for ridge in (1e-3, 1e-1, 10.0):
        squares = [
            [sum(row[i] * row[j] for row in centred) + (Fraction(ridge) if i == j else 0)
             for j in range(p)] for i in range(p)
        ]  # fmt: skip
        cross = [
            sum(row[i] * (Fraction(t) - mean) for row, t in zip(centred, y, strict=True))
            for i in range(p)
        ]
        coef = solved_exactly(squares, cross)
        expected = [
            float(mean + sum((Fraction(a) - m) * c for a, m, c in zip(x, means, coef, strict=True)))
            for x in new
        ]
        model = RLSRegressor([ridge / n], fit_intercept=intercept).fit(X, y)
        by_svd = Ridge(ridge, solver="svd", fit_intercept=intercept).fit(X, y)
        scale = np.abs(expected).max()
        error = np.abs(model.predict(new) - expected).max() / scale
        assert error < 20 * np.abs(by_svd.predict(new) - expected).max() / scale + 1e-12


# ------------------------------------------------------------ leave-one-out of equal points


@pytest.mark.parametrize("value", [1.0, 0.3, 7.7, 1e-200, 1e150])
@pytest.mark.parametrize("noise", [0.0, 1e-16])
def test_equal_points_that_are_left_out_get_the_mean_of_the_remaining_targets(value, noise):
    for n in range(2, 40):
        rng = np.random.default_rng(n)
        y = rng.standard_normal(n)
        weights = rng.uniform(0.5, 2, n)
        gram = np.full((n, n), value) * (1 + noise * rng.standard_normal((n, n)))
        gram = np.maximum(gram, gram.T)
        for alphas in ([1e-3 * value], None):
            for counts in (np.ones(n), weights):
                model = RLSRegressor(alphas, "precomputed").fit(gram, y, sample_weight=counts)
                expected = (counts @ y - counts * y) / (counts.sum() - counts)
                assert_allclose(model.loo_decision_[:, 0], expected, atol=1e-9)


def test_leave_one_out_with_few_different_points_agrees_with_refits():
    """The Gram matrix has two different rows."""
    for n in range(4, 30):
        rng = np.random.default_rng(n)
        gram = np.array([[1.0, 0.4], [0.4, 1.0]])[np.ix_(np.arange(n) % 2, np.arange(n) % 2)]
        y = rng.standard_normal(n)
        model = RLSRegressor([1e-3], "precomputed").fit(gram, y)
        for i in range(n):
            rest = np.delete(np.arange(n), i)
            without = RLSRegressor([1e-3 * n / (n - 1)], "precomputed")
            without.fit(gram[np.ix_(rest, rest)], y[rest])
            assert_allclose(model.loo_decision_[i], without.predict(gram[i, rest][None]), atol=1e-9)


# ------------------------------------------------------------ the unit of the targets


@pytest.mark.parametrize("factor", [2.0**-600, 2.0**600, 1e-170, 1e170, 1e-300, 1e300])
def test_predictions_scale_with_the_unit_of_the_targets(factor):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.standard_normal(12)
    targets = np.column_stack([y, rng.standard_normal(12)])
    weights = rng.uniform(0.5, 2, 12)
    wide = rng.standard_normal((12, 40))
    for points, kernel in (
        (X, None),
        (wide, None),
        (X, "linear"),
        (X, Gaussian(0.3)),
        (Gaussian(0.3)(X), "precomputed"),
    ):
        for values, counts in ((y, None), (targets, None), (y, weights)):
            before = RLSRegressor(kernel=kernel).fit(points, values, sample_weight=counts)
            model = RLSRegressor(kernel=kernel).fit(points, factor * values, sample_weight=counts)
            assert_allclose(model.alpha_, before.alpha_)
            scale = np.abs(values).max()
            assert_allclose(
                model.predict(points) / factor, before.predict(points), atol=1e-9 * scale
            )
            assert_allclose(model.loo_decision_ / factor, before.loo_decision_, atol=1e-9 * scale)
    plain = kernel_ridge(Gaussian(0.3)(X), y, alphas=[1e-4, 2e-4, 1.0])
    scaled = kernel_ridge(Gaussian(0.3)(X), factor * y, alphas=[1e-4, 2e-4, 1.0])
    assert_allclose(scaled / factor, plain, atol=1e-9 * np.abs(plain).max())


def test_targets_with_weight_zero_have_no_effect_whatever_their_size():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 3))
    y = rng.standard_normal(9)
    weights = np.r_[np.ones(8), 0]
    for kernel in (None, Gaussian(0.3)):
        before = RLSRegressor(kernel=kernel).fit(X[:8], y[:8])
        for size in (1e300, 1e-300, 0.0):
            model = RLSRegressor(kernel=kernel).fit(X, np.r_[y[:8], size], sample_weight=weights)
            assert_allclose(model.alpha_, before.alpha_)
            assert_allclose(model.predict(X), before.predict(X))


def test_targets_of_zero_give_predictions_of_zero():
    X = np.random.default_rng(0).standard_normal((8, 3))
    for kernel in (None, Gaussian(0.3)):
        model = RLSRegressor(kernel=kernel).fit(X, np.zeros(8))
        assert (model.predict(X) == 0).all() and (model.loo_decision_ == 0).all()


# ------------------------------------------------------------ constant matrices


@pytest.mark.parametrize("value", [7.7, 0.1, 1.0, 1e-200, 1e140])
@pytest.mark.parametrize("dtype", DTYPES)
def test_constant_matrices_are_not_indefinite(value, dtype):
    """The predictions are the shares of the classes."""
    if value != np.clip(value, np.finfo(dtype).tiny, np.finfo(dtype).max):
        pytest.skip("no number of this type")
    for n in (8, 12, 21, 40):
        gram = np.full((n, n), value, dtype)
        shares = np.array([(n + 1) // 2, n // 2]) * 2 / n - 1
        decided = rls_by_cholesky(gram, np.arange(n) % 2).decide(gram[:1])
        assert_allclose(decided[0], shares, atol=1e-9 if dtype == np.float64 else 1e-2)
