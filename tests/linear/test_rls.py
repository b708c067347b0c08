"""Regularized least squares: leave-one-out, weights, probabilities, blocks."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.linear_model import Ridge
from sklearn.metrics import balanced_accuracy_score, log_loss, recall_score

from invariance.kernels import Gaussian, Linear
from invariance.linear import BlockRidgeClassifier, RLSClassifier, RLSRegressor
from invariance.linear.classes import fit_calibration, probabilities


def weighted_ridge(X, Y, weights, penalty, intercept):
    """Minimize sum_i w_i |y_i - W x_i - b|^2 + penalty |W|^2 by normal equations."""
    A = np.c_[X, np.ones(len(X))] if intercept else X
    ridge = penalty * np.diag([1.0] * X.shape[1] + [0.0] * intercept)
    W = np.linalg.solve(A.T @ (weights[:, None] * A) + ridge, A.T @ (weights[:, None] * Y))
    return lambda Z: (np.c_[Z, np.ones(len(Z))] if intercept else Z) @ W


@settings(max_examples=60, deadline=None)
@given(
    st.integers(3, 12), st.integers(1, 16), st.integers(1, 3), st.booleans(), st.booleans(),
    st.floats(0, 1), st.integers(0, 10**6),
)  # fmt: skip
def test_leave_one_out_agrees_with_refits(n, p, t, intercept, weighted, share, seed):
    """Alphas start at 1e-4 with weights, one being zero, and at 1e-6 without weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    Y = rng.standard_normal((n, t))
    Z = rng.standard_normal((4, p))
    weights = np.ones(n)
    alpha = 10 ** (1 - 7 * share)
    atol = 1e-7
    if weighted:
        weights = rng.uniform(0.2, 3, n)
        alpha = 10 ** (1 - 5 * share)
        atol = 1e-6
        weights[0] = 0  # a weight of zero removes the point, but it still has a prediction
    penalty = weights.sum() * alpha  # the same penalty when a point is left out
    brute = []
    for i in range(n):
        rest = np.arange(n) != i
        f = weighted_ridge(X[rest], Y[rest], weights[rest], penalty, intercept)
        brute.append(f(X[[i]])[0])
    expected = weighted_ridge(X, Y, weights, penalty, intercept)(Z)
    for kernel in (None, Linear(), "precomputed"):
        model = RLSRegressor([alpha], kernel, fit_intercept=intercept)
        precomputed = kernel == "precomputed"
        model.fit(X @ X.T if precomputed else X, Y, sample_weight=weights if weighted else None)
        assert_allclose(model.loo_decision_, brute, rtol=1e-6, atol=atol)
        predicted = model.predict(Z @ X.T if precomputed else Z)
        assert_allclose(predicted.reshape(4, t), expected, rtol=1e-6, atol=atol)
        left = weights @ np.square(np.array(brute) - Y).mean(axis=1) / weights.sum()
        assert_allclose(model.loo_errors_, left, rtol=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_alpha_has_the_smallest_leave_one_out_error(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 8))
    y = X[:, 0] + rng.standard_normal(30)
    grid = np.logspace(-4, 2, 13)
    model = RLSRegressor(alphas=grid).fit(X, y)
    errors = [RLSRegressor(alphas=[lam]).fit(X, y).loo_errors_[0] for lam in grid]
    assert_allclose(model.loo_errors_, errors)
    assert model.alpha_ == grid[int(np.argmin(errors))]


def test_duplicated_samples_are_interpolated_and_constant_features_give_the_mean():
    X = np.repeat(np.random.default_rng(0).standard_normal((10, 4)), 3, axis=0)
    X = np.c_[X, np.ones(30), np.zeros(30)]
    y = X[:, 0]
    assert_allclose(RLSRegressor().fit(X, y).predict(X), y, atol=1e-6)
    y = np.array([0.0, 1.0, 1.0, 1.0])
    for X in (np.zeros((4, 1)), np.full((4, 2), 3.0)):
        assert_allclose(RLSRegressor().fit(X, y).predict(X[:2]), 0.75)
        assert RLSClassifier().fit(X, y).predict(X[:1]) == 1


