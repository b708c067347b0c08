"""DilatedCDF against its definition, its symmetry, and what it says of its thresholds."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from invariance.features import DilatedCDF

RNG = np.random.default_rng(0)
SERIES = RNG.standard_normal((12, 60)).cumsum(axis=1)


def definition(model, x):
    """1 / |G| sum_g 1[<g t, x> <= h], one template, dilation and threshold after the other."""
    d, features = len(x), []
    for j, dilation in enumerate(model.dilations_):
        for i, peaks in enumerate(combinations(range(9), 3)):
            values = []
            for shift in range(d):
                at = shift + dilation * (np.arange(9) - 4)
                t = np.where(np.isin(np.arange(9), peaks), 2.0, -1.0)
                inside = (at >= 0) & (at < d)
                if model.boundary == "cyclic":
                    values.append(t @ x[at % d])
                    continue
                some = bool(inside.any()) and 8 * dilation < d
                if (i + j) % 2 == 0 or inside.all() or not some:
                    values.append(t[inside] @ x[at[inside]])
            features += [np.mean(np.array(values) <= h) for h in model.thresholds_[j][i]]
    return np.array(features)


@pytest.mark.parametrize("boundary", ["cyclic", "zero"])
@pytest.mark.parametrize(("n", "d"), [(5, 1), (5, 2), (5, 8), (5, 9), (5, 10), (2, 31), (1, 300)])
def test_agrees_with_the_definition(boundary, n, d):
    """Long series count beyond a byte."""
    # Of whole numbers products are exact, also where they are thresholds.
    X = np.random.default_rng(d).integers(-9, 9, (n, d)).astype(float)
    how = {"n_features": 400} if d < 300 else {"n_features": 84, "n_dilations": 1}
    model = DilatedCDF(**how, boundary=boundary, random_state=1).fit(X)
    assert_allclose(model.transform(X), [definition(model, x) for x in X], rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 90),
    st.integers(-100, 100),
    st.sampled_from(["float32", "float64"]),
    st.integers(0, 10**6),
)
def test_shifts_of_a_series_have_equal_features(d, shift, dtype, seed):
    """To the last bit, also where products are thresholds."""
    X = np.random.default_rng(seed).standard_normal((4, d)).astype(dtype)
    model = DilatedCDF(n_features=200, random_state=seed).fit(X)
    features = model.transform(X)
    assert features.dtype == X.dtype
    assert_array_equal(model.transform(np.roll(X, shift, axis=1)), features)


@pytest.mark.parametrize("boundary", ["cyclic", "zero"])
def test_an_offset_is_not_seen_inside_and_zeros_break_the_symmetry(boundary):
    """Templates sum to zero: only zeros beyond the end can tell a constant that was added."""
    X, cyclic = np.round(SERIES), boundary == "cyclic"
    model = DilatedCDF(n_features=84, boundary=boundary, random_state=0).fit(X)
    features = model.transform(X)
    assert np.array_equal(model.transform(X + 64), features) == cyclic
    assert (np.abs(model.transform(np.roll(X, 9, axis=1)) - features).max() > 0.1) != cyclic
    blocked = DilatedCDF(n_features=84, boundary=boundary, random_state=0, block_bytes=30_000)
    assert_array_equal(blocked.fit(X).transform(X), features)


def test_thresholds_are_quantiles_spread_evenly():
    """With one training series, the features of it are the levels of the quantiles."""
    model = DilatedCDF(n_features=84 * 40, n_dilations=1, random_state=0).fit(SERIES[:1])
    levels = np.sort(model.transform(SERIES[:1]).ravel())
    even = (np.arange(levels.size) + 0.5) / levels.size
    assert np.abs(levels - even).max() < 2 / SERIES.shape[1]


@pytest.mark.parametrize(("asked", "made"), [(84, 84), (1000, 924), (10_000, 9996)])
def test_numbers_of_features_and_dilations(asked, made):
    model = DilatedCDF(n_features=asked, random_state=0).fit(SERIES)
    assert model.transform(SERIES).shape == (12, made)
    assert sum(t.size for t in model.thresholds_) == made
    assert model.dilations_[0] == 1 and 8 * model.dilations_[-1] < SERIES.shape[1]
    assert DilatedCDF(n_features=asked, n_dilations=1).fit(SERIES).dilations_.tolist() == [1]
