import numpy as np
import pytest
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
    np.testing.assert_allclose(fit.predict(X), np.exp(plain.intercept) * X**plain.slope)


def noisy(kind, rng):
    match kind:
        case "residuals":
            return (TRUTH * np.exp(0.1 * rng.normal(size=5)),)
        case "standard errors":
            se = TRUTH * np.array([0.02, 0.05, 0.1, 0.05, 0.02])
            return TRUTH + se * rng.normal(size=5), se
        case "repetitions":
            return (TRUTH[:, None] * (1 + 0.2 * rng.normal(size=(5, 20))),)
        case "shared repetitions":
            shared = 0.2 * rng.normal(size=(1, 20))
            return (TRUTH[:, None] * (1 + shared + 0.1 * rng.normal(size=(5, 20))),)


@pytest.mark.parametrize(
    "kind", ["residuals", "standard errors", "repetitions", "shared repetitions"]
)
def test_intervals_cover_the_true_exponent_as_often_as_they_say(kind):
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(600):
        y, *errors = noisy(kind, rng)
        fit = fit_rate(X, y, se=errors[0] if errors else None)
        hits += fit.low <= -0.5 <= fit.high
    # binomial standard error 0.009
    assert 0.92 <= hits / 600 <= 0.98


def test_a_bent_curve_widens_the_interval():
    y = X**-0.5 + 4 / X
    fit = fit_rate(X, y, se=1e-4 * y)
    assert fit.method == "standard errors, widened by residuals"
    assert fit.high - fit.low > 0.05


def test_exact_points_give_the_exact_exponent():
    for y, se in ((X**2, None), (X**2, np.zeros(5)), (np.repeat(X[:, None] ** 2, 4, axis=1), None)):
        fit = fit_rate(X, y, se=se)
        assert fit.low == pytest.approx(2) == fit.high


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        ([1, 2, 3], [1, 2], {}, "shape"),
        ([1, 2, 2], [1, 2, 3], {}, "three distinct"),
        ([0, 1, 2], [1, 2, 3], {}, "x must be positive"),
        ([1, 2, 3], [1, -2, 3], {}, r"y at x=2 is -2"),
        ([1, 2, 3], [1, np.nan, 3], {}, "y must be finite, but entry 1 is nan"),
        ([1, 2, 3], [1, 1j, 3], {}, "y needs real numbers"),
        ([1, 2, 3j], [1, 2, 3], {}, "x needs real numbers"),
        ([1, 2, 3], np.ma.masked_greater([1, 2, 3], 2), {}, "y has 1 masked entries"),
        ([1, 2, 3], [1, 2, 3], {"confidence": 95}, "between 0 and 1"),
        ([1, 2, 3], np.ones((3, 4)), {"se": [1, 1, 1]}, "repetitions bring"),
        ([1, 2, 3], [1, 2, 3], {"se": [1, -1, 1]}, "not negative"),
    ],
)
def test_unsuitable_data_are_refused(x, y, options, message):
    with pytest.raises(ValueError, match=message):
        fit_rate(x, y, **options)