def test_loo_error_of_the_classifier_agrees_with_refits():
    X, y = make_classification(40, 5, random_state=1)
    lam = 0.05
    model = RLSClassifier(alphas=[lam]).fit(X, y)
    data = (X, 2.0 * y[:, None] - 1, np.ones(len(X)))
    n_errors = 0
    for i in range(len(X)):
        f = weighted_ridge(*(np.delete(M, i, 0) for M in data), lam * len(X), True)
        n_errors += (f(X[i : i + 1])[0, 0] > 0) != (y[i] == 1)
    assert abs(model.loo_errors_[0] * len(X) - n_errors) <= 0.5


@pytest.mark.parametrize("size", [1e160, 1e-200])
@pytest.mark.parametrize(
    "model", [RLSClassifier(), RLSRegressor(), BlockRidgeClassifier()], ids=str
)
def test_features_whose_squares_float64_cannot_hold_are_refused(model, size):
    X = np.random.default_rng(0).standard_normal((20, 3))
    y = np.arange(20) % 2
    with pytest.raises(ValueError, match="scale the features"):
        clone(model).fit(size * X, y)
    alphas = 1e-3 if isinstance(model, BlockRidgeClassifier) else [1e-3]
    for small in (1e-100, 1e100):  # representable features are fine, with alpha on the same scale
        plain = type(model)(alphas).fit(X, y)
        scaled = type(model)(np.multiply(alphas, small**2)).fit(small * X, y)
        assert_allclose(scaled.predict(small * X), plain.predict(X), rtol=1e-6)


