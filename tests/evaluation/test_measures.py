"""Means, exponents and shares of changes, against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from invariance.evaluation import share_of_changes
from invariance.evaluation.means import Score, mean_se, with_error
from invariance.evaluation.rates import fit_rate
from invariance.groups import Negation

X = np.array([10.0, 20, 40, 80, 160])
TRUTH = X**-0.5
POINTS = np.random.default_rng(0).standard_normal((40, 3))


def test_mean_se_returns_means_and_standard_errors():
    samples = np.random.default_rng(0).normal(size=(50, 3))
    mean, se = mean_se(samples)
    assert_allclose(se, samples.std(axis=0, ddof=1) / np.sqrt(50))
    assert mean_se(samples[:, 0]) == Score(mean[0], se[0])


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e200, 1e307])
def test_squares_of_samples_may_overflow_or_vanish(unit):
    samples = np.random.default_rng(0).uniform(1, 2, size=(5, 5)) * X**-0.5
    mean, se = mean_se(samples)
    scaled_mean, scaled_se = mean_se(unit * samples)
    assert_allclose(scaled_mean / unit, mean)
    assert_allclose(scaled_se / unit, se)
    fit = fit_rate(X, samples)
    scaled = fit_rate(X, unit * samples)
    assert_allclose([scaled.slope, scaled.low, scaled.high], [fit.slope, fit.low, fit.high])
    assert scaled.method == fit.method


def test_unknown_errors_are_printed():
    assert with_error(1.0, np.inf) == f"{Score(1.0, np.inf)}" == "1.00 ± inf"
    assert with_error(1.0, np.nan) == "1.00 ± nan"


def test_a_rate_is_a_linear_regression_of_logarithms():
    y = TRUTH * np.exp(0.1 * np.random.default_rng(0).normal(size=5))
    fit = fit_rate(X, y)
    plain = stats.linregress(np.log(X), np.log(y))
    assert fit.slope == pytest.approx(plain.slope)
    assert fit.se == pytest.approx(plain.stderr)
    assert fit.high - fit.slope == pytest.approx(stats.t.ppf(0.975, 3) * plain.stderr)
    assert_allclose(fit.predict(X), np.exp(plain.intercept) * X**plain.slope)


def noisy(kind, rng):
    match kind:
        case "residuals":
            return TRUTH * np.exp(0.1 * rng.normal(size=5))
        case "repetitions":
            return TRUTH * (1 + 0.2 * rng.normal(size=(20, 5)))
        case "shared repetitions":
            shared = 0.2 * rng.normal(size=(20, 1))
            return TRUTH * (1 + shared + 0.1 * rng.normal(size=(20, 5)))


@pytest.mark.parametrize("kind", ["residuals", "repetitions", "shared repetitions"])
def test_intervals_cover_the_true_exponent_with_the_stated_frequency(kind):
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(600):
        fit = fit_rate(X, noisy(kind, rng))
        hits += fit.low <= -0.5 <= fit.high
    # binomial standard error 0.009
    assert 0.92 <= hits / 600 <= 0.98


def test_a_bent_curve_widens_the_interval():
    y = X**-0.5 + 4 / X
    fit = fit_rate(X, y * (1 + 1e-4 * np.random.default_rng(0).normal(size=(20, 5))))
    assert fit.method == "repetitions, widened by residuals"
    assert fit.high - fit.low > 0.05


def test_exact_points_give_the_exact_exponent():
    for y in (X**2, np.repeat(X[None] ** 2, 4, axis=0)):
        fit = fit_rate(X, y)
        assert fit.low == pytest.approx(2) == fit.high


def test_share_of_changes_counts_pairs_of_point_and_element():
    group = Negation()
    signs = POINTS[:, 0] > 0
    expected = np.mean([(Y[:, 0] > 0) != signs for Y in group.act(group.sample(8, 0), POINTS)])
    assert 0 < expected < 1
    assert share_of_changes(lambda Z: Z[:, 0] > 0, group, X=POINTS) == expected
    assert share_of_changes(lambda Z: np.abs(Z[:, 0]) > 1, group, X=POINTS) == 0


def test_predictions_in_one_column_are_compared_point_by_point():
    flat = share_of_changes(lambda Z: Z[:, 0] > 0, Negation(), X=POINTS)
    assert share_of_changes(lambda Z: Z[:, :1] > 0, Negation(), X=POINTS) == flat


def test_masked_samples_are_refused():
    samples = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
    with pytest.raises(ValueError, match="samples has 1 masked entries: fill them"):
        mean_se(samples)
