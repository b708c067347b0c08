"""`separation_report` finds constants that are known exactly."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance.beyond import MaxFilter, separation_report
from invariance.core.parameters import ParameterError
from invariance.groups import CyclicShifts, Permutations, SignFlips

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 5))
NOTHING = CyclicShifts(1, block=5)


def test_constants_of_a_matrix_are_its_singular_values():
    A = RNG.standard_normal((5, 7))
    report = separation_report(lambda x: x @ A, NOTHING, X, random_state=0)
    values = np.linalg.svd(A, compute_uv=False)
    assert values[-1] * (1 - 1e-9) <= report.lower <= 1.1 * values[-1]
    assert 0.95 * values[0] <= report.upper <= values[0] * (1 + 1e-9)


@pytest.mark.parametrize(("features", "group"), [
    (lambda x: np.sort(x, axis=1), Permutations(5)),
    (np.abs, SignFlips(5)),
], ids=["sorted", "absolute"])  # fmt: skip
def test_isometries_of_orbits_have_constants_of_one(features, group):
    report = separation_report(features, group, X, random_state=0)
    assert_allclose([report.lower, report.upper], 1, rtol=1e-6)


def test_the_pairs_attain_the_constants():
    def spectrum(x):
        return np.abs(np.fft.fft(x, axis=1))

    shifts = CyclicShifts(5)
    report = separation_report(spectrum, shifts, X, n_steps=50, random_state=0)
    for constant, (x, z) in ((report.lower, report.worst), (report.upper, report.steepest)):
        distance = np.linalg.norm(x - shifts.act(shifts.elements(), z[None])[:, 0], axis=1).min()
        transformed = np.linalg.norm(spectrum(x[None]) - spectrum(z[None]))
        assert_allclose(constant, transformed / distance, rtol=1e-6)


def test_a_power_spectrum_does_not_separate_a_signal_from_its_reflection():
    both = np.concatenate([X[:3], X[:3, ::-1]])
    report = separation_report(
        lambda x: np.abs(np.fft.fft(x, axis=1)), CyclicShifts(5), both, n_steps=0, random_state=0
    )
    assert report.lower < 1e-10


def test_sums_of_smooth_features_are_not_bi_lipschitz_on_sets():
    """The sums for {t, -t} and {0, 0} differ by a multiple of t^2, sorted sets by one of t."""
    w = RNG.standard_normal(20)
    b = RNG.uniform(0, 6, 20)
    maps = {"sum": lambda x: np.cos(x[:, :, None] * w + b).sum(axis=1), "sorted": np.sort}
    for name, features in maps.items():
        lower = [
            separation_report(features, Permutations(2), [[t, -t], [0, 0]], n_steps=0).lower
            for t in (0.1, 0.01)
        ]
        assert_allclose(lower[1] / lower[0], {"sum": 0.1, "sorted": 1.0}[name], rtol=0.05)


def test_two_max_filters_per_dimension_separate_orbits():
    """Ten generic templates are enough for orbits in R^5 (Cahill et al. 2024)."""
    features = MaxFilter(CyclicShifts(5), 10, random_state=1).fit(X)
    reports = [
        separation_report(features_of, CyclicShifts(5), X, random_state=0)
        for features_of in (features, lambda x: np.abs(np.fft.fft(x, axis=1)))
    ]
    assert (
        reports[0].lower > 0.02 * reports[0].upper and reports[1].lower < 0.005 * reports[1].upper
    )


def test_pairs_stay_within_the_range_of_the_points():
    """Bounded features of far points would give smaller constants."""
    report = separation_report(np.tanh, NOTHING, X, random_state=0)
    largest = np.linalg.norm(X, axis=1).max() * (1 + 1e-9)
    assert np.linalg.norm([report.worst, report.steepest], axis=2).max() <= largest
    assert report.lower >= 1 - np.tanh(largest) ** 2  # the smallest slope in the range


def test_points_on_one_orbit_are_refused():
    X = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [1.0, 2.0, 3.0]])
    with pytest.raises(ParameterError, match="different orbits of CyclicShifts.* 3 points on one"):
        separation_report(lambda X: X, CyclicShifts(3), X, random_state=0)


@pytest.mark.parametrize("exponent", [-900, -530, 530, 900])
@pytest.mark.parametrize("power", [0, 1])
def test_constants_do_not_depend_on_the_unit_of_the_points(exponent, power):
    def directions(x):
        values = np.sort(x, axis=1)
        largest = np.abs(values).max(axis=1, keepdims=True)
        return values * (values / largest) if power else values / largest

    few = {"n_steps": 30, "n_pairs": 5, "random_state": 0}
    expected = separation_report(directions, Permutations(5), X, **few)
    scaled = separation_report(directions, Permutations(5), np.ldexp(X, exponent), **few)
    change = exponent * (power - 1)  # of the features' unit, relative to that of the points
    assert_allclose(
        np.ldexp([scaled.lower, scaled.upper], -change), [expected.lower, expected.upper]
    )
    assert_allclose(np.ldexp(scaled.worst, -exponent), expected.worst)
    assert_allclose(np.ldexp(scaled.steepest, -exponent), expected.steepest)