@pytest.mark.parametrize("shape", [(8000, 300), (300, 8000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fits_make_no_copy_of_the_features_in_double_precision(shape, dtype):
    """Peak of memory for features of 10 MB or 19 MB; predictions need less than the features."""
    X = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    labels = np.arange(len(X)) % 3
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    for model in (RLSClassifier(), RLSRegressor()):
        tracemalloc.start()
        model.fit(X, labels, sample_weight=weights)
        assert tracemalloc.get_traced_memory()[1] < 2.2 * X.nbytes
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        model.predict(X)
        assert tracemalloc.get_traced_memory()[1] - before < X.nbytes
        tracemalloc.stop()


@pytest.mark.parametrize(
    "n, p, fit_intercept", [(1500, 1400, True), (1500, 1500, True), (1400, 1500, False)]
)
def test_near_square_features_need_one_square_matrix_or_two_if_points_are_equal(
    n, p, fit_intercept
):
    """Beside the square matrix there are blocks of 4 MB."""
    X = np.random.default_rng(0).standard_normal((n, p)).astype(np.float32)
    labels = np.arange(n) % 3
    square = 8 * min(n, p) ** 2
    blocks = 4 * 2**22
    model = RLSClassifier(fit_intercept=fit_intercept)
    for n_matrices in (1, 2):
        tracemalloc.start()
        model.fit(X, labels)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < n_matrices * square + blocks
        X[100:200] = X[:100]  # which needs eigenvectors
        X[:, :200] = 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n, p", [(25, 24), (25, 25), (25, 26), (25, 14), (25, 90)])
@pytest.mark.parametrize("kind", ["plain", "equal points", "dead features", "six decades"])
def test_the_path_agrees_with_refits_by_singular_values(n, p, intercept, weighted, kind):
    """Refits by singular values, which lose no digits of the features."""
    rng = np.random.default_rng(n + p)
    X = rng.standard_normal((n, p))
    if kind == "equal points":
        X[:8] = X[8:16]
    elif kind == "dead features":
        X[:, ::2] = 0
    elif kind == "six decades":
        X *= np.logspace(0, -6, p)
    Y = rng.standard_normal((n, 2))
    weights = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    model = RLSRegressor(fit_intercept=intercept).fit(X, Y, sample_weight=weights)
    for alpha, error in list(zip(model.alphas_, model.loo_errors_, strict=True))[5::5]:
        ridge = Ridge(weights.sum() * alpha, fit_intercept=intercept, solver="svd")
        squares = np.zeros(n)
        for i in range(n):
            rest = np.arange(n) != i
            ridge.fit(X[rest], Y[rest], sample_weight=weights[rest])
            squares[i] = np.square(ridge.predict(X[[i]])[0] - Y[i]).mean()
        assert_allclose(error, np.average(squares, weights=weights), rtol=1e-5)


@pytest.mark.parametrize("size", [1e-100, 1e100])
@pytest.mark.parametrize("n, p", [(700, 690), (700, 720)])
def test_many_near_square_features_may_have_any_unit(n, p, size):
    """The squares of their squares are more, or less, than float64 holds."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    y = rng.standard_normal(n)
    model = RLSRegressor().fit(X, y)
    scaled = RLSRegressor().fit(size * X, y)
    assert_allclose(scaled.alphas_, size**2 * model.alphas_, rtol=1e-9)
    assert_allclose(scaled.loo_errors_, model.loo_errors_, rtol=1e-9)
    assert_allclose(scaled.predict(size * X), model.predict(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["plain", "equal points", "dead features"])
@pytest.mark.parametrize(
    "n, p, intercept", [(720, 700, True), (700, 700, True), (700, 700, False), (700, 720, True)]
)
def test_leave_one_out_of_many_near_square_features_agrees_with_refits(kind, n, p, intercept):
    """Features that are no combinations of others have a path without eigenvectors."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    if kind == "equal points":
        X[:8] = X[8:16]
    elif kind == "dead features":
        X[:, ::50] = 0
    Y = rng.standard_normal((n, 2))
    weights = rng.uniform(0.5, 2, n)
    alphas = [1e-4, 1e-2, 1.0]
    model = RLSRegressor(alphas, fit_intercept=intercept).fit(X, Y, sample_weight=weights)
    ridge = weights.sum() * model.alpha_
    predict = weighted_ridge(X, Y, weights, ridge, intercept)
    assert_allclose(model.predict(X[:9]), predict(X[:9]), rtol=1e-6, atol=1e-8)
    for alpha, error in zip(alphas, model.loo_errors_, strict=True):
        one = RLSRegressor([alpha], fit_intercept=intercept).fit(X, Y, sample_weight=weights)
        squares = np.square(one.loo_decision_ - Y).mean(axis=1)
        assert_allclose(error, np.average(squares, weights=weights), rtol=1e-8)
        for i in (0, 8, n - 1):
            rest = np.arange(n) != i
            penalty = weights.sum() * alpha
            predict = weighted_ridge(X[rest], Y[rest], weights[rest], penalty, intercept)
            assert_allclose(one.loo_decision_[i], predict(X[[i]])[0], rtol=1e-6, atol=1e-8)


def test_leave_one_out_does_not_depend_on_the_scale_of_the_gram_matrix():
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = X[:, 0] ** 2
    large = RLSRegressor(kernel="precomputed").fit(X @ X.T, y)
    small = RLSRegressor(kernel="precomputed").fit(1e-20 * X @ X.T, y)
    assert_allclose(small.loo_decision_, large.loo_decision_, rtol=1e-6)


def test_parameters_set_after_fit_wait_for_the_next_fit():
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = np.arange(30) % 2
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


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit", [RLSClassifier([1e-2]).fit, BlockRidgeClassifier(1e-2, 40).fit])
def test_integer_weights_are_repetitions(fit, n_classes):
    X, y = load_iris(return_X_y=True)
    X = X[y < n_classes]
    y = y[y < n_classes]
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = fit(X, y, sample_weight=counts)
    expected = fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.decision_function(X), expected.decision_function(X), atol=1e-9)


def test_weights_in_blocks_agree_with_weights_in_one_fit():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0, 2, 150)
    one_fit = BlockRidgeClassifier(1e-2).fit(X, y, sample_weight=weights)
    parts = BlockRidgeClassifier(1e-2)
    for rows in np.array_split(np.random.default_rng(1).permutation(150), 4):
        parts.partial_fit(X[rows], y[rows], [0, 1, 2], sample_weight=weights[rows])
    assert_allclose(parts.decision_function(X), one_fit.decision_function(X), atol=1e-9)
    reference = RLSClassifier([1e-2]).fit(X, y, sample_weight=weights)
    assert_allclose(one_fit.decision_function(X), reference.decision_function(X), atol=1e-8)


def rare(seed, n=300, positives=6):
    """Data with few positives, which are shifted by 1.5 standard deviations in two directions."""
    y = np.zeros(n, dtype=int)
    y[:positives] = 1
    X = np.random.default_rng(seed).standard_normal((n, 5))
    X[:, :2] += 1.5 * y[:, None]
    return X, y


def test_balanced_weights_find_rare_classes():
    """The recall of six positives in 300 is almost 0 without weights."""
    recalls = []
    scores = []
    for seed in range(10):
        X, y = rare(seed)
        Z, t = rare(seed + 100, 3000, 1500)
        models = [
            RLSClassifier(kernel=Gaussian(0.05), class_weight=w).fit(X, y)
            for w in (None, "balanced")
        ]
        recalls.append([recall_score(t, model.predict(Z)) for model in models])
        scores.append([balanced_accuracy_score(t, model.predict(Z)) for model in models])
    recalls = np.mean(recalls, axis=0)
    scores = np.mean(scores, axis=0)
    assert recalls[0] < 0.1 and recalls[1] > 0.6
    assert scores[1] > scores[0] + 0.2


def test_balanced_agrees_with_explicit_weights():
    X, y = rare(0)
    weights = np.where(y == 1, 25.0, 300 / 294 / 2)
    by_name = RLSClassifier([1e-2], class_weight="balanced").fit(X, y).decision_function(X)
    by_dict = RLSClassifier([1e-2], class_weight={0: 300 / 588, 1: 25.0}).fit(X, y)
    assert_allclose(by_dict.decision_function(X), by_name)
    for model in (RLSClassifier([1e-2]), BlockRidgeClassifier(1e-2)):
        assert_allclose(model.fit(X, y, sample_weight=weights).decision_function(X), by_name)


def test_points_without_weight_do_not_change_the_balance():
    X, y = rare(0)
    expected = RLSClassifier([1e-2], class_weight="balanced").fit(X, y).decision_function(X)
    weights = np.r_[np.ones(300), np.zeros(50)]
    before = weights.copy()
    model = RLSClassifier([1e-2], class_weight="balanced")
    model.fit(np.vstack([X, X[:50]]), np.r_[y, np.zeros(50, int)], sample_weight=weights)
    assert_allclose(model.decision_function(X), expected, rtol=1e-10)
    assert_array_equal(weights, before)


def noisy(seed, n_classes):
    """400 training points and 2,000 new points; a fifth of the labels are random."""
    X, y = make_classification(
        2400, 10, n_informative=5, n_classes=n_classes, flip_y=0.2, random_state=seed
    )
    model = RLSClassifier(kernel=Gaussian(0.1)).fit(X[:400], y[:400])
    decided = model.decision_function(X)
    values = np.column_stack([-decided, decided]) / 2 if n_classes == 2 else decided
    return model, values, X[400:], y


def gaps(probability, truth):
    """Confidence minus accuracy in fifths of increasing confidence, and its standard error.

    The error includes the new points of the fifth and the 80 points of its calibration.
    """
    confidence = probability.max(axis=1)
    is_correct = probability.argmax(axis=1) == truth
    fifths = np.array_split(np.argsort(confidence), 5)
    p = np.array([is_correct[part].mean() for part in fifths])
    size = len(truth) / 5
    return [confidence[part].mean() for part in fifths] - p, np.sqrt(
        p * (1 - p) * (1 / size + 1 / 80)
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_calibrated_in_every_fifth_of_confidence(n_classes):
    """Chi square of five fifths over ten draws: one false alarm in 1e4.

    A calibration with a slope alone fails this test.
    """
    calibrated = []
    errors = []
    by_slope = []
    for seed in range(10):
        model, values, new, y = noisy(seed, n_classes)
        gap, error = gaps(model.predict_proba(new), y[400:])
        calibrated.append(gap)
        errors.append(error)
        held = model.loo_decision_
        held = np.column_stack([-held, held]) / 2 if n_classes == 2 else held
        slope = min(
            np.logspace(0, 1.5, 20), key=lambda a: log_loss(y[:400], probabilities(held, a, 0.0))
        )
        by_slope.append(gaps(probabilities(values[400:], slope, 0.0), y[400:])[0])
    variance = np.mean(np.square(errors), axis=0) / 10

    def surprise(gap):
        return np.sum(np.mean(gap, axis=0) ** 2 / variance)

    assert surprise(calibrated) < chi2.isf(1e-4, 5) < surprise(by_slope)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_have_nearly_the_smallest_loss_and_agree_with_predictions(n_classes):
    model, values, new, y = noisy(0, n_classes)
    predicted = model.predict_proba(new)
    assert predicted.shape == (2000, n_classes)
    assert_allclose(predicted.sum(axis=1), 1)
    assert_array_equal(model.classes_[predicted.argmax(axis=1)], model.predict(new))
    # Close to a calibration on the new points, better than one on the fitted values.
    losses = []
    for rows in (slice(400, None), slice(400)):
        fitted = fit_calibration(values[rows], y[rows], np.ones(len(y[rows])))
        losses.append(log_loss(y[400:], probabilities(values[400:], *fitted)))
    loss = log_loss(y[400:], predicted)
    assert losses[0] <= loss + 1e-3 and loss < losses[1] and loss < losses[0] + 0.03


def test_probabilities_do_not_depend_on_points_without_weight():
    _, values, _, y = noisy(0, 3)
    weights = np.ones(len(y))
    expected = fit_calibration(values, y, weights)
    far = np.vstack([values, 1e9 * values[:5], np.zeros((5, 3))])
    labels = np.r_[y, y[:5], y[:5]]
    assert fit_calibration(far, labels, np.r_[weights, np.zeros(10)]) == expected


@pytest.mark.parametrize("unit", [1e-310, 1e-200, 1e200, 1e307])
def test_weights_may_have_any_unit(unit):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] + 0.5 * rng.standard_normal(60) > 0).astype(int) + (X[:, 1] > 0.5)
    weights = rng.uniform(0.1, 2, 60)
    plain = RLSClassifier().fit(X, y, sample_weight=weights)
    scaled = RLSClassifier().fit(X, y, sample_weight=unit * weights)
    assert_allclose(scaled.predict_proba(X), plain.predict_proba(X), rtol=1e-4)
    assert_allclose(scaled.loo_errors_, plain.loo_errors_, rtol=1e-9)
    plain = RLSRegressor().fit(X, X[:, 0] ** 2, sample_weight=weights)
    scaled = RLSRegressor().fit(X, X[:, 0] ** 2, sample_weight=unit * weights)
    assert_allclose(scaled.predict(X), plain.predict(X), rtol=1e-9)
    assert_allclose(scaled.loo_errors_, plain.loo_errors_, rtol=1e-9)


