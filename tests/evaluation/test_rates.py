import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from invariance.evaluation.rates import fit_rate

X = np.array([10.0, 20, 40, 80, 160])
TRUTH = X**-0.5


def test_ordinary_fit_is_linear_regression():
    y = TRUTH * np.exp(0.1 * np.random.default_rng(0).normal(size=5))
    fit, plain = fit_rate(X, y), stats.linregress(np.log(X), np.log(y))
    assert fit.slope == pytest.approx(plain.slope)
    assert fit.se == pytest.approx(plain.stderr)
    assert fit.high - fit.slope == pytest.approx(stats.t.ppf(0.975, 3) * plain.stderr)
    assert_allclose(fit.predict(X), np.exp(plain.intercept) * X**plain.slope)


def noisy(kind, rng):
    match kind:
        case "residuals":
            return TRUTH * np.exp(0.1 * rng.normal(size=5))
        case "repetitions":
            return TRUTH[:, None] * (1 + 0.2 * rng.normal(size=(5, 20)))
        case "shared repetitions":
            shared = 0.2 * rng.normal(size=(1, 20))
            return TRUTH[:, None] * (1 + shared + 0.1 * rng.normal(size=(5, 20)))


@pytest.mark.parametrize("kind", ["residuals", "repetitions", "shared repetitions"])
def test_intervals_cover_the_true_exponent_as_often_as_they_say(kind):
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(600):
        fit = fit_rate(X, noisy(kind, rng))
        hits += fit.low <= -0.5 <= fit.high
    # binomial standard error 0.009
    assert 0.92 <= hits / 600 <= 0.98


def test_a_bent_curve_widens_the_interval():
    y = X**-0.5 + 4 / X
    fit = fit_rate(X, y[:, None] * (1 + 1e-4 * np.random.default_rng(0).normal(size=(5, 20))))
    assert fit.method == "repetitions, widened by residuals"
    assert fit.high - fit.low > 0.05


def test_exact_points_give_the_exact_exponent():
    for y in (X**2, np.repeat(X[:, None] ** 2, 4, axis=1)):
        fit = fit_rate(X, y)
        assert fit.low == pytest.approx(2) == fit.high


@pytest.mark.parametrize(("x", "y", "message"), [
    ([1, 2, 3], [1, 2], "shape"),
    ([1, 2, 2], [1, 2, 3], "three distinct"),
    ([0, 1, 2], [1, 2, 3], "x must be positive"),
    ([1, 2, 3], [1, -2, 3], r"y at x=2 is -2"),
    ([1, 2, 3], [1, np.nan, 3], "y must be finite, but entry 1 is nan"),
    ([1, 2, 3], [1, 1j, 3], "y needs real numbers"),
    ([1, 2, 3j], [1, 2, 3], "x needs real numbers"),
    ([1, 2, 3], np.ma.masked_greater([1, 2, 3], 2), "y has 1 masked entries"),
])  # fmt: skip
def test_unsuitable_data_are_refused(x, y, message):
    with pytest.raises(ValueError, match=message):
        fit_rate(x, y)