def test_calibration_recovers_the_share_of_random_labels():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((20_000, 3))
    likely = probabilities(values, 3.0, 0.3)
    truth = (rng.random(20_000)[:, None] > likely.cumsum(axis=1)).sum(axis=1)
    weights = rng.uniform(0.5, 2, 20_000)
    assert_allclose(fit_calibration(values, truth, weights), (3.0, 0.3), rtol=0.05)
    # Scaling weights has no effect; scaling values scales the slope alone.
    assert_allclose(
        fit_calibration(10 * values, truth, 7 * weights),
        fit_calibration(values, truth, weights) / np.array([10, 1]),
        rtol=1e-3,
    )


# -- BlockRidgeClassifier, compared with RLSClassifier ---------------------------------------------


@pytest.mark.parametrize("alpha", [1e-4, 1e-1])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_block_ridge_agrees_with_rls(alpha, n_classes):
    X, y = load_iris(return_X_y=True)
    X = X[y < n_classes]
    y = y[y < n_classes]
    reference = RLSClassifier(alphas=[alpha]).fit(X, y)
    model = BlockRidgeClassifier(alpha=alpha, block_rows=11).fit(X, y)
    assert_allclose(model.decision_function(X), reference.decision_function(X), atol=1e-8)
    assert_array_equal(model.predict(X), reference.predict(X))


def test_scores_for_several_alphas_agree_with_refits():
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


def test_block_ridge_in_single_precision_is_accurate_or_refused():
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    single = BlockRidgeClassifier(alpha=1e-2, dtype="float32").fit(X, y)
    double = BlockRidgeClassifier(alpha=1e-2).fit(X, y)
    assert_allclose(single.decision_function(X), double.decision_function(X), atol=1e-3)
    alphas = np.logspace(-6, -3, 150)  # enough for several alphas to share a factor
    each = [single.solve(alpha).score(X[:300], y[:300]) for alpha in alphas]
    assert_allclose(single.scores(X[:300], y[:300], alphas=alphas), each, atol=2e-3)
    twins = np.concatenate([X, X], axis=1)
    broken = BlockRidgeClassifier(alpha=1e-3, dtype="float32").fit(twins, y)
    assert np.isnan(broken.scores(twins, y, alphas=[1e-30])[0])
    with pytest.raises(ValueError, match="not positive definite .* raise alpha or use float64"):
        broken.set_params(alpha=1e-30).fit(twins, y)


@pytest.mark.parametrize("size", [1e-25, 1e-20, 1e18, 1e20])
@pytest.mark.parametrize("types", [("f4", "float32"), ("f4", "float64"), ("f8", "float32")])
def test_blocks_refuse_features_whose_squares_single_precision_cannot_hold(size, types):
    of_features, of_sums = types
    X = np.random.default_rng(0).standard_normal((20, 3))
    y = np.arange(20) % 2
    model = BlockRidgeClassifier(alpha=1e-3, dtype=of_sums)
    with pytest.raises(ValueError, match="float32 cannot hold: scale the features"):
        model.fit((size * X).astype(of_features), y)
    for small in (1e-14, 1e14):
        scaled = clone(model).set_params(alpha=1e-3 * small**2)
        scaled.fit((small * X).astype(of_features), y)
        plain = clone(model).fit(X, y)
        assert_allclose(small * scaled.coef_, plain.coef_, atol=1e-5)


def test_block_ridge_adds_in_place_and_copies_once_for_the_factor():
    X = np.random.default_rng(0).standard_normal((20, 1500))
    y = np.arange(20) % 2
    model = BlockRidgeClassifier().partial_fit(X, y, classes=[0, 1])
    square = 8 * 1500**2
    tracemalloc.start()
    model.partial_fit(X, y)
    assert tracemalloc.get_traced_memory()[1] < square / 4
    tracemalloc.reset_peak()
    model.decision_function(X)
    # one copy, the covariance, which the factor replaces
    assert tracemalloc.get_traced_memory()[1] < 1.5 * square
    tracemalloc.stop()


def test_an_offset_of_the_features_costs_no_precision():
    """Features near 1000 in single precision have 24 bits, and 14 bits hold the noise."""
    X, y = load_digits(return_X_y=True)
    X = X / 16 + np.random.default_rng(0).standard_normal(X.shape) * 0.1
    train = slice(0, 1200)
    test = slice(1200, None)
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


def test_later_calls_of_partial_fit_cannot_change_the_classes():
    X = np.random.default_rng(0).standard_normal((20, 3))
    y = np.arange(20) % 2
    model = BlockRidgeClassifier().partial_fit(X, y, classes=[0, 1])
    model.partial_fit(X, y, classes=[1, 0])
    with pytest.raises(ValueError, match="not those of the first call"):
        model.partial_fit(X, y, classes=[0, 1, 2])


def test_coefficients_follow_the_last_partial_fit():
    X, y = load_iris(return_X_y=True)
    model = BlockRidgeClassifier(1e-3)
    assert not hasattr(model, "coef_") and not hasattr(model, "intercept_")
    model.fit(X[::2], y[::2])
    assert_allclose(X @ model.coef_.T + model.intercept_, model.decision_function(X), atol=1e-9)
    model.partial_fit(X[1::2], y[1::2])
    one_fit = BlockRidgeClassifier(1e-3).fit(X, y)
    assert_allclose(model.coef_, one_fit.coef_, rtol=1e-8)
    assert_allclose(model.intercept_, one_fit.intercept_, rtol=1e-8)
    assert_allclose(X @ model.coef_.T + model.intercept_, one_fit.decision_function(X), atol=1e-9)


def test_alpha_takes_effect_in_the_next_fit_and_at_once_in_solve():
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


def test_blocks_ignore_points_without_weight():
    X, y = load_iris(return_X_y=True)
    expected = BlockRidgeClassifier(1e-2, block_rows=3).fit(X, y)
    far = np.vstack([np.full((3, 4), 1e15), X])
    weights = np.r_[np.zeros(3), np.ones(150)]
    for block_rows in (3, 153):
        model = BlockRidgeClassifier(1e-2, block_rows=block_rows)
        model.fit(far, np.r_[0, 1, 2, y], sample_weight=weights)
        assert model.n_seen_ == 153
        assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_singular_equations_in_double_precision_have_no_remedy_but_a_larger_alpha(dtype):
    X = load_digits().data / 16
    y = np.arange(len(X)) % 2
    model = BlockRidgeClassifier(1e-30, dtype=dtype)
    with pytest.raises(ValueError, match="not positive definite .* raise alpha") as raised:
        model.fit(np.concatenate([X, X], axis=1), y)
    assert ("use float64" in str(raised.value)) == (dtype == "float32")
